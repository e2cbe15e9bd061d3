#include "cpu/support.hpp"

// Makes a failed allocation return null, as without sanitizers, instead of ending the program.
#ifdef HEED_SANITIZED
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace heed::cpu_test {
TEST_CASE("the CPU device says what it is", "[cpu]") {
  const Device device = test::open_cpu();
  CHECK(device.info().word == "cpu");
  CHECK(device.info().kind == DeviceKind::Cpu);
  CHECK_FALSE(device.info().name.empty());
  CHECK(device.info().usable);
}

TEST_CASE("an option names the instructions", "[cpu]") {
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) {
    const std::string words = std::string("with ") + kernels.name + " instructions";
    CHECK_THAT(test::open_cpu({.cpu_instructions = kernels.name}).info().reason, holds(words));
    std::vector<DeviceInfo> listed;
    REQUIRE(Device::list({.cpu_instructions = kernels.name}, &listed) == Status::Ok);
    CHECK_THAT(listed.back().reason, holds(words));
  }
  test::Messages messages;
  const Device device = test::open_cpu({.log = messages.log(LogLevel::Warning), .cpu_instructions = "mmx"});
  CHECK_THAT(messages.text, holds("'mmx'"));
  CHECK_THAT(messages.text, holds(cpu::supported_kernels().front().name));
}

TEST_CASE("names the processor's instruction sets, for scripts", "[.][sets]") {
  std::printf("instruction sets =");
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) std::printf(" %s", kernels.name);
  std::printf("\n");
}

TEST_CASE("host memory that is not aligned goes through a copy", "[cpu]") {
  Graph g;
  g.output("y", g.scale(g.input("x", {100}), 2.0f));
  Plan plan = test::compiled(test::open_cpu(), g);
  const std::vector<float> x = floats({100}, 1);
  std::vector<std::byte> in(401), out(401 + 8, std::byte{7});
  std::memcpy(in.data() + 1, x.data(), 400);
  REQUIRE(plan.run({{"x", std::span<const std::byte>(in).subspan(1)},
                    {"y", std::span<std::byte>(out).subspan(1, 400)}}) == Status::Ok);
  std::vector<float> y(100);
  std::memcpy(y.data(), out.data() + 1, 400);
  for (size_t i = 0; i < 100; ++i) CHECK(y[i] == 2.0f * x[i]);
  for (size_t i = 401; i < out.size(); ++i) CHECK(out[i] == std::byte{7});
  CHECK(out[0] == std::byte{7});
}

TEST_CASE("a plan tells the dims of inputs and outputs at a run's extents", "[cpu]") {
  Graph g;
  const Dim rows = g.extent("rows", 8), past = g.position("past", 4);
  const Tensor x = g.input("x", {rows, 6});
  g.output("halves", g.transpose(g.reshape(x, {g.dim_product(rows, 2), 3}), 0, 1));
  g.output("last", g.mean(g.concat({x, g.input("kept", {g.sum(past, 1), 6})}, 0), 1));
  test::Messages messages;
  const Plan plan = test::compiled(test::open_cpu({.log = messages.log(LogLevel::Error)}), g);
  std::vector<int64_t> dims;
  const std::vector<ExtentValue> extents = {{"rows", 5}, {"past", 2}};
  const auto dims_of = [&](std::string_view name) {
    REQUIRE(plan.find_dims(name, extents, &dims) == Status::Ok);
    return dims;
  };
  CHECK(dims_of("x") == std::vector<int64_t>{5, 6});
  CHECK(dims_of("halves") == std::vector<int64_t>{3, 10});
  CHECK(dims_of("kept") == std::vector<int64_t>{3, 6});
  CHECK(dims_of("last") == std::vector<int64_t>{8});
  REQUIRE(plan.find_dims("last", std::vector<ExtentValue>{{"rows", 8}}, &dims) == Status::Ok);
  CHECK(dims == std::vector<int64_t>{9});
  CHECK(plan.find_dims("y", extents, &dims) == Status::NotFound);
  CHECK_THAT(messages.text, holds("no input or output 'y'"));
  CHECK(plan.find_dims("x", std::vector<ExtentValue>{{"rows", 9}}, &dims) == Status::ExtentOutOfRange);
  CHECK(plan.find_dims("x", {}, &dims) == Status::ExtentOutOfRange);
  CHECK(plan.find_dims("x", extents, nullptr) == Status::InvalidArgument);
  CHECK(Plan().find_dims("x", extents, &dims) == Status::InvalidArgument);
  CHECK(dims == std::vector<int64_t>{9});
}

TEST_CASE("an output may share memory with an input", "[cpu]") {
  Graph g;
  const Tensor x = g.input("x", {40, 40});
  g.output("y", g.matmul(x, x));
  Plan plan = test::compiled(test::open_cpu(), g);
  std::vector<float> shared = floats({40, 40}, 2), expected(1600);
  REQUIRE(plan.run({{"x", shared}, {"y", expected}}) == Status::Ok);
  REQUIRE(plan.run({{"x", shared}, {"y", shared}}) == Status::Ok);
  CHECK(shared == expected);
}

TEST_CASE("buffers that cannot be meant are refused", "[cpu]") {
  test::Messages messages;
  Device device = test::open_cpu({.log = messages.log(LogLevel::Error)});
  Graph g;
  const Tensor x = g.input("x", {4});
  g.output("twice", g.scale(x, 2.0f));
  g.output("half", g.scale(x, 0.5f));
  Plan plan = test::compiled(device, g);
  const std::vector<float> floats = {1, 2, 3, 4};
  const std::vector<int32_t> integers = {1, 2, 3, 4};
  std::vector<float> y(8);
  const std::span<float> low = std::span(y).first(4), high = std::span(y).last(4);
  CHECK(plan.run({{"x", integers}, {"twice", low}, {"half", high}}) == Status::DTypeMismatch);
  CHECK_THAT(messages.text, holds("4-byte integer elements"));
  CHECK(plan.run({{"x", floats}, {"twice", low}, {"half", std::span(y).subspan(3, 4)}}) == Status::InvalidArgument);
  CHECK_THAT(messages.text, holds("'twice' and 'half' overlap"));
  CHECK(plan.run({{"x", floats}, {"twice", low}, {"half", high}}) == Status::Ok);

  Weights weights;
  const int64_t shape[] = {4};
  const HostTensor null = {"w", DType::F32, shape, std::span(static_cast<const std::byte*>(nullptr), 16)};
  CHECK(device.upload({&null, 1}, &weights) == Status::InvalidArgument);
  CHECK_THAT(messages.text, holds("'w' is null"));
}

TEST_CASE("an id outside of the table is named", "[cpu]") {
  test::Messages messages;
  const Device device = test::open_cpu({.log = messages.log()});
  Graph g;
  const std::vector<float> table = floats({5, 3}, 3);
  g.push_label("decoder");
  const Tensor rows =
      g.embedding(g.constant("table", {5, 3}, std::span<const float>(table)), g.input("ids", {4}, DType::I32));
  g.pop_label();
  g.output("y", rows);
  Plan plan = test::compiled(Device(device), g);
  const std::vector<int32_t> ids = {4, 0, 99, -3};
  std::vector<float> y(12, 7.0f);
  CHECK(plan.run({{"ids", ids}, {"y", y}}) == Status::IndexOutOfRange);
  INFO(messages.text);
  CHECK_THAT(messages.text, holds("decoder.embedding"));
  CHECK_THAT(messages.text, holds("id 99 at position 2"));
  CHECK_THAT(messages.text, holds("5 rows"));
  CHECK(y[0] == table[12]);
  CHECK(y[6] == 0.0f);
  CHECK(y[11] == 0.0f);
}

TEST_CASE("passes and their times", "[cpu]") {
  Device device = test::open_cpu();
  Plan plan = test::compiled(device, network(), {}, {.timestamps = true});
  Plan silent = test::compiled(device, network());
  std::vector<PassTime> times;
  CHECK(silent.timings(&times) == Status::Unsupported);
  CHECK(plan.timings(&times) == Status::InvalidArgument);  // nothing has run
  REQUIRE(run_network(plan, 150, 0).status == Status::Ok);
  REQUIRE(plan.timings(&times) == Status::Ok);
  const std::vector<PassInfo> passes = plan.passes();
  REQUIRE(times.size() == passes.size());
  double flops = 0.0, milliseconds = 0.0;
  for (size_t i = 0; i < passes.size(); ++i) {
    CHECK(passes[i].kernel == "cpu");
    CHECK_FALSE(passes[i].why.empty());
    flops += passes[i].flops;
    milliseconds += times[i].milliseconds;
  }
  CHECK(flops > 0.0);
  CHECK(milliseconds > 0.0);
  CHECK(plan.scratch_bytes() > 0);
}

TEST_CASE("memory that the host does not have is a status", "[cpu]") {
  test::Messages messages;
  Device device = test::open_cpu({.log = messages.log()});
  Graph g;
  // Eight matmul results of 2^46 bytes at once: more than the address space of a process.
  constexpr int64_t kSide = int64_t{1} << 22;
  const Tensor a = g.input("a", {kSide, 1}), b = g.input("b", {1, kSide});
  std::vector<Tensor> products;
  for (int i = 0; i < 8; ++i) products.push_back(g.matmul(g.scale(a, static_cast<float>(i + 2)), b));
  for (const Tensor product : products)
    g.output(std::string("y").append(std::to_string(product.id)), g.mean(product, 0));
  Plan plan;
  CHECK(device.compile(g, {}, &plan) == Status::OutOfMemory);
  INFO(messages.text);
  CHECK_THAT(messages.text, holds("bytes"));
  CHECK_FALSE(plan.valid());
}

}  // namespace heed::cpu_test
