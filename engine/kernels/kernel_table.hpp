// Every kernel heed ships, with its SPIR-V. Made from shaders/variants.txt, the one table of kernels.
//
//   const KernelInfo& info = kernel_info(KernelId::MatmulF32);
//   std::vector<uint32_t> words;
//   status = unpack(*info.module, &words);
//
// Interface of every kernel: storage buffers at set 0, bindings 0..binding_count-1 (a variant may leave some of
// them unused); one push-constant block of push_bytes, which starts with the element offset of each binding
// (shaders/shared/params.h); specialization constants as in KernelKey, 0..2 the workgroup size; entry "main".
#pragma once

#include <cstdint>
#include <heed/status.hpp>
#include <vector>

namespace heed {

enum class KernelId : uint32_t {
#define HEED_KERNEL(name) name,
#include "kernel_ids.inc"
#undef HEED_KERNEL
};

// Kernels whose names differ in the element type alone may share a module, which a specialization constant tells the type.
inline constexpr uint32_t kKernelCount = 0
#define HEED_KERNEL(name) +1
#include "kernel_ids.inc"
#undef HEED_KERNEL
    ;

inline constexpr KernelId kNoTwin{kKernelCount};

// SPIR-V as the library holds it. Packed, all modules take a third of their size.
struct PackedSpirv {
  const unsigned char* bytes;  // a gzip file, static storage
  uint32_t byte_count;
  uint32_t word_count;  // unpacked
  uint64_t digest;      // of the words: the same whichever way they were packed
};

struct KernelInfo {
  const char* name;           // "matmul_f32"
  const PackedSpirv* module;  // several kernels may have the same one
  uint32_t binding_count;
  uint32_t push_bytes;
  uint32_t types = 0;      // of elements: specialization constant HEED_TYPES_CONSTANT
  uint32_t walks = 0;      // loops over the elements of a row, whose lanes lie along x; 0: it has other loops, or none
  uint32_t length_at = 0;  // where push constants have the length of these rows
  KernelId subgroup = kNoTwin;  // the same with subgroup operations
  KernelId canon = kNoTwin;     // which reproducible plans take in its place; itself where it moves bits
};

const KernelInfo& kernel_info(KernelId id);

// The words of a module. OutOfMemory, or InvalidFile where its bytes are damaged, which their checksum tells; *words is empty then.
Status unpack(const PackedSpirv& module, std::vector<uint32_t>* words);

}  // namespace heed
