// Passes whose kernel is the host's GLSL source.
#include <heed/glsl.hpp>

#include "harness/devices.hpp"
#include "search/support.hpp"

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

void cube_on_cpu(void*, const CustomCall& call) {
  const auto* x = static_cast<const float*>(call.inputs[0].data);
  for (uint32_t i = 0; i < call.push[0]; ++i) static_cast<float*>(call.outputs[0].data)[i] = x[i] * x[i] * x[i];
}

// y = (2 x)^3 - x, with the host's pass between two of heed's.
Graph cube_graph(const std::vector<uint32_t>& words, std::string_view entry_point = "main") {
  Graph g;
  const Dim n = g.extent("n", 100);
  const CustomWord push[] = {n};
  const CustomOutput outputs[] = {{{n}}};
  const Tensor x = g.input("x", {n});
  const Tensor cube = g.custom({.name = "cube",
                                .spirv = words,
                                .entry_point = entry_point,
                                .push = push,
                                .groups = {{{{n}, 32}}},
                                .outputs = outputs,
                                .cpu = {cube_on_cpu, nullptr}},
                               {g.scale(x, 2.0f)})
                          .outputs[0];
  g.output("y", g.add(cube, g.scale(x, -1.0f)));
  return g;
}

std::vector<float> run(Device device, const Graph& g, const std::vector<float>& x) {
  Plan plan = test::compiled(device, g);
  std::vector<float> y(x.size());
  REQUIRE(plan.run({{"x", x}, {"y", y}}, {{"n", static_cast<int64_t>(x.size())}}) == Status::Ok);
  return y;
}

// The message of compile_glsl for an invalid source.
std::string refused(const std::string& source) {
  std::string said;
  const Log log = {[](void* text, LogLevel level, const char* message) {
                     CHECK(level == LogLevel::Error);
                     *static_cast<std::string*>(text) += message;
                   },
                   &said};
  const GlslDefine defines[] = {{"POWER(v)", "(v)"}};
  std::vector<uint32_t> words = {7};
  CHECK(compile_glsl(source, {.name = "cube.comp", .defines = defines, .log = log}, &words) == Status::InvalidArgument);
  CHECK(words == std::vector<uint32_t>{7});
  return said;
}

}  // namespace

TEST_CASE("glsl: source with defines becomes a pass that gives what the CPU gives", "[custom][glsl]") {
  const GlslDefine defines[] = {{"POWER(v)", "((v) * (v) * (v))"}};
  std::vector<uint32_t> words, plain;
  REQUIRE(compile_glsl(kSource, {.defines = defines}, &words) == Status::Ok);
  REQUIRE(compile_glsl(kSource, {.defines = defines, .optimize = false}, &plain) == Status::Ok);
  CHECK(words.size() < plain.size());
  Device cpu = test::open_cpu();
  for (const size_t count : {1, 33, 100}) {
    std::vector<float> x(count);
    for (size_t i = 0; i < count; ++i) x[i] = 0.37f * static_cast<float>(i) - 11.0f;
    const std::vector<float> want = run(cpu, cube_graph(words), x);
    for (size_t i = 0; i < count; ++i) {
      const double v = static_cast<double>(x[i]);
      CHECK(std::fabs(static_cast<double>(want[i]) - (8 * v * v * v - v)) <= 1e-6 * std::fabs(8 * v * v * v) + 1e-6);
    }
    for (const ops::TestDevice& tested : ops::test_devices()) {
      INFO(tested.word << ", " << count);
      for (const std::vector<uint32_t>& made : {words, plain}) {
        const std::vector<float> y = run(tested.device, cube_graph(made), x);
        for (size_t i = 0; i < count; ++i) CHECK(std::fabs(y[i] - want[i]) <= 1e-6f * std::fabs(want[i]) + 1e-6f);
      }
      CHECK(ops::take_checked_messages() == "");
    }
  }
}

TEST_CASE("glsl: mistakes are told with their lines", "[custom][glsl]") {
  struct Case {
    const char *from, *to;  // line number in kSource
    const char* said;
  };
  const Case cases[] = {
      {"POWER(x[p.x_offset + i])", "power(x[p.x_offset + i])", "cube.comp:8: error: 'power'"},
      {"if (i < p.count)", "if (i < p.count", "cube.comp:8: error"},
      {"void main()", "void other()", "ntry point"},
      {"#version 450", "#version 450\n#include \"other.glsl\"", "cube.comp:2: error: '#include'"},
      {"x_offset, y_offset, count;", "x_offset, y_offset;", "cube.comp:8: error: 'count'"},
      {"gl_GlobalInvocationID", "gl_VertexIndex", "cube.comp:7: error"},
  };
  for (const Case& c : cases) {
    INFO(c.to);
    const std::string said = refused(test::replaced(kSource, c.from, c.to));
    INFO(said);
    CHECK(said.find("compile_glsl: ") == 0);
    CHECK_THAT(said, holds(c.said));
  }
  for (const char* source : {"", "\xff\xfe not a shader", "#version 110\nvoid main() {}", "# version\n", "#"}) {
    INFO(source);
    CHECK(refused(source) ==
          "compile_glsl: cube.comp:1: error: no #version with compute shaders, such as #version 450");
  }
  CHECK_THAT(refused("#version 450"), holds("ntry point"));
  CHECK_THAT(refused("#version 450\n\xff\xfe"), holds("cube.comp:2: error"));
  CHECK(compile_glsl(kSource, {}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("glsl: a pass with an entry point that the shader lacks is refused", "[custom][glsl]") {
  const GlslDefine defines[] = {{"POWER(v)", "(v)"}};
  std::vector<uint32_t> words;
  REQUIRE(compile_glsl(kSource, {.defines = defines}, &words) == Status::Ok);
  const Graph g = cube_graph(words, "start");
  CHECK(g.status() != Status::Ok);
  CHECK_THAT(std::string(g.error()), holds("start"));
}
