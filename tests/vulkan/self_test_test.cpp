// The self-test, on healthy devices and on devices whose driver is sabotaged.
#include <algorithm>

#include "api/self_test_suspects.hpp"
#include "catch.hpp"
#include "environment.hpp"
#include "graph/backend.hpp"
#include "graph/self_test_blob.hpp"
#include "kernels/kernel_table.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"
#include "vulkan/loader.hpp"
#include "vulkan/sabotage.hpp"

using namespace heed;
using namespace heed::test;

namespace {

struct Messages {
  std::string text;
  Log log() {
    return {[](void* user, LogLevel, const char* message) {
              *static_cast<std::string*>(user) += std::string(message) + "\n";
            },
            &text, LogLevel::Warning};
  }
};

// The host's device through the sabotaged table.
vulkan::HostDevice sabotaged(HostVulkan& host, const Sabotage& what) {
  sabotage(what);
  set_sabotaged(host.vk().GetInstanceProcAddr);
  vulkan::HostDevice device = host.host_device();
  device.get_instance_proc_addr = sabotaged_instance_proc;
  return device;
}

const KernelTest& test_of(const SelfTestReport& report, const std::string& kernel) {
  const auto found = std::find_if(report.kernels.begin(), report.kernels.end(),
                                  [&](const KernelTest& test) { return test.kernel == kernel; });
  REQUIRE(found != report.kernels.end());
  return *found;
}

// The kernel or a variant of it passed.
bool passed_as(const SelfTestReport& report, const std::string& kernel) {
  return std::any_of(report.kernels.begin(), report.kernels.end(), [&](const KernelTest& test) {
    return test.kernel.starts_with(kernel) && test.verdict == SelfTestVerdict::Passed;
  });
}

// Every kernel whose name begins so has this verdict or was not used, and no other one has it.
bool only(const SelfTestReport& report, SelfTestVerdict verdict, const std::string& prefix) {
  size_t found = 0;
  for (const KernelTest& test : report.kernels) {
    const bool meant = test.kernel.starts_with(prefix);
    if (!meant && test.verdict == verdict) return false;
    if (meant && test.verdict != verdict && test.verdict != SelfTestVerdict::Unused) return false;
    found += test.verdict == verdict;
  }
  return found > 0;
}

std::string kernels_of(const Plan& plan) {
  std::string names;
  for (const PassInfo& pass : plan.passes()) names += pass.kernel + " ";
  return names;
}

Graph attention_graph() {
  Graph g;
  const Tensor q = g.input("q", {1, 2, 9, 16}), k = g.input("k", {1, 2, 11, 16}), v = g.input("v", {1, 2, 11, 16});
  g.output("y", g.attention(q, k, v).output);
  return g;
}

std::vector<float> run_attention(Plan& plan) {
  const std::vector<float> q = pattern(2 * 9 * 16, 1), k = pattern(2 * 11 * 16, 2), v = pattern(2 * 11 * 16, 3);
  std::vector<float> y(2 * 9 * 16);
  REQUIRE(plan.run({{"q", q}, {"k", k}, {"v", v}, {"y", y}}) == Status::Ok);
  return y;
}

std::vector<float> attention_on_cpu() {
  Device cpu;
  Plan plan;
  REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
  REQUIRE(cpu.compile(attention_graph(), {}, &plan) == Status::Ok);
  return run_attention(plan);
}

// Kernels that no device uses unless HEED_MATRIX_UNITS asks for them.
bool is_asked_for(const std::string& kernel) { return kernel.ends_with("_matrix_nv2"); }

}  // namespace

TEST_CASE("self-test: a healthy device passes, and every kernel was tested", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  {
    Device device;
    SelfTestReport report;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
    for (const KernelTest& test : report.kernels) {
      INFO(test.kernel << ": " << to_string(test.verdict) << " " << test.detail << ", worst " << test.worst);
      const bool needs_f16 = test.kernel.find("f16") != std::string::npos;
      if (needs_f16 && !host->has_f16()) CHECK(test.verdict == SelfTestVerdict::Unused);
      if (needs_f16 && !host->has_f16()) continue;
      CHECK_FALSE(is_bad(test.verdict));
      // It or a variant of it is used on every device.
      const bool is_variant = test.kernel.ends_with("_subgroup") || test.kernel.ends_with("_matrix") ||
                              test.kernel.ends_with("_vector") || is_asked_for(test.kernel);
      // The second pass of attention belongs to the kernels of GPUs.
      const bool optional = is_variant || test.kernel.starts_with("attention_combine");
      CHECK((optional || passed_as(report, test.kernel)));
      CHECK((test.runs > 0) == (test.verdict == SelfTestVerdict::Passed));
      CHECK(test.worst <= 1);
    }
    CHECK(report.kernels.size() == kKernelCount);
    CHECK(report.passed());
    CHECK(report.milliseconds > 0);
    WARN("self-test of " << device.info().word << " under validation took " << report.milliseconds << " ms");

    vulkan::HostDevice again = host->host_device();
    again.self_test_results = report.blob;
    REQUIRE(vulkan::adopt(again, &device) == Status::Ok);
    CHECK(device.impl()->tested() == detail::DeviceImpl::Tested::Passed);
    CHECK(self_test(device, {.time_limit_ms = 0}, &report) == Status::InvalidArgument);
    CHECK(host->take_log().find("time_limit_ms") != std::string::npos);
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
  CHECK(host->take_log() == "");
}

TEST_CASE("self-test: the kernels that stand in for variants are right, too", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  {
    Device device;
    SelfTestReport report;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    std::vector<std::string> variants;
    for (const std::string& name : device.impl()->kernel_names())
      if (name.ends_with("_subgroup") || name.ends_with("_matrix")) variants.push_back(name);
    REQUIRE_FALSE(variants.empty());
    device.impl()->disable_kernels(variants);
    REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
    for (const KernelTest& test : report.kernels) {
      INFO(test.kernel << ": " << to_string(test.verdict) << " " << test.detail << ", worst " << test.worst);
      const bool is_variant = std::find(variants.begin(), variants.end(), test.kernel) != variants.end();
      const bool usable = host->has_f16() || test.kernel.find("f16") == std::string::npos;
      if (is_variant) CHECK(test.verdict == SelfTestVerdict::Failed);
      if (!is_variant && usable && !is_asked_for(test.kernel)) CHECK(test.verdict == SelfTestVerdict::Passed);
    }
    (void)host->take_log();
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("self-test: a kernel that computes wrongly is found and not used again", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const std::vector<float> want = attention_on_cpu();
  {
    Device device;
    SelfTestReport report;
    const vulkan::HostDevice spoiled = sabotaged(*host, {.wrong = "attention_f32"});
    REQUIRE(vulkan::adopt(spoiled, &device) == Status::Ok);
    Plan plan;
    REQUIRE(device.compile(attention_graph(), {}, &plan) == Status::Ok);
    REQUIRE(kernels_of(plan).find("attention_f32") != std::string::npos);
    CHECK(difference(run_attention(plan).data(), want) != "");

    REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
    CHECK_FALSE(report.passed());
    CHECK(only(report, SelfTestVerdict::Wrong, "attention_f32"));
    CHECK(test_of(report, "attention_f32").worst > 1);
    CHECK(test_of(report, "attention_f32").detail.find("attention") != std::string::npos);
    CHECK(passed_as(report, "softmax_f32"));
    CHECK(host->take_log().find("attention_f32 wrong") != std::string::npos);

    // At once, and at the next start.
    for (const bool restarted : {false, true}) {
      if (restarted) {
        vulkan::HostDevice with_results = spoiled;
        with_results.self_test_results = report.blob;
        REQUIRE(vulkan::adopt(with_results, &device) == Status::Ok);
        CHECK(host->take_log().find("attention_f32 failed the self-test") != std::string::npos);
      }
      REQUIRE(device.compile(attention_graph(), {}, &plan) == Status::Ok);
      CHECK(kernels_of(plan).find("attention_f32") == std::string::npos);
      CHECK(difference(run_attention(plan).data(), want) == "");
    }
    // A second test does not forget what the first one found.
    REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
    CHECK(only(report, SelfTestVerdict::Failed, "attention_f32"));
    (void)host->take_log();
  }
  sabotage({});
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("self-test: what is suspected first", "[self_test]") {
  using Names = std::vector<std::string>;
  const std::pair<Names, Names> rows[] = {
      {{"matmul_f16"}, {"matmul_f16"}},
      {{"matmul_f16_matrix", "matmul_f16"}, {"matmul_f16_matrix"}},
      {{"matmul_f16", "matmul_f16_vector", "matmul_f16_vector_subgroup"}, {"matmul_f16_vector_subgroup"}},
      {{"matmul_f16_matrix", "matmul_f16", "matmul_f16_sum"}, {"matmul_f16_sum"}},
      {{"attention_f16_matrix", "attention_f16"}, {"attention_f16_matrix"}},
      {{"attention_f16_matrix", "attention_f16", "attention_combine_f16"}, {"attention_combine_f16"}},
      {{"matmul_f32", "softmax_f32"}, {"matmul_f32", "softmax_f32"}},
      {{}, {}}};
  for (const auto& [kernels, suspects] : rows) CHECK(suspects_among(kernels) == suspects);
}

TEST_CASE("self-test: what has no other kernel is refused, and the CPU takes it", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Device device;
    SelfTestReport report;
    REQUIRE(vulkan::adopt(sabotaged(*host, {.wrong = "layernorm_f32"}), &device) == Status::Ok);
    REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
    CHECK(only(report, SelfTestVerdict::Wrong, "layernorm_f32"));
    (void)host->take_log();
    Graph g;
    g.output("y", g.layernorm(g.input("x", {3, 8}), {}, {}, 1e-5f));
    Plan plan;
    CHECK(device.compile(g, {}, &plan) == Status::Unsupported);
    CHECK(host->take_log().find("layernorm_f32 failed the self-test") != std::string::npos);
    Device cpu;
    REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
    CHECK(cpu.compile(g, {}, &plan) == Status::Ok);
  }
  sabotage({});
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("self-test: an adopted device that hangs is reported, and its results keep heed off the culprit",
          "[vulkan][self_test]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Device device;
    SelfTestReport report;
    vulkan::HostDevice spoiled = sabotaged(*host, {.hang = "softmax_f32"});
    REQUIRE(vulkan::adopt(spoiled, &device) == Status::Ok);
    CHECK(self_test(device, {.time_limit_ms = 60000}, &report) == Status::DeviceLost);
    CHECK(only(report, SelfTestVerdict::TimedOut, "softmax_f32"));
    CHECK(passed_as(report, "matmul_f32"));
    CHECK(test_of(report, "argmax_f32").verdict == SelfTestVerdict::Unused);
    const std::string said = host->take_log();
    CHECK(said.find("did not finish within 60000 ms") != std::string::npos);
    CHECK(said.find("the host must make it again") != std::string::npos);
    REQUIRE_FALSE(report.blob.empty());

    // Each start finds one of its variants, until none is left.
    Status status = Status::DeviceLost;
    for (int start = 0; start < 3 && status == Status::DeviceLost; ++start) {
      const std::vector<std::byte> blob = report.blob;
      spoiled.self_test_results = blob;
      REQUIRE(vulkan::adopt(spoiled, &device) == Status::Ok);
      status = self_test(device, {.time_limit_ms = 60000}, &report);
    }
    REQUIRE(status == Status::Ok);
    CHECK(only(report, SelfTestVerdict::Failed, "softmax_f32"));
    CHECK(test_of(report, "argmax_f32").verdict == SelfTestVerdict::Passed);
    (void)host->take_log();
  }
  sabotage({});
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("self-test: a device that heed opened is opened again when it hangs", "[vulkan][self_test]") {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  const auto gpu = std::find_if(devices.begin(), devices.end(), [](const DeviceInfo& device) {
    return device.kind != DeviceKind::Cpu && device.usable;
  });
  if (gpu == devices.end()) {
    WARN("no Vulkan device here: what this test is about was not tested");
    return;
  }
  const SetVariable loader("HEED_VULKAN_LOADER", HEED_SABOTAGE_PATH);
  const SetVariable hang("HEED_SABOTAGE_HANG", "rmsnorm_f32");
  Messages messages;
  Device device;
  REQUIRE(Device::open({.select = gpu->word, .log = messages.log()}, &device) == Status::Ok);
  const auto first = device.impl();
  SelfTestReport report;
  INFO(messages.text);
  REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
  CHECK(device.impl() != first);
  CHECK(only(report, SelfTestVerdict::TimedOut, "rmsnorm_f32"));
  CHECK(test_of(report, "argmax_f32").verdict == SelfTestVerdict::Passed);
  Plan plan;
  REQUIRE(device.compile(attention_graph(), {}, &plan) == Status::Ok);
  CHECK(difference(run_attention(plan).data(), attention_on_cpu()) == "");
  Graph g;
  g.output("y", g.rmsnorm(g.input("x", {3, 8}), {}, 1e-5f));
  CHECK(device.compile(g, {}, &plan) == Status::Unsupported);
}

TEST_CASE("self-test: a wrong kernel takes no other out of use", "[vulkan][self_test]") {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  if (devices.front().kind == DeviceKind::Cpu || !devices.front().usable) {
    WARN("no Vulkan device here: what this test is about was not tested");
    return;
  }
  struct Row {
    const char *wrong, *instead;
    DType type;
    int64_t queries, keys;
  };
  const Row rows[] = {{"attention_combine_f32", "attention_f32 ", DType::F32, 1, 700},
                      {"attention_f16_matrix", "attention_f16 ", DType::F16, 40, 40}};
  const SetVariable loader("HEED_VULKAN_LOADER", HEED_SABOTAGE_PATH);
  const SetVariable gpu("HEED_KERNELS", "gpu");  // software drivers run the kernels of GPUs, too
  for (const Row& row : rows) {
    INFO(row.wrong);
    const SetVariable wrong("HEED_SABOTAGE_WRONG", row.wrong);
    Graph g;
    const Tensor q = g.input("q", {1, 1, row.queries, 8}, row.type), k = g.input("k", {1, 1, row.keys, 8}, row.type);
    g.output("y", g.attention(q, k, k).output);
    Messages messages;
    Device device;
    Plan plan;
    REQUIRE(Device::open({.select = "0", .log = messages.log()}, &device) == Status::Ok);
    const Status status = device.compile(g, {}, &plan);
    if (status == Status::Unsupported || kernels_of(plan).find(row.wrong) == std::string::npos) continue;
    SelfTestReport report;
    REQUIRE(self_test(device, {.time_limit_ms = 60000}, &report) == Status::Ok);
    CHECK(only(report, SelfTestVerdict::Wrong, row.wrong));
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    CHECK(kernels_of(plan) == row.instead);
  }
}

TEST_CASE("self-test: open goes on to the next device if one cannot run attention any more", "[vulkan][self_test]") {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  if (devices.front().kind == DeviceKind::Cpu || !devices.front().usable) {
    WARN("no Vulkan device here: what this test is about was not tested");
    return;
  }
  Messages messages;
  Device device, other;
  REQUIRE(Device::open({.select = "0", .log = messages.log()}, &device) == Status::Ok);
  const uint64_t key = device.impl()->self_test_key();
  const auto blob_of = [&](const char* kernel, SelfTestVerdict verdict) {
    const KernelTest tests[] = {{kernel, verdict, 1, 0, ""}};
    return write_self_test(key, tests);
  };
  // The fused kernel has a substitute; the matrix product has none.
  std::vector<std::byte> blob = blob_of("attention_f32", SelfTestVerdict::TimedOut);
  CHECK(Device::open({.select = "0", .log = messages.log(), .self_test_results = blob}, &other) == Status::Ok);
  const KernelTest both[] = {{"layernorm_f32", SelfTestVerdict::Wrong, 0, 2, ""},
                             {"layernorm_f32_subgroup", SelfTestVerdict::Wrong, 0, 2, ""}};
  blob = write_self_test(key, both);
  CHECK(Device::open({.select = "0", .log = messages.log(), .self_test_results = blob}, &other) == Status::Unsupported);
  CHECK(messages.text.find("layernorm_f32 failed the self-test") != std::string::npos);
  CHECK(Device::open({.log = messages.log(), .self_test_results = blob}, &other) == Status::Ok);
  // Without the quick test, the host decides.
  CHECK(Device::open({.select = "0", .log = messages.log(), .self_test = false, .self_test_results = blob}, &other) ==
        Status::Ok);
}

TEST_CASE("self-test: results of another device, or damaged ones, are ignored with a warning", "[self_test]") {
  const KernelTest tests[] = {{"softmax_f32", SelfTestVerdict::Wrong, 1, 3.0, "off"},
                              {"matmul_f32", SelfTestVerdict::Passed, 4, 0.5, ""}};
  const std::vector<std::byte> blob = write_self_test(17, tests);
  std::vector<std::string> failed;
  CHECK(read_self_test(blob, 17, &failed) == "");
  CHECK(failed == std::vector<std::string>{"softmax_f32"});
  CHECK(read_self_test(blob, 18, &failed).find("another device") != std::string::npos);
  CHECK(failed.empty());
  for (size_t length = 0; length < blob.size(); ++length) {
    CHECK(read_self_test(std::span(blob).first(length), 17, &failed) != "");
    CHECK(failed.empty());
  }
  for (size_t at = 0; at < blob.size(); ++at) {
    std::vector<std::byte> damaged = blob;
    damaged[at] ^= std::byte{0x10};
    CHECK(read_self_test(damaged, 17, &failed) != "");
  }
  Device cpu;
  SelfTestReport report;
  CHECK(self_test(cpu, {}, &report) == Status::InvalidArgument);
  REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
  CHECK(self_test(cpu, {}, nullptr) == Status::InvalidArgument);
  CHECK(self_test(cpu, {}, &report) == Status::Ok);
  CHECK(report.kernels.empty());
  CHECK(report.passed());
}
