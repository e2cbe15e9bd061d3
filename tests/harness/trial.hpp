// A case of the operation table: one graph with data and expected results, independent of the device.
#pragma once

#include <cstddef>
#include <functional>
#include <heed/heed.hpp>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "harness/devices.hpp"
#include "harness/reference.hpp"

namespace heed::ops {

// An output that a run must give: |device - value| <= bound for every element, and a normalized mean square error below `nmse`, since an
// average shows a drift within the worst-case bound. Infinities must have the same sign, and NaN must be NaN.
struct Expectation {
  std::string name;
  DType dtype = DType::F32;
  Array reference;
  double nmse = 0.0;
  bool exact = false;  // the bits of the value rounded to dtype
};

// One execution of the case's plan.
struct Run {
  std::vector<ExtentValue> extents;
  RunOptions options;
  Status status = Status::Ok;  // status that run must return
  std::string message;         // the log must then contain this
  struct Input {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs;
  std::vector<Expectation> expectations;
  DType dtype = DType::F32;
  bool rounds = false;  // elements use the bounds of CompileOptions::round_rows, without a mean square error
  std::vector<std::vector<std::byte>> bits;  // outputs of a reproducible plan on the first device that ran it

  // Adds an input in the trial's dtype, and returns the stored values.
  Array input(const std::string& name, const Array& values);
  Array input(const std::string& name, const Array& values, DType type);

  // An element has `terms` roundings of f32, e.g. K in a matmul. They are independent, so that the mean square error is near terms u^2 / 3
  // of the mean square value. The limit is 16 times that, and each of `stores` roundings to f16 adds 2 * 2^-22, to bf16 2 * 2^-16.
  void expect(const std::string& name, const Array& reference, double terms = 16.0, int stores = 1);
  // Expects an output by its bound alone.
  void expect_within(const std::string& name, const Array& reference, DType type = DType::F32);
  void expect_exact(const std::string& name, const Array& reference, DType type);
};

// The inputs of a run that hide keys of its softmax. The reference points to them.
struct HiddenKeys {
  SoftmaxReference reference;
  Array padding, mask, bias, lengths, positions;

  HiddenKeys() = default;
  HiddenKeys(const HiddenKeys&) = delete;
  void give_padding(Run& run, const Array& values) {
    padding = run.input("padding", values, DType::U8);
    reference.key_padding = &padding;
  }
  void give_mask(Run& run, const Array& values) {
    mask = run.input("mask", values, DType::U8);
    reference.mask = &mask;
  }
  void give_lengths(Run& run, const Array& values) {
    lengths = run.input("lengths", values, DType::I32);
    reference.lengths = &lengths;
  }
  void give_positions(Run& run, const Array& values) {
    positions = run.input("positions", values, DType::I32);
    reference.positions = &positions;
  }
  void give_bias(Run& run, const Array& values) {
    bias = run.input("bias", values);
    reference.bias = &bias;
  }
};

class Trial {
 public:
  explicit Trial(DType storage) : dtype(storage) {}

  DType dtype;
  Graph graph;
  CompileOptions options;
  std::list<Run> runs;
  bool keeps_narrow = false;  // a state is f16 or bf16, which the device may not support
  bool rounds_to_f16 =
      false;  // whether CompileOptions::round_rows has the bound of matrix units, or the tighter one that CPUs keep
  // matmul of reference.hpp, with the bound of CompileOptions::round_rows if b is quantized, or of emulate_f32 if the plan has it.
  Array product(const Array& a, const Array& b, double factor = 1.0) const;
  // Passes that the plan must have, by operation in order; empty: any.
  std::vector<std::string> passes;

  Tensor input(const char* name, const Shape& shape) { return graph.input(name, shape, dtype); }
  // A weight of the trial's dtype. *values receives the stored values.
  Tensor weight(const std::string& name, Array* values);
  Tensor weight(const std::string& name, Array* values, DType type);
  // A weight of random blocks of a quantized type. *values receives the dequantized values.
  Tensor blocks(const std::string& name, const Sizes& shape, DType type, uint64_t seed, Array* values);
  Run& run(std::vector<ExtentValue> extents = {});
  // The reference after rounding to the trial's storage type.
  Array stored(Array x) const { return ops::stored(dtype, std::move(x)); }

  struct Weight {
    std::string name;
    Sizes shape;
    DType dtype;
    std::vector<std::byte> bytes;
  };
  std::vector<Weight> weights;
  std::vector<HostTensor> host_weights() const;  // valid while *this is
};

struct Case {
  std::string name;
  std::function<void(Trial&)> build;
  // Always runs in bf16. Other cases run in bf16 only by a sample, since bf16 differs from f16 only in loads and stores.
  bool in_bf16 = false;
  bool many_groups =
      false;  // more workgroups than one axis of a dispatch allows, or long rows: minutes for an interpreter
};

// One row of the table.
struct Operation {
  const char* name;
  std::vector<Case> cases;
  std::vector<DType> dtypes = {DType::F32, DType::F16, DType::BF16};
};

// Runs every case on every device and dtype, fails the current Catch test on any difference, and prints how many cases ran on each device.
void check(const Operation& operation);
void check(const Operation& operation, const std::vector<TestDevice>& devices);

struct Tally {
  int ran = 0, runs = 0;
  int unsupported = 0;
  double worst = 0.0;  // largest error relative to its bound
};

// Describes where the output of a run is wrong; empty if it is right.
std::string difference(const Expectation& expected, std::span<const std::byte> bytes, Tally* tally);

// The result of a trial on a device.
struct Verdict {
  std::string difference;    // empty: all is right
  size_t run = 0;            // index of the run that failed
  bool unsupported = false;  // the device has no storage of one of the trial's types
};
// Compiles the graph and executes the runs with wanted[number], each twice, until one fails. An empty `wanted` means all.
Verdict check_trial(Device device, Trial& trial, Tally* tally, const std::vector<bool>& wanted = {});

// HEED_TEST_EVERY=N runs every Nth case of each table, for slow drivers; N+K begins with case K, so that drivers can share a table.
struct CaseSteps {
  size_t first = 0, step = 1;
};
CaseSteps case_steps();

Shape shape_of(const Sizes& sizes);
std::string text_of(const Sizes& sizes);

}  // namespace heed::ops
