// The values of a composition: their tensors, how a run computes them, and which of them the next operation may read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/composition.hpp"

namespace heed::ops {

// The values of a run so far, in the order in which they were created.
struct Evaluation {
  Run& run;
  int number;
  std::map<int32_t, int64_t> sizes;  // of symbolic dims
  std::vector<Array> values;
  std::map<std::string, Array> masks, states;

  int64_t operator()(const Dim& dim) const { return dim.is_constant() ? dim.value : sizes.at(dim.expr); }
  Sizes operator()(const Shape& shape) const;
};

using Compute = std::function<Array(Evaluation&)>;

class Composer {
 protected:
  Composer(DType dtype, uint64_t seed);

  Trial& t() { return *composition_.trial; }
  Graph& g() { return t().graph; }
  DType dtype(int v) { return g().dtype(at(v).tensor); }
  Shape shape(int v) { return g().shape(at(v).tensor); }
  Tensor tensor(int v) { return at(v).tensor; }
  int rank(int v) { return shape(v).rank; }
  Dim last(int v, int from_end = 0) { return shape(v)[rank(v) - 1 - from_end]; }
  int last_value() const { return static_cast<int>(values_.size()) - 1; }
  static const Array& of(const Evaluation& e, int v) { return e.values[static_cast<size_t>(v)]; }

  // --- Values --------------------------------------------------------------------------------------------------

  // Adds a value that `what` computes from the values `from` (-1: none). `what` and `more` are descriptions; runs call `compute`.
  int view(const char* what, const std::vector<int>& from, const std::string& more, Tensor tensor, Compute compute);
  // The same for an operation whose result is rounded to its type.
  int operation(const char* what, const std::vector<int>& from, const std::string& more, Tensor tensor,
                const Compute& compute);
  static std::string name_of(int v) { return std::string("v").append(std::to_string(v)); }  // description
  bool usable(int v) { return at(v).usable; }
  void read_no_more(int v) { at(v).usable = false; }
  void read_views_no_more(int v) {  // and not the value itself
    for (Value& value : values_) value.usable &= value.origin != v;
  }

  // --- What operations read --------------------------------------------------------------------------------------

  // A name for an input or weight.
  std::string fresh_name(const char* stem) { return std::string(stem).append(std::to_string(names_++)); }
  Dim width() { return random_.pick({1, 2, 6, 8, 12, 16, 16, 24, 33, 64}); }
  Shape drawn_shape(int64_t rank);
  // A shape that broadcasts to `like`: the same, or with 1 for some dims, or without the outer dims.
  Shape broadcast_to(Shape like);

  // A new input, or a weight if all dims are constant. Magnitudes are up to `most`; the type is the trial's or `of_type`.
  int source(const Shape& shape, double most = 1.0, std::optional<DType> of_type = {});
  // A new mask, with either meaning.
  struct DrawnMask {
    Mask mask;
    std::string name;
    Shape shape;
    uint64_t seed;
    bool keeps;
  };
  DrawnMask drawn_mask(const Shape& shape);
  // A position from 0 to `most`, or a constant.
  struct DrawnPosition {
    Dim dim;
    std::function<int64_t(Evaluation&)> value;  // once for each run
  };
  DrawnPosition drawn_position(int64_t most);
  // The mask's values in this run, the same for every value that reads it.
  static const Array& values_of(Evaluation& e, const DrawnMask& mask);

  // Picks a value that fits; prefers link_.
  template <class Fits>
  std::optional<int> pick(const Fits& fits) {
    std::vector<int> fitting;
    for (int v = 0; v < static_cast<int>(values_.size()); ++v)
      if (at(v).usable && fits(v)) fitting.push_back(v);
    return pick_of(fitting);
  }
  // A value with a rank from `least` to `most` in the trial's type, or a new one.
  int of_rank(int64_t least, int64_t most);
  // A value that can be added to x or multiplied by it.
  int beside(int x);

  // Makes outputs of values that no operation reads, then fills the other runs.
  Composition finish();

  Random random_;
  Dim batch_, tokens_, keys_;
  int link_ = -1;  // the value that the next operation reads if possible

 private:
  struct Value {
    Tensor tensor;
    Compute compute;
    bool computed;  // operations that read it
    int origin;     // the value of which this is a view, or the value itself
    bool usable = true, read = false;
  };

  Value& at(int v) { return values_[static_cast<size_t>(v)]; }
  Evaluation start(int number);
  const Array& evaluate(const Value& value, Evaluation* e);
  int add(const char* what, const std::vector<int>& from, const std::string& more, Tensor tensor, bool computed,
          Compute compute);
  std::optional<int> pick_of(const std::vector<int>& fitting);
  void give_outputs();
  void expect(Evaluation& e);

  Composition composition_;
  std::vector<Value> values_;
  std::optional<Evaluation> first_;  // the run that decides which values are suitable
  std::vector<int> outputs_;
  int names_ = 0;
};

}  // namespace heed::ops
