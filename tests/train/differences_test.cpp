// Gradients against central differences of the references in double, on random graphs: all operations, masks, dropout on, extents below
// their maxima.
//   HEED_RANDOM_CASES=N, HEED_RANDOM_CASE=N, HEED_RANDOM_SEED
#include <cmath>

#include "graph/graph_data.hpp"
#include "harness/catch.hpp"
#include "harness/environment.hpp"
#include "train/learner.hpp"

namespace heed::train_tests {
namespace {

constexpr int64_t kCases = 60;
constexpr double kStep = 1e-6;
// The error of f32 gradients, relative to their own size and to the largest gradient in the graph.
constexpr double kRelative = 2e-3, kAbsolute = 2e-4;

struct Differentiated {
  std::vector<size_t> leaves;  // requested gradients
  std::vector<std::vector<float>> gradients;
};

std::vector<std::byte> bytes_of(const Array& x, DType dtype) {
  std::vector<std::byte> bytes;
  const auto append = [&](auto v) {
    const auto* from = reinterpret_cast<const std::byte*>(&v);
    bytes.insert(bytes.end(), from, from + sizeof v);
  };
  for (const double v : x.value) {
    if (dtype == DType::F32) append(static_cast<float>(v));
    if (dtype == DType::I32) append(static_cast<int32_t>(v));
    if (dtype == DType::U8) append(static_cast<uint8_t>(v));
  }
  return bytes;
}

// Gradients on a device of all leaves in `asked`. Empty, with a failed check, if there are none.
std::string run(Device device, const Learner& learner, Differentiated* found) {
  Graph g = learner.graph;
  std::vector<train::Upstream> outputs;
  for (const Learner::Output& output : learner.outputs) {
    // The input for the gradient exists already, under that name.
    outputs.push_back({learner.tensor_of(output.value), {}});
    for (const detail::NamedTensor& input : g.data().inputs)
      if (input.name == output.upstream) outputs.back().gradient = {input.tensor};
  }
  std::vector<Tensor> of;
  for (const size_t leaf : found->leaves) of.push_back(learner.leaves[leaf].tensor);
  const std::vector<Tensor> gradients = train::gradients(g, outputs, of);
  std::vector<HostTensor> weights;
  std::vector<std::vector<std::byte>> memory;
  for (const Leaf& leaf : learner.leaves) memory.push_back(bytes_of(leaf.array, DType::F32));
  for (size_t i = 0; i < learner.leaves.size(); ++i)
    if (learner.leaves[i].is_weight)
      weights.push_back({learner.leaves[i].name, DType::F32, learner.leaves[i].array.shape, memory[i]});
  for (size_t i = 0; i < of.size(); ++i) g.output("d" + std::to_string(i), gradients[i]);
  if (g.status() != Status::Ok) return g.error();
  Weights uploaded;
  Plan plan;
  if (device.upload(weights, &uploaded) != Status::Ok) return "upload";
  if (device.compile(g, uploaded, &plan, {.training = true}) != Status::Ok)
    return "compile: " + ops::take_checked_messages();
  found->gradients.clear();
  std::vector<HostBuffer> buffers;
  std::vector<std::vector<std::byte>> given;
  for (const Given& one : learner.given) given.push_back(bytes_of(one.array, one.dtype));
  for (size_t i = 0; i < given.size(); ++i) buffers.emplace_back(learner.given[i].name, given[i]);
  for (size_t i = 0; i < learner.leaves.size(); ++i)
    if (!learner.leaves[i].is_weight) buffers.emplace_back(learner.leaves[i].name, memory[i]);
  for (size_t i = 0; i < of.size(); ++i)
    found->gradients.emplace_back(static_cast<size_t>(learner.leaves[found->leaves[i]].array.size()), NAN);
  std::vector<std::string> names;
  for (size_t i = 0; i < of.size(); ++i) names.push_back("d" + std::to_string(i));
  for (size_t i = 0; i < of.size(); ++i) buffers.emplace_back(names[i], found->gradients[i]);
  const Status status = plan.run(buffers, learner.extents, {.seed = learner.dropout_seed});
  if (status != Status::Ok) return "run: " + ops::take_checked_messages();
  return "";
}

// Compares a gradient with differences along some directions: all elements at once, and single elements.
std::string compare(const Learner& learner, size_t leaf, const std::vector<float>& gradient, double scale,
                    ops::Random& random) {
  const Array& at = learner.leaves[leaf].array;
  for (int64_t direction = 0; direction < 4; ++direction) {
    Array up = at, down = at;
    double along = 0.0, squares = 0.0;
    const int64_t single = random.below(at.size());
    for (int64_t i = 0; i < at.size(); ++i) {
      if (direction > 0 && i != single) continue;
      const double sign = direction > 0 || random.coin() ? 1.0 : -1.0;
      up.at(i) += sign * kStep;
      down.at(i) -= sign * kStep;
      const double part = sign * static_cast<double>(gradient[static_cast<size_t>(i)]);
      along += part;
      squares += part * part;
    }
    const double difference = (learner.loss(leaf, up) - learner.loss(leaf, down)) / (2.0 * kStep);
    if (std::abs(difference - along) <= kRelative * std::sqrt(squares) + kAbsolute * scale) continue;
    return "gradient of " + learner.leaves[leaf].name + (direction > 0 ? "[" + std::to_string(single) + "]" : "") +
           " along a direction is " + std::to_string(along) + ", differences say " + std::to_string(difference);
  }
  return "";
}

}  // namespace

TEST_CASE("gradients are what central differences say, on every device", "[train][random]") {
  const int64_t cases = test::number_from("HEED_RANDOM_CASES", kCases), one = test::number_from("HEED_RANDOM_CASE", -1);
  const uint64_t seed = ops::random_seed();
  std::map<std::string, int> ran;
  int directions = 0;
  for (int64_t number = one < 0 ? 0 : one; number < (one < 0 ? cases : one + 1); ++number) {
    ops::Random random(seed + static_cast<uint64_t>(number) * 7919);
    const Learner learner(random.next());
    if (learner.outputs.empty()) continue;
    Differentiated found;
    for (size_t leaf = 0; leaf < learner.leaves.size(); ++leaf)
      if (!random.one_in(4)) found.leaves.push_back(leaf);
    if (found.leaves.empty()) found.leaves.push_back(0);
    for (const ops::TestDevice& device : ops::test_devices()) {
      INFO("HEED_RANDOM_SEED=" << seed << " HEED_RANDOM_CASE=" << number << " on " << device.word << "\n"
                               << learner.text);
      const std::string wrong = run(device.device, learner, &found);
      REQUIRE(wrong == "");
      double scale = 1.0;
      for (const std::vector<float>& gradient : found.gradients)
        for (const float v : gradient) scale = std::max(scale, std::abs(static_cast<double>(v)));
      for (size_t i = 0; i < found.leaves.size(); ++i) {
        ops::Random directions_of(seed + i);
        CHECK(compare(learner, found.leaves[i], found.gradients[i], scale, directions_of) == "");
        directions += 4;
      }
      ++ran[device.word];
    }
  }
  for (const auto& [word, count] : ran) std::printf("  %s: gradients of %d graphs\n", word.c_str(), count);
  std::printf("  %d directions\n", directions);
  REQUIRE(!ran.empty());
}

}  // namespace heed::train_tests
