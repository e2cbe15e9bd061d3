// A case of the operation table: one graph with data and expectations, independent of the device it runs on.
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

// An output that a run must give: |device - value| <= bound for every element, and the normalized mean square error
// below `nmse`, since an average sees a drift that stays within a worst-case bound. Infinities must have the same sign,
// and NaN must be NaN.
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
  Status status = Status::Ok;  // run must return this
  std::string message;         // the log must then mention this
  struct Input {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs;
  std::vector<Expectation> expectations;
  DType dtype = DType::F32;
  bool rounds = false;  // elements have bounds for CompileOptions::round_rows, and no mean square error is expected
  std::vector<std::vector<std::byte>> bits;  // outputs of a reproducible plan, of the first device that ran it

  // Gives an input in the trial's dtype, and returns the values as stored.
  Array input(const std::string& name, const Array& values);
  Array input(const std::string& name, const Array& values, DType type);

  // `terms` roundings of f32 pile up in an element, e.g. K of a matrix product. They are independent, so that the mean
  // square error is near terms u^2 / 3 of the mean square value; 16 times that is allowed, and for each of `stores`
  // trips through f16 storage 2 * 2^-22, through bf16 2 * 2^-16.
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
  bool keeps_narrow = false;  // a state has f16 or bf16, which the device may lack
  bool rounds_to_f16 =
      false;  // CompileOptions::round_rows has its bound for matrix units, else one that CPUs keep, too
  // Multiplies as matmul of reference.hpp does, with the bound of CompileOptions::round_rows, where b is quantized, or emulate_f32 where
  // the plan has that.
  Array product(const Array& a, const Array& b, double factor = 1.0) const;
  // Passes the plan must have, by operation in order; empty: any.
  std::vector<std::string> passes;

  Tensor input(const char* name, const Shape& shape) { return graph.input(name, shape, dtype); }
  // A weight of the trial's dtype; *values become what is stored.
  Tensor weight(const std::string& name, Array* values);
  Tensor weight(const std::string& name, Array* values, DType type);
  // A weight of random blocks of a quantized type; *values become what they stand for.
  Tensor blocks(const std::string& name, const Sizes& shape, DType type, uint64_t seed, Array* values);
  Run& run(std::vector<ExtentValue> extents = {});
  // The reference after a trip through the trial's storage.
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
  // Always runs in bf16. For other cases a sample is enough, since bf16 differs from f16 in loads and stores alone.
  bool in_bf16 = false;
  bool many_groups =
      false;  // more workgroups than fit one axis of a dispatch, or long rows: minutes for an interpreter
};

// One row of the table.
struct Operation {
  const char* name;
  std::vector<Case> cases;
  std::vector<DType> dtypes = {DType::F32, DType::F16, DType::BF16};
};

// Runs every case on every device and dtype, fails the current Catch test on any difference and prints how
// many cases ran where.
void check(const Operation& operation);
void check(const Operation& operation, const std::vector<TestDevice>& devices);

struct Tally {
  int ran = 0, runs = 0;
  int unsupported = 0;
  double worst = 0.0;  // largest error relative to its bound
};

// Says where the output of a run is wrong; empty if nowhere.
std::string difference(const Expectation& expected, std::span<const std::byte> bytes, Tally* tally);

// The result of a trial on a device.
struct Verdict {
  std::string difference;    // empty: all is right
  size_t run = 0;            // the number of the run that went wrong
  bool unsupported = false;  // the device has no storage of a type that the trial has
};
// Compiles the graph and does the runs for which wanted[number] is set, each twice, until one goes wrong. Empty: all.
Verdict check_trial(Device device, Trial& trial, Tally* tally, const std::vector<bool>& wanted = {});

// HEED_TEST_EVERY=N takes every Nth case of each table, where a driver makes them slow; N+K begins with case K, so that
// drivers can share a table.
struct CaseSteps {
  size_t first = 0, step = 1;
};
CaseSteps case_steps();

Shape shape_of(const Sizes& sizes);
std::string text_of(const Sizes& sizes);

}  // namespace heed::ops
