// select and emit of every operation; each pair lives in the file of its operation.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

Status select_matmul(const Select& select);
void emit_matmul(const Emit& emit);
int64_t matmul_workspace(const Need& need);
Status select_softmax(const Select& select);
void emit_softmax(const Emit& emit);
Status select_attention(const Select& select);
void emit_attention(const Emit& emit);
int64_t attention_workspace(const Need& need);
Status select_dropout(const Select& select);
void emit_dropout(const Emit& emit);
Status select_layernorm(const Select& select);
void emit_layernorm(const Emit& emit);
Status select_rmsnorm(const Select& select);
void emit_rmsnorm(const Emit& emit);
Status select_embedding(const Select& select);
void emit_embedding(const Emit& emit);
Status select_elementwise(const Select& select);
void emit_elementwise(const Emit& emit);
Status select_mean(const Select& select);
void emit_mean(const Emit& emit);
Status select_l2_normalize(const Select& select);
void emit_l2_normalize(const Emit& emit);
Status select_concat(const Select& select);
void emit_concat(const Emit& emit);
Status select_argmax(const Select& select);
void emit_argmax(const Emit& emit);
Status select_custom(const Select& select);
void emit_custom(const Emit& emit);

}  // namespace heed::kernels
