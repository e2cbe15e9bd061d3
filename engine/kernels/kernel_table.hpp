// Every shader variant heed ships, with its SPIR-V. Made from shaders/variants.txt, the one table of variants.
//
//   const KernelInfo& info = kernel_info(KernelId::MatmulF32);
//   create_shader_module(info.words, info.word_count);
//
// Interface of every kernel: storage buffers at set 0, bindings 0..binding_count-1 (a variant may leave some of
// them unused); one push-constant block of push_bytes, which starts with the element offset of each binding
// (shaders/shared/params.h); specialization constants as in KernelKey, 0..2 the workgroup size; entry "main".
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

enum class KernelId : uint32_t {
#define HEED_KERNEL(name) name,
#include "kernel_ids.inc"
#undef HEED_KERNEL
};

inline constexpr uint32_t kKernelCount = 0
#define HEED_KERNEL(name) +1
#include "kernel_ids.inc"
#undef HEED_KERNEL
    ;

struct KernelInfo {
  const char* name;       // "matmul_f32", as in variants.txt
  const uint32_t* words;  // SPIR-V, static storage
  size_t word_count;
  uint32_t binding_count;
  uint32_t push_bytes;
};

const KernelInfo& kernel_info(KernelId id);

}  // namespace heed
