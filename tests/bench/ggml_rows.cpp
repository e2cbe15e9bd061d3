// Times the rows of rows.hpp on ggml's Vulkan backend.
//   ggml_rows BACKENDS SECONDS ROW...     BACKENDS: the folder with libggml-vulkan.so
// GGML_VK_DISABLE_F16 makes ggml compute in true f32; by default it uses f16 tiles for f32.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <chrono>
#include <cmath>

#include "rows.hpp"

namespace heed::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Build {
  ggml_context* ctx;
  std::vector<ggml_tensor*> inputs;
  ggml_tensor* tensor(ggml_type type, int64_t a, int64_t b = 1, int64_t c = 1) {
    return inputs.emplace_back(ggml_new_tensor_3d(ctx, type, a, b, c));
  }
};

// q, k and v [d, tokens, heads]; the result is [d, heads, tokens].
ggml_tensor* attention(Build& b, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, bool causal) {
  const int64_t tokens = q->ne[1];
  ggml_tensor* mask = causal ? b.tensor(GGML_TYPE_F16, tokens, tokens) : nullptr;
  if (mask != nullptr) ggml_set_name(mask, "mask");
  return ggml_flash_attn_ext(b.ctx, q, k, v, mask, 1.0f / std::sqrt(static_cast<float>(q->ne[0])), 0.0f, 0.0f);
}

ggml_tensor* linear(Build& b, ggml_tensor* x, ggml_type type, int64_t out) {
  ggml_tensor* w = b.tensor(type, x->ne[0], out);
  return ggml_add(b.ctx, ggml_mul_mat(b.ctx, w, x), b.tensor(GGML_TYPE_F32, out));
}

ggml_tensor* layernorm(Build& b, ggml_tensor* x) {
  ggml_tensor* scaled = ggml_mul(b.ctx, ggml_norm(b.ctx, x, 1e-5f), b.tensor(GGML_TYPE_F32, x->ne[0]));
  return ggml_add(b.ctx, scaled, b.tensor(GGML_TYPE_F32, x->ne[0]));
}

ggml_tensor* heads_of(Build& b, ggml_tensor* x) {
  return ggml_permute(b.ctx, ggml_reshape_3d(b.ctx, x, 64, 12, x->ne[1]), 0, 2, 1, 3);
}

ggml_tensor* encoder(Build& b, ggml_type type, int64_t tokens) {
  ggml_tensor* x = b.tensor(GGML_TYPE_F32, 768, tokens);
  for (int i = 0; i < 12; ++i) {
    ggml_tensor* q = heads_of(b, linear(b, x, type, 768));
    ggml_tensor* k = heads_of(b, linear(b, x, type, 768));
    ggml_tensor* v = heads_of(b, linear(b, x, type, 768));
    ggml_tensor* joined = ggml_reshape_2d(b.ctx, attention(b, q, k, v, false), 768, tokens);
    x = layernorm(b, ggml_add(b.ctx, x, linear(b, joined, type, 768)));
    ggml_tensor* hidden = ggml_gelu_erf(b.ctx, linear(b, x, type, 3072));
    x = layernorm(b, ggml_add(b.ctx, x, linear(b, hidden, type, 768)));
  }
  return x;
}

ggml_tensor* build(const Row& row, Build& b) {
  const auto& s = row.sizes;
  const ggml_type type = row.type == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32;
  if (row.op == "encoder") return encoder(b, type, s[0]);
  if (row.op == "matmul") return ggml_mul_mat(b.ctx, b.tensor(type, s[2], s[1]), b.tensor(GGML_TYPE_F32, s[2], s[0]));
  if (row.op == "attention") {
    ggml_tensor* q = b.tensor(GGML_TYPE_F32, s[2], s[1], s[0]);
    return attention(b, q, b.tensor(type, s[2], s[1], s[0]), b.tensor(type, s[2], s[1], s[0]), row.causal);
  }
  ggml_tensor* x = b.tensor(GGML_TYPE_F32, s[1], s[0]);
  if (row.op == "softmax") return ggml_soft_max(b.ctx, x);
  if (row.op == "add") return ggml_add(b.ctx, x, b.tensor(GGML_TYPE_F32, s[1], s[0]));
  return layernorm(b, x);
}

void fill(ggml_tensor* tensor) {
  const auto count = static_cast<size_t>(ggml_nelements(tensor));
  std::vector<float> values(count);
  const bool mask = std::string(tensor->name) == "mask";
  uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (static_cast<float>(state >> 8) / 16777216.0f - 0.5f) * 0.1f + 0.001f;
    const auto keys = static_cast<size_t>(tensor->ne[0]);
    if (mask) values[i] = i % keys > i / keys ? -INFINITY : 0.0f;
  }
  if (tensor->type == GGML_TYPE_F32) return ggml_backend_tensor_set(tensor, values.data(), 0, count * 4);
  std::vector<ggml_fp16_t> halves(count);
  ggml_fp32_to_fp16_row(values.data(), halves.data(), static_cast<int64_t>(count));
  ggml_backend_tensor_set(tensor, halves.data(), 0, count * 2);
}

void measure(ggml_backend_t backend, const Row& row, double seconds) {
  ggml_context* ctx = ggml_init({ggml_tensor_overhead() * 4096 + ggml_graph_overhead(), nullptr, true});
  Build b{ctx, {}};
  ggml_tensor* result = build(row, b);
  ggml_cgraph* graph = ggml_new_graph(ctx);
  ggml_build_forward_expand(graph, result);
  bool supported = true;
  for (int i = 0; i < ggml_graph_n_nodes(graph); ++i)
    supported = supported && ggml_backend_supports_op(backend, ggml_graph_node(graph, i));
  ggml_backend_buffer_t buffer = supported ? ggml_backend_alloc_ctx_tensors(ctx, backend) : nullptr;
  if (buffer == nullptr) {
    print_row(row, -1, supported ? "no memory" : "not supported");
    return ggml_free(ctx);
  }
  for (ggml_tensor* input : b.inputs) fill(input);

  const auto run_once = [&] {
    const Clock::time_point start = Clock::now();
    const bool good = ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS;
    ggml_backend_synchronize(backend);
    return good ? std::chrono::duration<double, std::milli>(Clock::now() - start).count() : -1.0;
  };
  std::vector<double> times;
  run_once();  // creates its pipelines
  const Clock::time_point start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (times.empty() || (spent() < seconds && times.size() < 100)) times.push_back(run_once());
  print_row(row, median(times), std::to_string(ggml_graph_n_nodes(graph)) + " nodes");
  ggml_backend_buffer_free(buffer);
  ggml_free(ctx);
}

}  // namespace
}  // namespace heed::bench

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: ggml_rows BACKENDS SECONDS ROW...\n");
    return 2;
  }
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load((std::string(argv[1]) + "/libggml-vulkan.so").c_str());
  ggml_backend_dev_t device = nullptr;
  for (size_t i = 0; i < ggml_backend_dev_count() && device == nullptr; ++i) device = ggml_backend_dev_get(i);
  ggml_backend_t backend = device != nullptr ? ggml_backend_dev_init(device, nullptr) : nullptr;
  if (backend == nullptr) {
    std::fprintf(stderr, "ggml finds no Vulkan device\n");
    return 1;
  }
  std::fprintf(stderr, "%s %s\n", ggml_backend_name(backend), ggml_backend_dev_description(device));
  for (int i = 3; i < argc; ++i) heed::bench::measure(backend, heed::bench::parse_row(argv[i]), std::atof(argv[2]));
  ggml_backend_free(backend);
  return 0;
}
