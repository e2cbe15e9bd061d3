// The table of `heed bench --passes`, and that plans on every device report the same fewest bytes.
#include "bench/passes.hpp"
#include "harness/devices.hpp"
#include "harness/setup.hpp"

using namespace heed;

namespace {

PassInfo pass(const char* label, uint32_t dispatches, double bytes, double fewest) {
  PassInfo info;
  info.label = label, info.op = "matmul", info.kernel = "kernel";
  info.dispatches = dispatches, info.bytes = bytes, info.fewest_bytes = fewest;
  return info;
}

}  // namespace

TEST_CASE("passes: what each moves, and the total", "[trace]") {
  const std::vector<PassInfo> passes = {pass("first", 1, 3e6, 2e6), pass("inner", 2, 1.5e6, 0),
                                        pass(std::string(60, 'x').append("last").c_str(), 1, 1e6, 1e6)};
  const PassInfo total = program::total_of(passes);
  CHECK(total.dispatches == 4);
  CHECK(total.bytes == 5.5e6);
  CHECK(total.fewest_bytes == 3e6);
  CHECK(total.label == "total of 3 passes");
  CHECK(program::times_fewest(passes[0]) == 1.5);
  CHECK(program::times_fewest(passes[1]) == 0);
  CHECK(program::times_fewest(program::total_of({})) == 0);

  const std::string table = program::table_of(passes);
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = table.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(table.substr(at, end - at));
  REQUIRE(lines.size() == 5);
  const auto has = [&](size_t i, const char* text) { return lines[i].find(text) != std::string::npos; };
  CHECK((has(1, "first") && has(1, " 3.000 ") && has(1, " 2.000 ") && has(1, " 1.50 ")));
  CHECK((has(2, " 1.500 ") && has(2, " 0.000 ") && has(2, " - ")));
  CHECK((has(3, "xxlast matmul") && lines[3].size() == lines[1].size()));
  CHECK((has(4, "total of 3 passes") && has(4, " 5.500 ") && has(4, " 3.000 ") && has(4, " 1.83 ")));
}

TEST_CASE("passes: plans of a graph have the same fewest bytes everywhere", "[trace]") {
  Graph g;
  const Tensor x = g.input("x", {64, 4096});
  g.output("y", g.softmax(g.matmul(x, g.input("b", {4096, 16}))));
  for (const ops::TestDevice& tested : ops::test_devices()) {
    Device device = tested.device;
    Plan plan = test::compiled(device, g);
    const PassInfo total = program::total_of(plan.passes());
    INFO(tested.word);
    CHECK(total.fewest_bytes == 4.0 * (64 * 4096 + 4096 * 16 + 64 * 16));
    // The matmul's result is stored between the passes, and so are partial sums if k is split.
    CHECK(total.bytes >= total.fewest_bytes + 4.0 * 2 * 64 * 16);
  }
}
