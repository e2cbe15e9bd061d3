// A host's pass from GLSL source.
#include <cstring>
#include <heed/glsl.hpp>

#include "catch.hpp"
#include "ops/devices.hpp"

using namespace heed;

namespace {

constexpr const char* kSource = R"(#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint x_offset, y_offset, count; } p;
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < p.count) y[p.y_offset + i] = POWER(x[p.x_offset + i]);
}
)";

}  // namespace

TEST_CASE("glsl: source with defines becomes a pass", "[custom][glsl]") {
  const GlslDefine defines[] = {{"POWER(v)", "((v) * (v) * (v))"}};
  std::vector<uint32_t> words;
  REQUIRE(compile_glsl(kSource, {.defines = defines}, &words) == Status::Ok);
  for (const ops::TestDevice& tested : ops::test_devices()) {
    Device device = tested.device;
    if (device.info().kind == DeviceKind::Cpu) continue;
    INFO(tested.word);
    Graph g;
    const Dim n = g.extent("n", 100);
    const CustomWord push[] = {n};
    const CustomOutput outputs[] = {{{n}}};
    g.output(
        "y",
        g.custom({.name = "cube", .spirv = words, .push = push, .groups = {{{{n}, 32}}}, .outputs = outputs},
                 {g.input("x", {n})})
            .outputs[0]);
    Plan plan;
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    const std::vector<float> x = {1, -2, 3};
    std::vector<float> y(3);
    REQUIRE(plan.run({{"x", x}, {"y", y}}, {{"n", 3}}) == Status::Ok);
    CHECK(y == std::vector<float>{1, -8, 27});
    CHECK(ops::take_checked_messages() == "");
  }
}

TEST_CASE("glsl: mistakes are told with their lines", "[custom][glsl]") {
  std::string said;
  const Log log = {
      [](void* text, LogLevel, const char* message) { *static_cast<std::string*>(text) += message; }, &said};
  std::vector<uint32_t> words = {7};
  CHECK(compile_glsl(kSource, {.name = "cube.comp", .log = log}, &words) == Status::InvalidArgument);
  CHECK(said.find("cube.comp:8: error") != std::string::npos);
  CHECK(words == std::vector<uint32_t>{7});
  CHECK(compile_glsl("", {}, &words) == Status::InvalidArgument);
  CHECK(compile_glsl(kSource, {}, nullptr) == Status::InvalidArgument);
}
