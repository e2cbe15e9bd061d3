// What `heed bench` measures: one row per operation and shape.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <heed/heed.hpp>

namespace heed::program {

// Which limit of the device a row is compared with.
enum class Bound { Arithmetic, Memory };

// Filled by a row's builder: a graph, and how much host data its inputs and weights need.
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
  Buffer output;

  Tensor input(const std::string& name, const std::vector<int64_t>& shape);
  Tensor ids(const std::string& name, const std::vector<int64_t>& shape, int32_t below);
  Tensor padding(const std::string& name, const std::vector<int64_t>& shape);
  void weight(const std::string& name, const std::vector<int64_t>& shape);  // for names that nn asks for
  void result(Tensor tensor, const std::vector<int64_t>& shape, DType dtype = DType::F32);
};

struct BenchCase {
  const char* op;  // the operation's one name, or "encoder"
  std::string shape;
  Bound bound;
  std::function<void(BenchGraph&)> build;
  bool training = false;
};

const std::vector<BenchCase>& bench_cases();

}  // namespace heed::program
