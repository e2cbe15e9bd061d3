// The rows of `heed bench`, one for each operation and shape.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <heed/heed.hpp>

namespace heed::program {

// A row's graph, with host data for its inputs and weights. The row's builder fills it.
struct BenchGraph {
  Graph graph;
  struct Buffer {
    std::string name;
    std::vector<int64_t> shape;
    DType dtype = DType::F32;
    int32_t ids_below = 0;  // I32 only: values are 0 .. ids_below - 1
    size_t elements() const;
  };
  std::vector<Buffer> inputs, weights;
  DType weight_dtype = DType::F32;   // storage type of matrices and tables
  std::vector<ExtentValue> extents;  // extents of a run
  Buffer output;

  Tensor input(const std::string& name, const std::vector<int64_t>& shape);
  Tensor ids(const std::string& name, const std::vector<int64_t>& shape, int32_t below);
  void weight(const std::string& name, const std::vector<int64_t>& shape);  // for names that nn passes on
  void result(Tensor tensor, const std::vector<int64_t>& shape, DType dtype = DType::F32);
};

struct BenchCase {
  const char* op;  // the operation's name, "encoder" or "decode"
  std::string shape;
  std::function<void(BenchGraph&)> build;
  bool training = false;
  bool whole_model = false;         // it consists of operations that other rows time
  bool may_be_unsupported = false;  // weights of f16 need 16-bit storage, quantized ones a device with kernels for them
};

const std::vector<BenchCase>& bench_cases();

// An operation of `heed bench`, with this label of its case, at other sizes or in another type. `build` is empty if there is none.
BenchCase bench_case(std::string_view op, std::string_view label, const std::array<int64_t, 5>& sizes,
                     DType type = DType::F32);

// One token for each of `sequences` conversations with `context` earlier tokens, with matrices of type `weights`, and keys and values of
// type `cache` (decode.cpp).
BenchCase decode_step(int64_t sequences, int64_t context, DType weights, DType cache = DType::F32);

}  // namespace heed::program
