// One OpCase for each operation and way to build it. The self-test, `heed bench`, the tables of compilers for GPUs and the tests of
// kernels and of hostile calls all read it. Tests add awkward shapes, with references in double: tests/ops.
#pragma once

#include <array>
#include <heed/graph.hpp>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace heed {

// Up to five sizes of a case. Each case says what they mean. 0: not used.
using CaseSizes = std::array<int64_t, 5>;
using SizesList = std::initializer_list<CaseSizes>;
// Sizes of the self-test that are the extents "m" and "n", and their maxima.
inline constexpr int64_t kM = -1, kN = -2, kMostM = 70, kMostN = 300;

// The graph of a case while it is built, and what its operands are.
class CaseGraph {
 public:
  // `type`: how tensors are stored. varies: kM and kN are extents, not their maxima, and parameters are inputs.
  CaseGraph(DType type, const CaseSizes& sizes, bool varies = false);
  // In a graph that may have more, with names of its own.
  CaseGraph(Graph graph, std::string prefix, DType type, const std::array<Dim, 5>& sizes);

  Graph graph;
  const DType type;

  Dim size(int i) const { return sizes_[static_cast<size_t>(i)]; }
  Shape shape() const;                                 // all sizes that are there
  Shape shape(std::initializer_list<Dim> dims) const;  // those of them that are not 0

  Tensor input(const char* name, const Shape& shape) { return input(name, shape, type); }
  Tensor input(const char* name, const Shape& shape, DType of);
  Tensor x() { return input("x", shape()); }
  Tensor ids(const char* name, const Shape& shape, Dim below);  // whole numbers from 0
  Tensor bytes(const char* name, const Shape& shape) { return input(name, shape, DType::U8); }
  Tensor weight(const char* name, const Shape& shape) { return weight(name, shape, type); }
  Tensor weight(const char* name, const Shape& shape, DType of);
  Tensor parameter(const char* name, const Shape& shape, DType of);  // a weight, or an input where sizes vary
  Tensor row(const char* name, Tensor x);                            // a parameter as long as a row of x
  Tensor state(const char* name, const Shape& shape, DType of) { return graph.state(prefix_ + name, shape, of); }
  void output(Tensor tensor) { output("y", tensor); }
  void output(const char* name, Tensor tensor);
  // Outputs: the gradients of y, given what flows back to it, with respect to some tensors.
  void differentiate(Tensor y, Tensor upstream, std::initializer_list<std::pair<const char*, Tensor>> of);

  struct Operand {
    std::string name;
    Shape shape;
    DType dtype = DType::F32;
    int64_t below = 0;  // of ids
  };
  std::vector<Operand> inputs, weights, outputs;

 private:
  std::string prefix_;
  std::array<Dim, 5> sizes_;
  bool varies_ = false;
};

// How the self-test compiles a case.
enum class CasePlans : uint8_t { Usual, Both, Reproducible, Emulated, Rounded };
inline constexpr CasePlans kBoth = CasePlans::Both;
inline constexpr int64_t kVocabulary = 30522;  // of BERT

struct OpCase {
  const char* op;  // the name of the pass that is tested, or of what the case computes
  void (*build)(CaseGraph& c);
  const char* label = "";  // what distinguishes it: "causal"
  bool training = false;
  bool one_type = false;               // does not depend on CaseGraph::type
  CasePlans plans = CasePlans::Usual;  // of the self-test
  // Sizes for each reader; none: it leaves the case out.
  // The self-test fills operands by type: floating-point values in [-1, 1), those of quantized weights in [-1, 2), I32 0 to 6, U8 0
  // and 1. Its cases together use every kernel; a test sees to that.
  SizesList self_test{};
  SizesList compilers{};  // of models, for what compilers for GPUs make of kernels
  SizesList bench{};      // of models, for times
  SizesList floor{};      // large or awkward ones, to be planned for the least device

  // "softmax causal 512x512", as far as there is a label.
  std::string name(const CaseSizes& sizes) const;
};

// The tables of the files of this folder. In the self-test, operations that others build on come first, so that a wrong one is
// found before it makes others look wrong.
std::span<const OpCase> element_cases();  // elementwise, concat, rotary, embedding and other moves
std::span<const OpCase> matmul_cases();
std::span<const OpCase> attention_cases();  // and softmax
std::span<const OpCase> row_cases();        // norms, mean, choices and losses
std::span<const OpCase> projection_cases();
std::span<const OpCase> gradient_cases();
std::span<const OpCase> update_cases();  // of optimizers
std::span<const OpCase> layer_cases();
std::vector<const OpCase*> all_cases();

}  // namespace heed
