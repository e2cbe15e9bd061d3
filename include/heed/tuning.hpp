// Tuning: which of heed's kernels is the fastest for a product or an attention of which size, measured on the device
// instead of estimated.
//
// heed chooses kernels and tiles by rules that suit most GPUs, and needs nothing else. This times them on this one, in a few
// seconds. Run it once per driver, at best after the self-test, which keeps wrong kernels away, and keep the blob:
//
//   heed::TuningReport report;
//   heed::Status s = heed::tune(device, {}, &report);   // what is compiled from now on uses it
//   save(report.blob);
//   ... at later starts, opened by heed or adopted: s = heed::use_tuning(device, blob);
//
// A choice holds for a class of sizes. Results stay within the same bounds, but another kernel may round in another order,
// so that bits may change. Plans that exist are not changed; PassInfo::why of later ones says "measured".
#pragma once

#include <cstddef>
#include <cstdint>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>
#include <span>
#include <string>
#include <vector>

namespace heed {

struct TuningOptions {
  // At least 1. Sizes that were not reached by then keep what estimates choose; one attention, and one product of each
  // storage type that the device computes on, always are.
  uint32_t time_limit_ms = 10000;
};

// What the times of one size told.
struct Tuned {
  DType dtype = DType::F32;
  std::string usual;    // the kernel and how it cuts the work, as estimates choose
  double usual_ms = 0;  // GPU time, median
  std::string fastest;  // `usual` where nothing is clearly faster
  double fastest_ms = 0;
  uint32_t variants = 0;  // how many were timed
};

// One product, a [m, k] x b [k, n], both of dtype. Kernels by their tiles: "matmul_f32 64x64".
struct TunedProduct : Tuned {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_b = false;  // b lies in memory as [n, k], as weights of linear layers do
};

// One attention, without masks: queries [1, heads, queries, head_size], as many heads of keys and values. Of F32 or F16;
// for BF16 estimates choose. Kernels by invocations and queries of a workgroup: "attention_f16 128x64".
struct TunedAttention : Tuned {
  int64_t queries = 0, keys = 0, heads = 0, head_size = 0;
};

struct TuningReport {
  std::vector<TunedProduct> products;
  std::vector<TunedAttention> attentions;
  double milliseconds = 0;
  // What was found, a few hundred bytes. It names device, driver and heed's kernels.
  std::vector<std::byte> blob;
};

// Compiles, runs and times; the queue is used and waited for, and no other thread may compile on the device meanwhile.
// A variant whose results differ from the others' is never chosen. Unsupported: the device has no timestamps. On the CPU
// device there is nothing to choose: Ok, an empty report. On failure the device chooses as before.
HEED_API Status tune(Device& device, const TuningOptions& options, TuningReport* report);

// Uses the results of an earlier start. Not while another thread compiles on the device. InvalidFile: no tuning, or a
// damaged one; Unsupported: of another device, driver or version of heed, so that tune wants to be run again. The device
// then chooses as before, and the log says why. On the CPU device any blob is Unsupported.
HEED_API Status use_tuning(Device& device, std::span<const std::byte> blob);

}  // namespace heed
