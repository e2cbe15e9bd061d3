// glm vectors and matrices as inputs, outputs and weights.
#include <heed/glm.hpp>

#include <glm/glm.hpp>
#include <glm/gtc/packing.hpp>
#include <glm/gtc/type_ptr.hpp>

#include "harness/setup.hpp"

namespace {

using heed::DType;
using heed::Status;

template <class T>
std::vector<T> several(size_t count) {
  std::vector<T> values(count);
  float* elements = glm::value_ptr(values[0]);
  for (size_t i = 0; i < count * sizeof(T) / sizeof(float); ++i) elements[i] = std::sin(static_cast<float>(i));
  return values;
}

// Self-attention of vectors, computed with glm alone, in double.
template <glm::length_t L>
std::vector<glm::vec<L, double>> mean_shift(const std::vector<glm::vec<L, float>>& x) {
  std::vector<glm::vec<L, double>> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (const auto& key : x) {
      const glm::vec<L, double> k(key);
      const double weight = std::exp(glm::dot(glm::vec<L, double>(x[i]), k) / std::sqrt(double(L)));
      y[i] += weight * k;
      sum += weight;
    }
    y[i] /= sum;
  }
  return y;
}

template <glm::length_t L>
void check_attention() {
  using Vector = glm::vec<L, float>;
  heed::Graph g;
  const heed::Tensor x = g.input("x", heed::glm_shape<Vector>({1, 1, g.extent("n", 16)}));
  g.output("y", g.attention(x, x, x).output);
  heed::Plan plan = heed::test::compiled(heed::test::open_cpu(), g);

  const std::vector<Vector> in = several<Vector>(5);
  std::vector<Vector> out(5);
  REQUIRE(plan.run({heed::glm_buffer("x", in), heed::glm_buffer("y", out)}, {{"n", 5}}) == Status::Ok);
  const auto expected = mean_shift<L>(in);
  for (size_t i = 0; i < in.size(); ++i)
    for (glm::length_t c = 0; c < L; ++c) CHECK(std::fabs(out[i][c] - expected[i][c]) < 1e-6);

  // run refuses const vectors as outputs, and memory that is too short.
  const std::vector<Vector> constant(5);
  CHECK(plan.run({heed::glm_buffer("x", in), heed::glm_buffer("y", constant)}, {{"n", 5}}) != Status::Ok);
  CHECK(plan.run({heed::glm_buffer("x", in), heed::glm_buffer("y", out)}, {{"n", 6}}) == Status::BufferTooSmall);
}

}  // namespace

TEST_CASE("glm: spans of vectors are inputs and outputs", "[glm]") {
  check_attention<2>();
  check_attention<3>();
  check_attention<4>();
}

TEST_CASE("glm: a matrix is its columns, one after another", "[glm]") {
  // y = x W^T with W [out, in]. The columns of a glm matrix m become the rows of W, so that y is v * m in glm's notation.
  const std::vector<glm::mat4x3> matrices = several<glm::mat4x3>(1);  // 4 columns of 3
  const auto whole = heed::glm_tensor("m", matrices);
  CHECK(whole.tensor().shape.size() == 3);
  heed::HostTensor weight = whole.tensor();
  weight.shape = weight.shape.subspan(1);  // [4, 3]

  heed::Graph g;
  const heed::Tensor x = g.input("x", heed::glm_shape<glm::vec3>({7}));
  g.output("y", g.matmul(x, g.weight("m", {4, 3}), {.transpose_b = true}));
  const heed::Device device = heed::test::open_cpu();
  heed::Plan plan = heed::test::compiled(device, g, heed::test::uploaded(device, std::array{weight}));
  const auto in = several<glm::vec3>(7);
  std::vector<glm::vec4> out(7);
  REQUIRE(plan.run({heed::glm_buffer("x", in), heed::glm_buffer("y", out)}) == Status::Ok);
  for (size_t i = 0; i < in.size(); ++i) CHECK(glm::length(out[i] - in[i] * matrices[0]) < 1e-6f);
}

TEST_CASE("glm: packed halves are f16", "[glm]") {
  std::vector<glm::u16vec4> halves;
  const auto exact = several<glm::vec4>(6);
  for (const glm::vec4& v : exact) halves.push_back(glm::packHalf(v));
  const auto table = heed::glm_tensor("halves", halves);
  CHECK(table.dtype == DType::F16);

  heed::Graph g;
  g.output("y", g.cast(g.weight("halves", heed::glm_shape<glm::u16vec4>({6}), DType::F16), DType::F32));
  const heed::Device device = heed::test::open_cpu();
  heed::Plan plan = heed::test::compiled(device, g, heed::test::uploaded(device, std::array{table.tensor()}));
  std::vector<glm::vec4> out(6);
  REQUIRE(plan.run({heed::glm_buffer("y", out)}) == Status::Ok);
  for (size_t i = 0; i < out.size(); ++i) CHECK(out[i] == glm::vec4(glm::unpackHalf(halves[i])));
}

TEST_CASE("glm: shapes and element types", "[glm]") {
  STATIC_REQUIRE(heed::glm_shape<glm::mat4>({2, 3}).rank == 4);
  STATIC_REQUIRE(heed::glm_dtype<glm::vec3> == DType::F32);
  STATIC_REQUIRE(heed::glm_dtype<glm::ivec2> == DType::I32);
  STATIC_REQUIRE(heed::glm_dtype<glm::u16vec3> == DType::F16);
  STATIC_REQUIRE(heed::glm_dtype<glm::u8vec4> == DType::U8);
  const std::vector<glm::u8vec4> mask(3);
  CHECK(heed::glm_buffer("m", mask).bytes == 12);
  CHECK_FALSE(heed::glm_buffer("m", mask).writable);
}
