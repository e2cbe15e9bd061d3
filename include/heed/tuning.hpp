// Tuning measures on the device which of heed's kernels are the fastest for matmuls and attentions of various sizes.
//
// Without it heed chooses kernels and tiles by estimates that suit most GPUs. Tuning times them on this device, in a few seconds. Run it
// once per driver, best after the self-test, which excludes wrong kernels, and keep the blob:
//
//   heed::TuningReport report;
//   heed::Status s = heed::tune(device, {}, &report);   // what is compiled from now on uses it
//   save(report.blob);
//   ... at later starts, opened by heed or adopted: s = heed::use_tuning(device, blob);
//
// A choice applies to a class of sizes. Results stay within the same error bounds, but their bits may change, because another kernel may
// sum in another order. Existing plans do not change; PassInfo::why of later ones says "measured".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

// How long tune may take.
struct TuningOptions {
  // At least 1. Sizes that are not measured within this time keep the estimates' choice. One attention, and one matmul of each storage type
  // that the device computes on and of each option of TunedProduct, are always measured.
  uint32_t time_limit_ms = 10000;
};

// The result for one size.
struct Tuned {
  DType dtype = DType::F32;
  std::string usual;      // the kernel and tiling that the estimates choose
  double usual_ms = 0;    // GPU time, median
  std::string fastest;    // the same as `usual` if nothing is clearly faster
  double fastest_ms = 0;  // GPU time, median
  uint32_t variants = 0;  // how many kernels and tilings were timed
};

// A matmul a [m, k] x b [k, n], a of type `dtype`. Kernels are named with their tiles: "matmul_f32 64x64".
struct TunedProduct : Tuned {
  DType b_dtype = DType::F32;                    // dtype, or Q8_0 where rows are rounded
  bool round_rows = false, emulate_f32 = false;  // timed with the kernels that this option of CompileOptions adds
  int64_t m = 0, n = 0, k = 0;
  bool transpose_b = false;  // b lies in memory as [n, k], as weights of linear layers do
};

// An attention without masks, with queries [1, heads, queries, head_size] and the same number of heads of keys and values. Its type is F32
// or F16; BF16 is not measured. Kernels are named with the invocations and queries of a workgroup: "attention_f16 128x64".
struct TunedAttention : Tuned {
  int64_t queries = 0, keys = 0, heads = 0, head_size = 0;
};

// The results of tune.
struct TuningReport {
  std::vector<TunedProduct> products;      // in the order of measuring
  std::vector<TunedAttention> attentions;  // in the order of measuring
  double milliseconds = 0;
  // The results, a few hundred bytes that name device, driver and heed's kernels.
  std::vector<std::byte> blob;
};

// Compiles, runs and times kernels. It submits to the queue and waits; no other thread may compile on the device meanwhile. A kernel whose
// results differ from the others' is never chosen. Unsupported: the device has no timestamps. On failure the device chooses as before. The
// CPU device has nothing to choose: the call returns Ok and an empty report.
HEED_API Status tune(Device& device, const TuningOptions& options, TuningReport* report);

// Uses the results of an earlier start. No other thread may compile on the device meanwhile. InvalidFile: the blob is
// no tuning, or is damaged. Unsupported: it was made with another device, driver or version of heed, so tune should be
// run again; on the CPU device every blob is Unsupported. After a failure the device chooses as before, and the log
// says why.
HEED_API Status use_tuning(Device& device, std::span<const std::byte> blob);

}  // namespace heed
