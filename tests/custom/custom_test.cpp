// A host's passes between passes of heed.
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"

using namespace heed;

namespace {

std::vector<uint32_t> spirv(const std::string& name) {
  std::ifstream file(test::source_path("tests/custom/") + name + ".spv", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  REQUIRE(bytes.size() > 20);
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

const float* floats(const CustomBuffer& buffer) { return static_cast<const float*>(buffer.data); }

void fade_on_cpu(void* calls, const CustomCall& call) {
  ++*static_cast<int*>(calls);
  float factor = 0;
  std::memcpy(&factor, &call.push[1], sizeof factor);
  auto* y = static_cast<float*>(call.outputs[0].data);
  for (uint32_t i = 0; i < call.push[0]; ++i) y[i] = floats(call.inputs[0])[i] * factor;
}

void sum_and_difference_on_cpu(void*, const CustomCall& call) {
  const int64_t count = call.inputs[0].shape[0] * call.inputs[0].shape[1];
  const float *a = floats(call.inputs[0]), *b = floats(call.inputs[1]);
  for (int64_t i = 0; i < count; ++i) {
    static_cast<float*>(call.outputs[0].data)[i] = a[i] + b[i];
    static_cast<float*>(call.outputs[1].data)[i] = a[i] - b[i];
  }
}

constexpr uint32_t kWorkgroup[] = {64};

// volume.comp adds this at column x, row y, layer z.
uint32_t index_in_group(int64_t x, int64_t y, int64_t z, const uint32_t* group) {
  const auto rest = [](int64_t at, uint32_t size) { return static_cast<uint32_t>(at) % size; };
  return (rest(z, group[2]) * group[1] + rest(y, group[1])) * group[0] + rest(x, group[0]);
}

void volume_on_cpu(void* user, const CustomCall& call) {
  const std::span<const int64_t> shape = call.inputs[0].shape;
  size_t i = 0;
  for (int64_t z = 0; z < shape[0]; ++z)
    for (int64_t y = 0; y < shape[1]; ++y)
      for (int64_t x = 0; x < shape[2]; ++x, ++i)
        static_cast<float*>(call.outputs[0].data)[i] =
            floats(call.inputs[0])[i] + static_cast<float>(index_in_group(x, y, z, static_cast<const uint32_t*>(user)));
}

struct Fade {
  std::vector<uint32_t> words = spirv("fade");
  int cpu_calls = 0;

  Tensor operator()(Graph& g, Tensor x, const Shape& shape, float factor) {
    Dim count = 1;
    // A reshape to one dim has the product of the sizes.
    if (shape.rank == 1) count = shape[0];
    const CustomWord push[] = {
        shape.rank == 1 ? CustomWord(count) : CustomWord(g.shape(g.reshape(x, {elements(g, x)}))[0]), factor};
    const CustomOutput outputs[] = {{shape}};
    return g
        .custom({.name = "fade",
                 .spirv = words,
                 .constants = kWorkgroup,
                 .push = push,
                 .groups = {{{shape, 64}}},
                 .outputs = outputs,
                 .cpu = {fade_on_cpu, &cpu_calls}},
                {x})
        .outputs[0];
  }
  static Dim elements(Graph& g, Tensor x) {
    int64_t n = 1;
    for (int i = 0; i < g.shape(x).rank; ++i) n *= g.shape(x)[i].value;
    return n;
  }
};

std::vector<float> ramp(size_t count, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i) * step);
  return values;
}

}  // namespace

TEST_CASE("custom: a host's pass between heed's, at varying extents", "[custom]") {
  for (const ops::TestDevice& tested : ops::test_devices()) {
    INFO(tested.word);
    Fade fade;
    Device device = tested.device;
    Graph g;
    const Dim n = g.extent("n", 1000);
    const Tensor x = g.input("x", {n});
    g.push_label("scene");
    const Tensor faded = fade(g, g.scale(x, 2.0f), {n}, 0.75f);
    g.pop_label();
    g.output("y", g.add(faded, x));
    Plan plan = test::compiled(device, g);
    bool found = false;
    for (const PassInfo& pass : plan.passes()) {
      if (pass.op != "custom") continue;
      found = true;
      CHECK(pass.label == "scene.fade");
      CHECK(pass.kernel == (plan.pipeline_count() == 0 ? "cpu" : "fade"));
    }
    CHECK(found);
    for (const int64_t count : {1, 63, 64, 65, 997, 1000}) {
      const std::vector<float> input = ramp(static_cast<size_t>(count), 0.37f);
      std::vector<float> y(input.size());
      REQUIRE(plan.run({{"x", input}, {"y", y}}, {{"n", count}}) == Status::Ok);
      for (size_t i = 0; i < y.size(); ++i) REQUIRE(std::fabs(y[i] - 2.5f * input[i]) <= 1e-6f);
    }
    CHECK((fade.cpu_calls == 6) == (plan.pipeline_count() == 0));
    CHECK(ops::take_checked_messages() == "");
  }
}

// Runs only where accesses are checked (HEED_CHECK_BOUNDS, tests/drivers/with.sh). It shows that wrong accesses are reported, so that other
// tests can rely on the check.
TEST_CASE("custom: reading behind an input is found out", "[.][bounds]") {
  struct Heard {
    std::mutex mutex;
    bool out_of_bounds = false;
  } heard;
  const Log log = {[](void* user, LogLevel, const char* message) {
                     auto& to = *static_cast<Heard*>(user);
                     const std::lock_guard<std::mutex> lock(to.mutex);
                     to.out_of_bounds |= std::string(message).find("out of bounds") != std::string::npos;
                   },
                   &heard, LogLevel::Warning};
  {
    Device device = test::open_device({.select = "llvmpipe", .log = log, .validation = true});
    Fade beyond;
    beyond.words = spirv("beyond");
    Graph g;
    g.output("y", beyond(g, g.input("x", {1000}), {1000}, 0.75f));
    Plan plan = test::compiled(device, g);
    const std::vector<float> input = ramp(1000, 0.37f);
    std::vector<float> y(input.size());
    const auto is_told = [&] {
      const std::lock_guard<std::mutex> lock(heard.mutex);
      return heard.out_of_bounds;
    };
    // The layer reports from its own thread.
    for (int i = 0; i < 500 && !is_told(); ++i) {
      CHECK(plan.run({{"x", input}, {"y", y}}) == Status::Ok);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  CHECK(heard.out_of_bounds);
}

TEST_CASE("custom: two inputs, two outputs, groups in two dimensions, views as inputs", "[custom]") {
  const std::vector<uint32_t> words = spirv("sum_and_difference");
  ops::on_each([&](const ops::TestDevice& tested) {
    for (const bool keep_difference : {true, false}) {
      INFO(tested.word << ", difference kept: " << keep_difference);
      Device device = tested.device;
      Graph g;
      const Dim rows = g.extent("rows", 40), columns = 19;
      // Neither a nor b begins at the start of its memory, and b is transposed.
      const Tensor a = g.slice(g.input("a", {rows, 23}), 1, 4, 19);
      const Tensor b = g.select(g.transpose(g.input("b", {2, 19, rows}), 1, 2), 0, 1);
      const CustomWord push[] = {rows, columns};
      const CustomOutput outputs[] = {{{rows, columns}}, {{rows, columns}}};
      const CustomResult result = g.custom({.name = "sum_and_difference",
                                            .spirv = words,
                                            .push = push,
                                            .groups = {{{{columns}, 8}, {{rows}, 8}}},
                                            .outputs = outputs,
                                            .cpu = {sum_and_difference_on_cpu}},
                                           {a, b});
      g.output("sum", result.outputs[0]);
      if (keep_difference) g.output("difference", g.scale(result.outputs[1], 3.0f));
      Plan plan = test::compiled(device, g);
      for (const int64_t m : {1, 8, 9, 40}) {
        const auto at = [&](int64_t i) { return static_cast<size_t>(i); };
        const std::vector<float> va = ramp(at(m * 23), 0.7f), vb = ramp(at(2 * 19 * m), 0.3f);
        std::vector<float> sum(at(m * 19)), difference(sum.size());
        const HostBuffer buffers[] = {{"a", va}, {"b", vb}, {"sum", sum}, {"difference", difference}};
        const ExtentValue extents[] = {{"rows", m}};
        REQUIRE(plan.run(std::span(buffers).first(keep_difference ? 4 : 3), extents) == Status::Ok);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < 19; ++j) {
            const float p = va[at(i * 23 + 4 + j)], q = vb[at(19 * m + j * m + i)];
            REQUIRE(std::fabs(sum[at(i * 19 + j)] - (p + q)) <= 1e-6f);
            if (keep_difference) REQUIRE(std::fabs(difference[at(i * 19 + j)] - 3 * (p - q)) <= 4e-6f);
          }
      }
      CHECK(ops::take_checked_messages() == "");
    }
  });
}

TEST_CASE("custom: workgroups with three dimensions, whole and in pieces", "[custom]") {
  const std::vector<uint32_t> words = spirv("volume");
  // Some devices do not support 256 invocations in a workgroup, and others not along one axis.
  const uint32_t sizes[][3] = {{4, 4, 4}, {2, 1, 64}, {1, 64, 2}, {16, 8, 1}, {8, 8, 4}};
  for (const ops::TestDevice& tested : ops::test_devices())
    for (const auto& size : sizes)
      for (const double work : {0.0, 3e8}) {
        INFO(tested.word << ", " << size[0] << " x " << size[1] << " x " << size[2] << ", work " << work);
        Device device = tested.device;
        Graph g;
        const Dim depth = g.extent("depth", 9), rows = 11, columns = 13;
        const CustomWord push[] = {depth, rows, columns};
        const CustomOutput outputs[] = {{{depth, rows, columns}}};
        const std::array<CustomGroups, 3> groups = {{{{columns}, size[0]}, {{rows}, size[1]}, {{depth}, size[2]}}};
        g.output("y", g.custom({.name = "volume",
                                .spirv = words,
                                .constants = size,
                                .push = push,
                                .groups = groups,
                                .outputs = outputs,
                                .cpu = {volume_on_cpu, const_cast<uint32_t*>(size)},
                                .group_work = work},
                               {g.input("x", {depth, rows, columns})})
                          .outputs[0]);
        Plan plan;
        const Status status = device.compile(g, {}, &plan);
        const std::string said = ops::take_checked_messages();
        if (status == Status::Unsupported && size[0] * size[1] * size[2] > 128) {
          CHECK(said.find("workgroups of 256 invocations") != std::string::npos);
          continue;
        }
        INFO(said);
        REQUIRE(status == Status::Ok);
        for (const int64_t layers : {1, 4, 9}) {
          const std::vector<float> x = ramp(static_cast<size_t>(layers * 11 * 13), 0.37f);
          std::vector<float> y(x.size());
          REQUIRE(plan.run({{"x", x}, {"y", y}}, {{"depth", layers}}) == Status::Ok);
          for (int64_t i = 0; i < layers * 11 * 13; ++i) {
            const auto at = static_cast<size_t>(i);
            const auto index = static_cast<float>(index_in_group(i % 13, i / 13 % 11, i / (11 * 13), size));
            REQUIRE(y[at] == x[at] + index);
          }
        }
        CHECK(ops::take_checked_messages() == "");
      }
}

TEST_CASE("custom: dropout taken out of a strided tensor still gives the shader a contiguous one", "[custom]") {
  ops::on_each([&](Device device) {
    Fade fade;
    Graph g;
    const Tensor x = g.input("x", {3, 5});
    const Tensor dropped = g.reshape(g.dropout(g.transpose(x, 0, 1), 0.5f), {15});
    g.output("y", fade(g, dropped, {15}, 2.0f));
    Plan plan = test::compiled(device, g);
    const std::vector<float> input = ramp(15, 1.0f);
    std::vector<float> y(15);
    REQUIRE(plan.run({{"x", input}, {"y", y}}) == Status::Ok);
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 5; ++j) CHECK(y[j * 3 + i] == 2 * input[i * 5 + j]);
  });
}

TEST_CASE("custom: a position as a word, which may be 0", "[custom]") {
  const std::vector<uint32_t> words = spirv("fade");
  const CustomOutput outputs[] = {{{16}}};
  int calls = 0;
  ops::on_each([&](Device device) {
    Graph g;
    const CustomWord push[] = {g.position("count", 16), 0.5f};
    const CustomPass pass = {.name = "fade",
                             .spirv = words,
                             .constants = kWorkgroup,
                             .push = push,
                             .groups = {{{{16}, 64}}},
                             .outputs = outputs,
                             .cpu = {fade_on_cpu, &calls}};
    g.output("y", g.custom(pass, {g.input("x", {16})}).outputs[0]);
    Plan plan = test::compiled(device, g);
    const std::vector<float> input = ramp(16, 1.0f);
    for (const int64_t count : {16, 5, 0}) {
      std::vector<float> y(16);
      REQUIRE(plan.run({{"x", input}, {"y", y}}, {{"count", count}}) == Status::Ok);
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) CHECK(y[i] == 0.5f * input[i]);
    }
  });
}

TEST_CASE("custom: a pass for the other kind of device is refused by compile", "[custom]") {
  const std::vector<uint32_t> words = spirv("fade");
  const CustomWord push[] = {16u, 1.0f};
  const CustomOutput outputs[] = {{{16}}};
  int calls = 0;
  ops::on_each([&](Device device) {
    const bool cpu = device.info().kind == DeviceKind::Cpu;
    Graph g;
    CustomPass pass = {
        .name = "fade", .constants = kWorkgroup, .push = push, .groups = {{{{16}, 64}}}, .outputs = outputs};
    if (cpu)
      pass.spirv = words;
    else
      pass.cpu = {fade_on_cpu, &calls};
    g.output("y", g.custom(pass, {g.input("x", {16})}).outputs[0]);
    Plan plan;
    CHECK(device.compile(g, {}, &plan) == Status::Unsupported);
    const std::string said = ops::take_checked_messages();
    CHECK_THAT(said, holds("fade"));
    CHECK_THAT(said, holds(cpu ? "no function for the CPU" : "no SPIR-V"));
  });
}

TEST_CASE("custom: workgroups and counts of them above the device's limits are refused", "[custom]") {
  const std::vector<uint32_t> words = spirv("fade");
  const CustomWord push[] = {16u, 1.0f};
  const CustomOutput outputs[] = {{{16}}};
  for (const ops::TestDevice& tested : ops::test_devices()) {
    Device device = tested.device;
    if (device.info().kind == DeviceKind::Cpu) continue;
    INFO(tested.word);
    // Workgroup size along x, workgroup counts along y and z, and the expected message.
    struct Row {
      uint32_t workgroup;
      CustomGroups y, z;
      const char* says;
    };
    const Row rows[] = {{1u << 20, {}, {{1}, 1}, "workgroups of 1048576"},
                        {0, {}, {{1}, 1}, "workgroups of 0 along axis 0"},
                        {16, {}, {{1 << 24}, 1}, "16777216 workgroups"},
                        {16, {{UINT32_MAX, 1u << 31}, UINT32_MAX}, {}, "2147483648 workgroups"}};
    for (const Row& row : rows) {
      const uint32_t constants[] = {row.workgroup};
      Graph g;
      const std::array<CustomGroups, 3> groups = {{{}, row.y, row.z}};
      const CustomPass pass = {
          .name = "fade", .spirv = words, .constants = constants, .push = push, .groups = groups, .outputs = outputs};
      g.output("y", g.custom(pass, {g.input("x", {16})}).outputs[0]);
      Plan plan;
      CHECK(device.compile(g, {}, &plan) == Status::Unsupported);
      CHECK_THAT(ops::take_checked_messages(), holds(row.says));
    }
  }
}

TEST_CASE("custom: mistakes are the graph's, with a message", "[custom]") {
  const std::vector<uint32_t> good = spirv("fade"), four = spirv("sum_and_difference");
  const CustomOutput one[] = {{{16}}};
  const CustomOutput three[] = {{{16}}, {{16}}, {{16}}};
  const CustomWord push[] = {16u, 1.0f};
  const std::vector<CustomWord> many_words(31, CustomWord(1));
  const std::vector<uint32_t> many_constants(17, 1);
  const auto patched = [&](size_t word, uint32_t value) {
    std::vector<uint32_t> words = good;
    words[word] = value;
    return words;
  };
  const std::vector<uint32_t> truncated(good.begin(), good.end() - 1), tiny(good.begin(), good.begin() + 3);
  const std::vector<uint32_t> no_spirv = patched(0, 7), swapped = patched(0, 0x03022307),
                              newer = patched(1, 0x00010600), endless = patched(5, good[5] & 0xffffu),
                              many_ids = patched(3, 0xffffffffu);
  // Swaps the shader's input and output.
  std::vector<uint32_t> exchanged = good;
  for (size_t at = 5; at < exchanged.size(); at += exchanged[at] >> 16)
    if ((exchanged[at] & 0xffffu) == 71 && exchanged[at + 2] == 33) exchanged[at + 3] ^= 1u;
  const std::array<CustomGroups, 3> groups = {{{{16}, 64}}};
  const CustomPass base = {
      .name = "fade", .spirv = good, .constants = kWorkgroup, .push = push, .groups = groups, .outputs = one};
  const auto with = [&](auto change) {
    CustomPass pass = base;
    change(pass);
    return pass;
  };
  struct Case {
    const char* what;
    CustomPass pass;
    size_t inputs;
    const char* says;
  };
  const Case cases[] = {
      {"no name", with([](CustomPass& p) { p.name = ""; }), 1, "name"},
      {"no input", base, 0, "no input"},
      {"no output", with([](CustomPass& p) { p.outputs = {}; }), 1, "no output"},
      {"three outputs", with([&](CustomPass& p) { p.outputs = three; }), 1, "outputs: 3"},
      {"eight operands", base, 7, "8; at most 7"},
      {"constants", with([&](CustomPass& p) { p.constants = many_constants; }), 1, "17; at most 16"},
      {"push words", with([&](CustomPass& p) { p.push = many_words; }), 1, "33; at most 32"},
      {"each", with([](CustomPass& p) { p.groups[1].each = 0; }), 1, "each is 0"},
      {"groups beyond 63 bits", with([](CustomPass& p) { p.groups[2] = {{UINT32_MAX, UINT32_MAX, 4}, 2}; }), 1,
       "groups: more"},
      {"endless work", with([](CustomPass& p) { p.group_work = INFINITY; }), 1, "group_work is infinite"},
      {"nothing to run", with([](CustomPass& p) { p.spirv = {}; }), 1, "neither"},
      {"three words", with([&](CustomPass& p) { p.spirv = tiny; }), 1, "too short"},
      {"no SPIR-V", with([&](CustomPass& p) { p.spirv = no_spirv; }), 1, "no SPIR-V"},
      {"byte order", with([&](CustomPass& p) { p.spirv = swapped; }), 1, "byte order"},
      {"version", with([&](CustomPass& p) { p.spirv = newer; }), 1, "SPIR-V 1.6"},
      {"cut off", with([&](CustomPass& p) { p.spirv = truncated; }), 1, "damaged"},
      {"endless", with([&](CustomPass& p) { p.spirv = endless; }), 1, "damaged"},
      {"ids", with([&](CustomPass& p) { p.spirv = many_ids; }), 1, "damaged"},
      {"entry point", with([](CustomPass& p) { p.entry_point = "other"; }), 1, "entry point 'other'"},
      {"missing binding", with([&](CustomPass& p) { p.spirv = four; }), 1, "binding 2"},
      {"output at an input's place", with([&](CustomPass& p) { p.spirv = exchanged; }), 1, "binding 1 is output 0"},
      {"too few push constants", with([&](CustomPass& p) { p.push = std::span(push).first(1); }), 1, "push constants"},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    Graph g;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < c.inputs; ++i) inputs.push_back(g.input(std::string("x").append(std::to_string(i)), {16}));
    CHECK_FALSE(g.custom(c.pass, inputs).outputs[0].valid());
    CHECK(g.status() == Status::InvalidArgument);
    CHECK_THAT(std::string(g.error()), holds(c.says));
    INFO(g.error());
    CHECK(g.error()[0] != 0);
  }
  Graph g;
  CHECK_FALSE(g.custom(base, {Tensor{}}).outputs[0].valid());
  CHECK(g.status() == Status::InvalidArgument);
  Graph wide;
  const Tensor x = wide.input("x", {wide.extent("n", 1 << 30)});
  const CustomWord size[] = {wide.shape(wide.concat({x, x, x, x}, 0))[0], 1.0f};
  CustomPass sized = base;
  sized.push = size;
  CHECK_FALSE(wide.custom(sized, {x}).outputs[0].valid());
  CHECK_THAT(std::string(wide.error()), holds("4294967296 does not fit into 32 bits"));
  Graph fine;
  CHECK(fine.custom(base, {fine.input("x", {16})}).outputs[0].valid());
  CHECK(fine.status() == Status::Ok);
}

TEST_CASE("custom: no damage to SPIR-V gets past as a crash", "[custom]") {
  const std::vector<uint32_t> good = spirv("sum_and_difference");
  const CustomOutput outputs[] = {{{2, 2}}, {{2, 2}}};
  const CustomWord push[] = {2u, 2u};
  uint32_t state = 1, refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<uint32_t> words = good;
    for (int i = 0; i < 1 + trial % 3; ++i) {
      state = state * 1664525u + 1013904223u;
      words[(state >> 8) % words.size()] ^= 1u << (state & 31u);
    }
    Graph g;
    const Tensor a = g.input("a", {2, 2}), b = g.input("b", {2, 2});
    (void)g.custom({.name = "damaged", .spirv = words, .push = push, .outputs = outputs}, {a, b});
    refused += g.status() != Status::Ok;
  }
  CHECK(refused > 100);
}
