#include "report/works.hpp"

#include <algorithm>

namespace heed::program {

namespace {

struct OfCase {
  const char* op;
  const char* label;
  std::array<int64_t, 5> sizes;
  DType type = DType::F32;
};

constexpr OfCase kOfCases[] = {
    {"matmul", "linear", {1, 3072, 768}},
    {"matmul", "linear", {512, 3072, 768}},
    {"matmul", "linear", {512, 3072, 768}, DType::F16},
    {"matmul", "linear", {1024, 2048, 1024}, DType::F16},
    {"matmul", "q8_0", {1, 11008, 4096}},
    {"matmul", "q4_1", {1, 11008, 4096}},
    {"matmul", "q4_1", {128, 4096, 4096}},
    {"attention", "", {512, 512, 64, 12, 1}},
    {"attention", "", {512, 512, 64, 12, 1}, DType::F16},
    {"attention", "causal", {512, 512, 64, 12, 1}},
    {"softmax", "", {1, 12, 512, 512}},
    {"layernorm", "", {512, 768}},
    {"rmsnorm", "", {512, 768}},
    {"reduce", "sum of all", {512, 768}},
    {"elementwise", "add", {512, 3072}},
    {"elementwise", "gelu", {512, 3072}},
};

// Rows of `heed bench`, by their shapes.
constexpr const char* kModels[] = {kReportEncoder, "1-after-500-f16-cache-f16", "1-after-500-q4_1", "8-after-500-q4_1"};

std::vector<BenchCase> make_works() {
  std::vector<BenchCase> works;
  for (const OfCase& one : kOfCases)
    if (BenchCase work = bench_case(one.op, one.label, one.sizes, one.type); work.build)
      works.push_back(std::move(work));
  for (const char* shape : kModels)
    for (const BenchCase& row : bench_cases())
      if (row.shape == shape) works.push_back(row);
  return works;
}

}  // namespace

const std::vector<BenchCase>& report_works() {
  static const std::vector<BenchCase> works = make_works();
  return works;
}

}  // namespace heed::program
