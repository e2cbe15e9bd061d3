// One OpCase for each operation and way to build it. The self-test, `heed bench`, the tables of compilers for GPUs, and the tests of
// kernels and of hostile calls use them. Tests add awkward shapes, with references in double: tests/ops.
#pragma once

#include <array>
#include <heed/graph.hpp>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace heed {

// Up to five sizes of a case, which documents their meaning. 0: not used.
using CaseSizes = std::array<int64_t, 5>;
using SizesList = std::initializer_list<CaseSizes>;
// Values of sizes that stand for the extents "m" and "n" in the self-test, and their maxima.
inline constexpr int64_t kM = -1, kN = -2, kMostM = 70, kMostN = 300;

// The graph of a case under construction, and its operands.
class CaseGraph {
 public:
  // `type` is the storage type of tensors. If `varies`, kM and kN are extents instead of their maxima, and parameters are inputs.
  CaseGraph(DType type, const CaseSizes& sizes, bool varies = false);
  // Adds a case to an existing graph, with a prefix for its names.
  CaseGraph(Graph graph, std::string prefix, DType type, const std::array<Dim, 5>& sizes);

  Graph graph;
  const DType type;

  Dim size(int i) const { return sizes_[static_cast<size_t>(i)]; }
  Shape shape() const;                                 // all sizes that are used
  Shape shape(std::initializer_list<Dim> dims) const;  // those dims that are not 0

  Tensor input(const char* name, const Shape& shape) { return input(name, shape, type); }
  Tensor input(const char* name, const Shape& shape, DType of);
  Tensor x() { return input("x", shape()); }
  Tensor ids(const char* name, const Shape& shape, Dim below);  // integers from 0 to below - 1
  Tensor bytes(const char* name, const Shape& shape) { return input(name, shape, DType::U8); }
  Tensor weight(const char* name, const Shape& shape) { return weight(name, shape, type); }
  Tensor weight(const char* name, const Shape& shape, DType of);
  Tensor parameter(const char* name, const Shape& shape, DType of);  // a weight, or an input if sizes vary
  Tensor row(const char* name, Tensor x);                            // a parameter as long as a row of x
  Tensor state(const char* name, const Shape& shape, DType of) { return graph.state(prefix_ + name, shape, of); }
  void output(Tensor tensor) { output("y", tensor); }
  void output(const char* name, Tensor tensor);
  // Adds outputs: the gradients of some tensors, given the gradient of y.
  void differentiate(Tensor y, Tensor upstream, std::initializer_list<std::pair<const char*, Tensor>> of);

  struct Operand {
    std::string name;
    Shape shape;
    DType dtype = DType::F32;
    int64_t below = 0;  // ids are less than this
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
inline constexpr int64_t kVocabulary = 30522;  // that of BERT

struct OpCase {
  const char* op;  // the operation of the tested pass, or a name for what the case computes
  void (*build)(CaseGraph& c);
  const char* label = "";  // what distinguishes it: "causal"
  bool training = false;
  bool one_type = false;               // independent of CaseGraph::type
  CasePlans plans = CasePlans::Usual;  // the plans in which the self-test runs the case
  // Sizes for each user; empty: the user skips the case. The self-test fills operands by type: floating-point values in [-1, 1), those of
  // quantized weights in [-1, 2), I32 0 to 6, U8 0 and 1. Its cases together use every kernel, which a test checks.
  SizesList self_test{};
  SizesList compilers{};  // sizes of models, for the tables of GPU compilers
  SizesList bench{};      // sizes of models, for timing
  SizesList floor{};      // large or awkward sizes, planned for the minimum device

  // "softmax causal 512x512", with the label if there is one.
  std::string name(const CaseSizes& sizes) const;
};

// The tables of this folder's files. In the self-test, basic operations come first, so that a faulty one is found before it affects others.
std::span<const OpCase> element_cases();  // elementwise, concat, rotary, embedding and other moves
std::span<const OpCase> matmul_cases();
std::span<const OpCase> attention_cases();  // and softmax
std::span<const OpCase> row_cases();        // norms, mean, choices and losses
std::span<const OpCase> projection_cases();
std::span<const OpCase> gradient_cases();
std::span<const OpCase> update_cases();  // cases of optimizers
std::span<const OpCase> layer_cases();
std::vector<const OpCase*> all_cases();

}  // namespace heed
