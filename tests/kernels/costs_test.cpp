// Compares the costs of kernels with what compilers for GPUs say of them: tests/gpu/*.csv.
#include <fstream>
#include <sstream>

#include "harness/source_path.hpp"
#include "kernels/lowered.hpp"
#include "kernels/matmul/matmul.hpp"

namespace heed::kernel_tests::costs_test {
namespace {

using Tile = std::pair<uint32_t, uint32_t>;  // rows, columns

// The cost, for an element of a tile, of each kernel that could run a product.
std::map<std::string, std::map<Tile, double>> costs_of_elements() {
  Capabilities device = device_with_units();
  device.tuning = std::make_shared<Tuning>(Tuning{{}, true});
  std::map<std::string, std::map<Tile, double>> costs;
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Graph g;
    g.output("y", g.linear(g.input("x", {500, 768}, dtype), g.weight("w", {768, 768}, dtype)));
    Lowered lowered(g, false, device);
    const KernelList kernels = lowered.selected(Op::Matmul);
    for (uint32_t i = 0; i < kernels.count; ++i) {
      const Traits& traits = kernels.uses[i].traits;
      if (kernels.uses[i].role != KernelUse::Role::Whole) continue;
      costs[kernel_name(kernels.uses[i].key)][{traits.rows, traits.columns}] =
          traits.group / (double{1} * traits.rows * traits.columns);
    }
  }
  return costs;
}

struct Compiled {
  std::string of;  // names compiler, kernel, example, and all constants but the tile's
  std::string kernel;
  Tile tile;
  double cycles = 0;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<Compiled> compiled_products(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  REQUIRE(std::getline(file, line));
  const std::vector<std::string> names = split(line, ',');
  const auto cycles = static_cast<size_t>(std::find(names.begin(), names.end(), "cycles") - names.begin());
  REQUIRE(cycles < names.size());
  std::vector<Compiled> products;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, ',');
    if (!fields[1].starts_with("matmul_")) continue;
    const std::vector<std::string> constants = split(fields[2], ' ');
    using namespace kernels::matmul;
    const auto number = [&](size_t i) { return static_cast<uint32_t>(std::stoul(constants[i])); };
    // Compilers count the loop over fragments most in kernels for aligned 16-bit operands on matrix units, and unroll it where a
    // tile is small. The kernels for other operands have the same tiles and costs, and are compared.
    if (fields[1].ends_with("16_matrix") && (number(Spec::FLAGS) & HEED_MATMUL_A_VEC4) != 0) continue;
    products.push_back({fields[0] + "; " + fields[1] + "; " + fields[3] + "; flags " + constants[Spec::FLAGS],
                        fields[1],
                        {number(Spec::BM), number(Spec::BN)},
                        std::stod(fields[cycles])});
  }
  return products;
}

TEST_CASE("products: a tile that costs less for an element takes fewer cycles for it, too", "[kernels]") {
  const auto costs = costs_of_elements();
  int compared = 0;
  // Qualcomm's cycles do not follow the work of a tile.
  for (const char* name : {"amd", "nvidia", "apple"}) {
    const auto products = compiled_products(test::source_path("tests/gpu/") + std::string(name) + "_isa.csv");
    for (const Compiled& a : products)
      for (const Compiled& b : products) {
        const auto kernel = costs.find(a.kernel);
        if (a.of != b.of || kernel == costs.end()) continue;
        const auto cost_a = kernel->second.find(a.tile), cost_b = kernel->second.find(b.tile);
        if (cost_a == kernel->second.end() || cost_b == kernel->second.end() || cost_a->second >= cost_b->second)
          continue;
        ++compared;
        INFO(a.of << ": " << a.tile.first << "x" << a.tile.second << " and " << b.tile.first << "x" << b.tile.second);
        CHECK(a.cycles / (a.tile.first * a.tile.second) < b.cycles / (b.tile.first * b.tile.second));
      }
  }
  CHECK(compared > 1000);
}

}  // namespace
}  // namespace heed::kernel_tests::costs_test
