// All kernels with their SPIR-V, generated from shaders/variants.txt.
//
//   const KernelInfo& info = kernel_info(KernelId::MatmulF32);
//   std::vector<uint32_t> words;
//   status = unpack(*info.module, &words);
//
// Interface of every kernel: storage buffers at set 0, bindings 0..binding_count-1 (a variant may leave some of them unused); one
// push-constant block of push_bytes, which starts with the element offset of each binding (shaders/shared/params.h); specialization
// constants as in KernelKey, 0..2 the workgroup size; entry "main".
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

// Kernels that differ only in their element type may share a module; a specialization constant gives the type.
inline constexpr uint32_t kKernelCount = 0
#define HEED_KERNEL(name) +1
#include "kernel_ids.inc"
#undef HEED_KERNEL
    ;

inline constexpr KernelId kNoTwin{kKernelCount};

// Compressed SPIR-V. Compression reduces all modules to a third of their size.
struct PackedSpirv {
  const unsigned char* bytes;  // a gzip file, static storage
  uint32_t byte_count;
  uint32_t word_count;  // after decompression
  uint64_t digest;      // digest of the words, independent of the compression
};

struct KernelInfo {
  const char* name;           // "matmul_f32"
  const PackedSpirv* module;  // may be shared by several kernels
  uint32_t binding_count;
  uint32_t push_bytes;
  uint32_t types = 0;      // element types: specialization constant HEED_TYPES_CONSTANT
  uint32_t walks = 0;      // number of loops over the elements of a row, with lanes along x; 0: it has other loops, or
                           // none
  uint32_t length_at = 0;  // offset in the push constants of the length of these rows
  KernelId subgroup = kNoTwin;  // the variant with subgroup operations
  KernelId canon = kNoTwin;     // the kernel that replaces it in reproducible plans; itself if it only moves bits
};

const KernelInfo& kernel_info(KernelId id);

// Decompresses the words of a module. OutOfMemory, or InvalidFile if the checksum shows damage; *words is then empty.
Status unpack(const PackedSpirv& module, std::vector<uint32_t>* words);

}  // namespace heed
