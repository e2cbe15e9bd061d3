#include <cstdio>
#include <cstring>

#include "catch.hpp"
#include "cpu/kernels.hpp"
#include "cpu/support.hpp"
#include "environment.hpp"

// An allocation that cannot be had is then null, as without sanitizers, and not the end of the program.
#ifdef __SANITIZE_ADDRESS__
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace heed::cpu_test {
namespace {

Device cpu_device(Log log = {}) {
  Device device;
  REQUIRE(Device::open({.select = "cpu", .log = log}, &device) == Status::Ok);
  return device;
}

void keep_last(void* user, LogLevel, const char* message) { *static_cast<std::string*>(user) = message; }

}  // namespace

TEST_CASE("the CPU device says what it is", "[cpu]") {
  const Device device = cpu_device();
  CHECK(device.info().word == "cpu");
  CHECK(device.info().kind == DeviceKind::Cpu);
  CHECK_FALSE(device.info().name.empty());
  CHECK(device.info().usable);
}

TEST_CASE("the environment limits the instructions", "[cpu]") {
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) {
    const test::SetVariable target("HEED_CPU_TARGET", kernels.name);
    CHECK(cpu_device().info().reason.find(std::string("with ") + kernels.name) != std::string::npos);
  }
  std::string message;
  const test::SetVariable target("HEED_CPU_TARGET", "mmx");
  const Device device = cpu_device({keep_last, &message, LogLevel::Warning});
  INFO(message);
  CHECK(message.find("'mmx'") != std::string::npos);
  CHECK(message.find(cpu::supported_kernels().front().name) != std::string::npos);
}

TEST_CASE("names the processor's instruction sets, for scripts", "[.][sets]") {
  std::printf("instruction sets =");
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) std::printf(" %s", kernels.name);
  std::printf("\n");
}

TEST_CASE("host memory that is not aligned goes through a copy", "[cpu]") {
  Graph g;
  g.output("y", g.scale(g.input("x", {100}), 2.0f));
  Plan plan;
  REQUIRE(cpu_device().compile(g, {}, &plan) == Status::Ok);
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

TEST_CASE("an output may share memory with an input", "[cpu]") {
  Graph g;
  const Tensor x = g.input("x", {40, 40});
  g.output("y", g.matmul(x, x));
  Plan plan;
  REQUIRE(cpu_device().compile(g, {}, &plan) == Status::Ok);
  std::vector<float> shared = floats({40, 40}, 2), expected(1600);
  REQUIRE(plan.run({{"x", shared}, {"y", expected}}) == Status::Ok);
  REQUIRE(plan.run({{"x", shared}, {"y", shared}}) == Status::Ok);
  CHECK(shared == expected);
}

TEST_CASE("buffers that cannot be meant are refused", "[cpu]") {
  std::string message;
  Device device = cpu_device({keep_last, &message, LogLevel::Error});
  Graph g;
  const Tensor x = g.input("x", {4});
  g.output("twice", g.scale(x, 2.0f));
  g.output("half", g.scale(x, 0.5f));
  Plan plan;
  REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
  const std::vector<float> floats = {1, 2, 3, 4};
  const std::vector<int32_t> integers = {1, 2, 3, 4};
  std::vector<float> y(8);
  const std::span<float> low = std::span(y).first(4), high = std::span(y).last(4);
  CHECK(plan.run({{"x", integers}, {"twice", low}, {"half", high}}) == Status::DTypeMismatch);
  CHECK(message.find("4-byte integer elements") != std::string::npos);
  CHECK(plan.run({{"x", floats}, {"twice", low}, {"half", std::span(y).subspan(3, 4)}}) == Status::InvalidArgument);
  CHECK(message.find("'twice' and 'half' overlap") != std::string::npos);
  CHECK(plan.run({{"x", floats}, {"twice", low}, {"half", high}}) == Status::Ok);

  Weights weights;
  const int64_t shape[] = {4};
  const HostTensor null = {"w", DType::F32, shape, std::span(static_cast<const std::byte*>(nullptr), 16)};
  CHECK(device.upload({&null, 1}, &weights) == Status::InvalidArgument);
  CHECK(message.find("'w' is null") != std::string::npos);
}

TEST_CASE("an id outside of the table is named", "[cpu]") {
  std::string message;
  const Device device = cpu_device({keep_last, &message});
  Graph g;
  const std::vector<float> table = floats({5, 3}, 3);
  g.push_label("decoder");
  const Tensor rows =
      g.embedding(g.constant("table", {5, 3}, std::span<const float>(table)), g.input("ids", {4}, DType::I32));
  g.pop_label();
  g.output("y", rows);
  Plan plan;
  REQUIRE(Device(device).compile(g, {}, &plan) == Status::Ok);
  const std::vector<int32_t> ids = {4, 0, 99, -3};
  std::vector<float> y(12, 7.0f);
  CHECK(plan.run({{"ids", ids}, {"y", y}}) == Status::IndexOutOfRange);
  INFO(message);
  CHECK(message.find("decoder.embedding") != std::string::npos);
  CHECK(message.find("id 99 at position 2") != std::string::npos);
  CHECK(message.find("5 rows") != std::string::npos);
  CHECK(y[0] == table[12]);
  CHECK(y[6] == 0.0f);
  CHECK(y[11] == 0.0f);
}

TEST_CASE("passes and their times", "[cpu]") {
  Device device = cpu_device();
  Plan plan, silent;
  REQUIRE(device.compile(network(), {}, &plan, {.timestamps = true}) == Status::Ok);
  REQUIRE(device.compile(network(), {}, &silent) == Status::Ok);
  std::vector<PassTime> times;
  CHECK(silent.timings(&times) == Status::Unsupported);
  CHECK(plan.timings(&times) != Status::Ok);  // nothing has run
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
  std::string message;
  Device device = cpu_device({keep_last, &message});
  Graph g;
  // Eight products of 2^46 bytes at once: more than the addresses of a process.
  constexpr int64_t kSide = int64_t{1} << 22;
  const Tensor a = g.input("a", {kSide, 1}), b = g.input("b", {1, kSide});
  std::vector<Tensor> products;
  for (int i = 0; i < 8; ++i) products.push_back(g.matmul(g.scale(a, static_cast<float>(i + 2)), b));
  for (const Tensor product : products)
    g.output(std::string("y").append(std::to_string(product.id)), g.mean(product, 0));
  Plan plan;
  CHECK(device.compile(g, {}, &plan) == Status::OutOfMemory);
  INFO(message);
  CHECK(message.find("bytes") != std::string::npos);
  CHECK_FALSE(plan.valid());
}

}  // namespace heed::cpu_test
