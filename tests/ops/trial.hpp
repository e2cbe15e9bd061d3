// A case of the operation table: one graph with data and expectations, independent of the device it runs on.
#pragma once

#include <cstddef>
#include <functional>
#include <heed/heed.hpp>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "ops/devices.hpp"
#include "ops/reference.hpp"

namespace heed::ops {

// What an output must be: |device - value| <= bound for every element, and the normalized mean square error
// below `nmse`, since an average sees a drift that stays within a worst-case bound.
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
  Status status = Status::Ok;  // what run must return
  std::string message;         // what the log must then mention
  struct Input {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs;
  std::vector<Expectation> expectations;
  DType dtype = DType::F32;

  // Gives an input of the trial's dtype; returns the values as they are stored.
  Array input(const std::string& name, const Array& values);
  Array input(const std::string& name, const Array& values, DType type);

  // `terms`: how many roundings of f32 pile up in an element, e.g. K of a matrix product. They are
  // independent, so the mean square error is near terms u^2 / 3 of the mean square value; 16 times that is
  // allowed, and for each of `stores` trips through f16 storage 2 * 2^-22, through bf16 2 * 2^-16.
  void expect(const std::string& name, const Array& reference, double terms = 16.0, int stores = 1);
  // The same of an output in F32 within a bound alone.
  void expect_within(const std::string& name, const Array& reference);
  void expect_exact(const std::string& name, const Array& reference, DType type);
};

class Trial {
 public:
  explicit Trial(DType storage) : dtype(storage) {}

  DType dtype;
  Graph graph;
  CompileOptions options;
  std::list<Run> runs;
  // Passes the plan must have, by operation in order; empty: any.
  std::vector<std::string> passes;

  Tensor input(const char* name, const Shape& shape) { return graph.input(name, shape, dtype); }
  // A weight of the trial's dtype; *values become what is stored.
  Tensor weight(const std::string& name, Array* values);
  Tensor weight(const std::string& name, Array* values, DType type);
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
  bool in_bf16 =
      false;  // always; of other cases some are enough, since bf16 differs from f16 in loads and stores alone
  bool many_groups = false;  // more workgroups than fit one axis of a dispatch: minutes for an interpreter
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
  double worst = 0.0;  // largest error as a share of its bound
};

// Where the output of a run is not what it must be; empty if it is.
std::string difference(const Expectation& expected, std::span<const std::byte> bytes, Tally* tally);

// What became of a trial on a device.
struct Verdict {
  std::string difference;    // empty: all is right
  size_t run = 0;            // the number of the run that went wrong
  bool unsupported = false;  // the device has no storage of the trial's type
};
// Compiles the graph and does the runs for which wanted[number] is set, each twice, until one goes wrong. Empty: all.
Verdict check_trial(Device device, Trial& trial, Tally* tally, const std::vector<bool>& wanted = {});

// HEED_TEST_EVERY=N takes every Nth case of each table, where an emulator makes them slow.
size_t case_step();

Shape shape_of(const Sizes& sizes);
std::string text_of(const Sizes& sizes);

}  // namespace heed::ops
