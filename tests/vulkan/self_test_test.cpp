// The self-test, on correct devices and on devices with a sabotaged driver.

#include <functional>
#include <set>

#include "api/self_test_suspects.hpp"
#include "graph/schedule/backend.hpp"
#include "graph/schedule/self_test_blob.hpp"
#include "harness/environment.hpp"
#include "kernels/kernel_table.hpp"
#include "vulkan/calls/loader.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

SelfTestReport tested(Device& device) {
  SelfTestReport report;
  REQUIRE(self_test(device, {}, &report) == Status::Ok);
  return report;
}

const KernelTest& test_of(const SelfTestReport& report, const std::string& kernel) {
  const auto found = std::find_if(report.kernels.begin(), report.kernels.end(),
                                  [&](const KernelTest& test) { return test.kernel == kernel; });
  REQUIRE(found != report.kernels.end());
  return *found;
}

// Whether the kernel or a variant of it passed.
bool passed_as(const SelfTestReport& report, const std::string& kernel) {
  return std::any_of(report.kernels.begin(), report.kernels.end(), [&](const KernelTest& test) {
    return test.kernel.starts_with(kernel) && test.verdict == SelfTestVerdict::Passed;
  });
}

bool has(const std::string& name, std::string_view part) { return name.find(part) != std::string::npos; }

bool is_plain(const std::string& name) {
  return !has(name, "_narrow") && !has(name, "_quantized") && !has(name, "_canon");
}

using Prefixes = std::initializer_list<std::string_view>;
bool has_one_of(const std::string& name, Prefixes prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

using Names = std::set<std::string>;

// Whether every kernel whose name begins with `prefix` has this verdict or was not used, and no other kernel has it. A non-empty `among`
// limits the check to its kernels.
bool only(const SelfTestReport& report, SelfTestVerdict verdict, const std::string& prefix, const Names& among = {}) {
  size_t found = 0;
  for (const KernelTest& test : report.kernels) {
    if (!among.empty() && !among.contains(test.kernel)) continue;
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

// Matmul of bytes needs Vulkan 1.3 or matrix units, which HostVulkan lacks.
bool multiplies_bytes(const std::string& kernel) { return kernel.ends_with("_dot") || kernel.ends_with("_bytes"); }
// Disables all kernels but these, since software drivers compile slowly. Returns the names of these.
Names keep_kernels(Device& device, const std::function<bool(const std::string&)>& is_kept) {
  std::vector<std::string> others;
  Names kept;
  for (const std::string& name : device.impl()->kernel_names())
    if (is_kept(name))
      kept.insert(name);
    else
      others.push_back(name);
  device.impl()->disable_kernels(others);
  return kept;
}
Names keep_kernels(Device& device, Prefixes prefixes) {
  return keep_kernels(device, [&](const std::string& name) { return has_one_of(name, prefixes); });
}

// The same, without kernels of f16, of quantized weights and of reproducible plans.
Names keep_plain_kernels(Device& device, Prefixes prefixes) {
  return keep_kernels(device, [&](const std::string& name) { return has_one_of(name, prefixes) && is_plain(name); });
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
  Plan plan = compiled(open_cpu(), attention_graph());
  return run_attention(plan);
}

}  // namespace

TEST_CASE("self-test: a healthy device passes, and every kernel was tested", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  Device device = host->adopt();
  SelfTestReport report = tested(device);
  for (const KernelTest& test : report.kernels) {
    INFO(test.kernel << ": " << to_string(test.verdict) << " " << test.detail << ", worst " << test.worst);
    const bool needs_f16 = has(test.kernel, "f16");
    if (needs_f16 && !host->has_f16()) CHECK(test.verdict == SelfTestVerdict::Unused);
    if (needs_f16 && !host->has_f16()) continue;
    CHECK_FALSE(is_bad(test.verdict));
    // Whether every device uses the kernel or a variant of it.
    const bool is_variant = test.kernel.ends_with("_subgroup") || test.kernel.ends_with("_matrix");
    const bool optional = is_variant || multiplies_bytes(test.kernel);
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
  device = adopted(again);
  CHECK(device.impl()->tested() == detail::DeviceImpl::Tested::Passed);
}

TEST_CASE("self-test: the kernels that stand in for variants are right, too", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  Device device = host->adopt();
  std::vector<std::string> variants;
  for (const std::string& name : device.impl()->kernel_names())
    if (name.ends_with("_subgroup") || name.ends_with("_matrix") ||
        (name.starts_with("attention") && name.ends_with("_vector")))
      variants.push_back(name);
  REQUIRE_FALSE(variants.empty());
  device.impl()->disable_kernels(variants);
  // A kernel with variants is tested on a device that uses them.
  const auto stands_in = [&](const std::string& name) {
    return std::any_of(variants.begin(), variants.end(),
                       [&](const std::string& variant) { return variant.starts_with(name + "_"); });
  };
  keep_kernels(device, [&](const std::string& name) {
    // Other passes read the results of elementwise passes.
    return stands_in(name) || (name.starts_with("elementwise") && is_plain(name));
  });
  SelfTestReport report = tested(device);
  for (const KernelTest& test : report.kernels) {
    INFO(test.kernel << ": " << to_string(test.verdict) << " " << test.detail << ", worst " << test.worst);
    const bool is_variant = std::find(variants.begin(), variants.end(), test.kernel) != variants.end();
    const bool usable = !multiplies_bytes(test.kernel) && (host->has_f16() || !has(test.kernel, "f16"));
    if (is_variant) CHECK(test.verdict == SelfTestVerdict::Failed);
    if (!is_variant && usable && stands_in(test.kernel)) CHECK(test.verdict == SelfTestVerdict::Passed);
  }
  CHECK(passed_as(report, "attention_f32"));
  (void)host->take_log();
}

TEST_CASE("self-test: a kernel that computes wrongly is found and not used again", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const std::vector<float> want = attention_on_cpu();
  const vulkan::HostDevice spoiled = sabotaged(*host, {.wrong = "attention_f32"});
  Device device = adopted(spoiled);
  Plan plan = compiled(device, attention_graph());
  REQUIRE_THAT(kernels_of(plan), holds("attention_f32"));
  CHECK(difference(run_attention(plan).data(), want) != "");

  const Names kept = keep_plain_kernels(device, {"attention_f32", "matmul_f32", "softmax_f32", "elementwise_f32"});
  SelfTestReport report = tested(device);
  CHECK_FALSE(report.passed());
  CHECK(only(report, SelfTestVerdict::Wrong, "attention_f32", kept));
  CHECK(test_of(report, "attention_f32").worst > 1);
  CHECK_THAT(test_of(report, "attention_f32").detail, holds("attention"));
  CHECK(passed_as(report, "softmax_f32"));
  CHECK_THAT(host->take_log(), holds("attention_f32 wrong"));

  // The verdict takes effect at once and at the next start.
  for (const bool restarted : {false, true}) {
    if (restarted) {
      vulkan::HostDevice with_results = spoiled;
      with_results.self_test_results = report.blob;
      device = adopted(with_results);
      CHECK_THAT(host->take_log(), holds("attention_f32 failed the self-test"));
    }
    REQUIRE(device.compile(attention_graph(), {}, &plan) == Status::Ok);
    CHECK_THAT(kernels_of(plan), !holds("attention_f32"));
    CHECK(difference(run_attention(plan).data(), want) == "");
  }
  // A second test keeps the findings of the first.
  report = tested(device);
  CHECK(only(report, SelfTestVerdict::Failed, "attention_f32", kept));
  (void)host->take_log();
}

TEST_CASE("self-test: a kernel that writes nothing finds no results of an earlier run", "[vulkan][self_test]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Graph g;
  const Tensor x = g.input("x", {3, 8}), first = g.softmax(x, {});
  g.output("y", g.layernorm(g.add(first, x), {}, {}, 1e-5f));
  const std::vector<float> values = pattern(3 * 8, 1);
  for (const char* wrong : {"softmax_f32", "layernorm_f32"}) {  // their results are in scratch, and are the output
    INFO(wrong);
    Device device = adopted(sabotaged(*host, {}));
    Plan plan = compiled(device, g);
    std::vector<float> right(values.size()), y(values.size());
    REQUIRE(plan.run({{"x", values}, {"y", right}}) == Status::Ok);
    sabotage({.wrong = wrong});
    REQUIRE(plan.run({{"x", values}, {"y", y}}) == Status::Ok);
    CHECK(y == right);  // and so the self-test overwrites scratch with them
    plan.impl()->spoil_before_runs();
    REQUIRE(plan.run({{"x", values}, {"y", y}}) == Status::Ok);
    CHECK(std::all_of(y.begin(), y.end(), [](float value) { return std::isnan(value); }));
    sabotage({});
    REQUIRE(plan.run({{"x", values}, {"y", y}}) == Status::Ok);
    CHECK(y == right);
  }
  (void)host->take_log();
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
  Device device = adopted(sabotaged(*host, {.wrong = "layernorm_f32"}));
  keep_kernels(device, {"layernorm_f32"});
  SelfTestReport report = tested(device);
  CHECK(only(report, SelfTestVerdict::Wrong, "layernorm_f32"));
  (void)host->take_log();
  Graph g;
  g.output("y", g.layernorm(g.input("x", {3, 8}), {}, {}, 1e-5f));
  Plan plan;
  host->refused(device.compile(g, {}, &plan), Status::Unsupported, "layernorm_f32 failed the self-test");
  CHECK(open_cpu().compile(g, {}, &plan) == Status::Ok);
}

TEST_CASE("self-test: an adopted device that hangs is reported, and its results keep heed off the culprit",
          "[vulkan][self_test]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  SelfTestReport report;
  vulkan::HostDevice spoiled = sabotaged(*host, {.hang = "softmax_f32"});
  Device device = adopted(spoiled);
  Names kept = keep_plain_kernels(device, {"matmul_f32", "softmax_f32", "argmax_f32"});
  CHECK(self_test(device, {.time_limit_ms = 60000}, &report) == Status::DeviceLost);
  CHECK(only(report, SelfTestVerdict::TimedOut, "softmax_f32", kept));
  CHECK(passed_as(report, "matmul_f32"));
  CHECK(test_of(report, "argmax_f32").verdict == SelfTestVerdict::Unused);
  const std::string said = host->take_log();
  CHECK_THAT(said, holds("did not finish within 60000 ms"));
  CHECK_THAT(said, holds("the host must make it again"));
  REQUIRE_FALSE(report.blob.empty());

  // Each start finds one of the kernel's variants, until none is left.
  Status status = Status::DeviceLost;
  for (int start = 0; start < 3 && status == Status::DeviceLost; ++start) {
    const std::vector<std::byte> blob = report.blob;
    spoiled.self_test_results = blob;
    device = adopted(spoiled);
    kept = keep_plain_kernels(device, {"softmax_f32", "argmax_f32"});
    status = self_test(device, {.time_limit_ms = 60000}, &report);
  }
  REQUIRE(status == Status::Ok);
  CHECK(only(report, SelfTestVerdict::Failed, "softmax_f32", kept));
  CHECK(test_of(report, "argmax_f32").verdict == SelfTestVerdict::Passed);
  (void)host->take_log();
}

TEST_CASE("self-test: a device that heed opened is opened again when it hangs", "[vulkan][self_test]") {
  const std::string gpu = first_gpu();
  if (gpu.empty()) return;
  const SetVariable hang("HEED_SABOTAGE_HANG", "rmsnorm_f32");
  Messages messages;
  Device device = open_device({.select = gpu, .log = messages.log(), .vulkan_loader = HEED_SABOTAGE_PATH});
  const auto first = device.impl();
  const Names kept = keep_plain_kernels(device, {"rmsnorm_f32", "argmax_f32", "attention_f32", "elementwise"});
  INFO(messages.text);
  SelfTestReport report = tested(device);
  CHECK(device.impl() != first);
  CHECK(only(report, SelfTestVerdict::TimedOut, "rmsnorm_f32", kept));
  const bool software = device.info().kind == DeviceKind::SoftwareGpu;
  CHECK(test_of(report, "rmsnorm_f32").detail == (software ? "no end after 60000 ms" : "no end after 10000 ms"));
  CHECK(test_of(report, "argmax_f32").verdict == SelfTestVerdict::Passed);
  Plan plan = compiled(device, attention_graph());
  CHECK(difference(run_attention(plan).data(), attention_on_cpu()) == "");
  Graph g;
  g.output("y", g.rmsnorm(g.input("x", {3, 8}), {}, 1e-5f));
  CHECK(device.compile(g, {}, &plan) == Status::Unsupported);
}

TEST_CASE("self-test: products of bytes are tested where they are used", "[vulkan][self_test][dots][matrix]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  struct Row {
    const char *kernel, *units, *used;
  };
  for (const Row& row : {Row{"matmul_f32_quantized_dot", "never", "dot products of bytes: used"},
                         Row{"matmul_f32_quantized_bytes", "always", "for bytes where rows may be rounded"}}) {
    const SetVariable units("HEED_MATRIX_UNITS", row.units);
    for (const char* spoiled : {"none", row.kernel}) {
      const SetVariable wrong("HEED_SABOTAGE_WRONG", spoiled);
      Device device = open_device({.select = word, .vulkan_loader = HEED_SABOTAGE_PATH});
      if (device.info().reason.find(row.used) == std::string::npos) break;
      keep_kernels(device, {row.kernel});
      const SelfTestReport report = tested(device);
      CHECK(test_of(report, row.kernel).verdict ==
            (spoiled == row.kernel ? SelfTestVerdict::Wrong : SelfTestVerdict::Passed));
    }
  }
}

TEST_CASE("self-test: a wrong kernel takes no other out of use", "[vulkan][self_test]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  struct Row {
    const char* wrong;
    std::set<std::string> instead;
    DType type;
    int64_t queries, keys;
  };
  // Every kernel splits 8,200 keys. Without splits the same kernel runs, which on some devices is the kernel for few queries.
  const Row rows[] = {{"attention_combine_f32", {"attention_f32 ", "attention_f32_vector "}, DType::F32, 1, 8200},
                      {"attention_f16_matrix", {"attention_f16 "}, DType::F16, 40, 40}};
  for (const Row& row : rows) {
    INFO(row.wrong);
    const SetVariable wrong("HEED_SABOTAGE_WRONG", row.wrong);
    Graph g;
    const Tensor q = g.input("q", {1, 1, row.queries, 8}, row.type), k = g.input("k", {1, 1, row.keys, 8}, row.type);
    g.output("y", g.attention(q, k, k).output);
    Messages messages;
    Plan plan;
    Device device = open_device({.select = word, .log = messages.log(), .vulkan_loader = HEED_SABOTAGE_PATH});
    const Status status = device.compile(g, {}, &plan);
    if (status == Status::Unsupported || kernels_of(plan).find(row.wrong) == std::string::npos) continue;
    keep_kernels(device, [](const std::string& name) {
      return has_one_of(name, {"attention", "elementwise"}) && !name.starts_with("attention_backward");
    });
    SelfTestReport report = tested(device);
    CHECK(only(report, SelfTestVerdict::Wrong, row.wrong));
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    INFO(kernels_of(plan));
    CHECK(row.instead.contains(kernels_of(plan)));
  }
}

TEST_CASE("self-test: open goes on to the next device if one cannot run attention any more", "[vulkan][self_test]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  Messages messages;
  Device other;
  Device device = open_device({.select = word, .log = messages.log()});
  const uint64_t key = device.impl()->self_test_key();
  const auto blob_of = [&](const char* kernel, SelfTestVerdict verdict) {
    const KernelTest tests[] = {{kernel, verdict, 1, 0, ""}};
    return write_self_test(key, tests);
  };
  // The fused kernel has a replacement; matmul has none.
  std::vector<std::byte> blob = blob_of("attention_f32", SelfTestVerdict::TimedOut);
  CHECK(Device::open({.select = word, .log = messages.log(), .self_test_results = blob}, &other) == Status::Ok);
  const KernelTest both[] = {{"layernorm_f32", SelfTestVerdict::Wrong, 0, 2, ""},
                             {"layernorm_f32_subgroup", SelfTestVerdict::Wrong, 0, 2, ""}};
  blob = write_self_test(key, both);
  CHECK(Device::open({.select = word, .log = messages.log(), .self_test_results = blob}, &other) ==
        Status::Unsupported);
  CHECK_THAT(messages.text, holds("layernorm_f32 failed the self-test"));
  CHECK(Device::open({.log = messages.log(), .self_test_results = blob}, &other) == Status::Ok);
  // Without a self-test, the host decides.
  CHECK(Device::open({.select = word, .log = messages.log(), .self_test = false, .self_test_results = blob}, &other) ==
        Status::Ok);
}

TEST_CASE("self-test: results of another device, or damaged ones, are ignored with a warning", "[self_test]") {
  const KernelTest tests[] = {{"softmax_f32", SelfTestVerdict::Wrong, 1, 3.0, "off"},
                              {"matmul_f32", SelfTestVerdict::Passed, 4, 0.5, ""}};
  const std::vector<std::byte> blob = write_self_test(17, tests);
  std::vector<std::string> failed;
  CHECK(read_self_test(blob, 17, &failed) == "");
  CHECK(failed == std::vector<std::string>{"softmax_f32"});
  CHECK_THAT(read_self_test(blob, 18, &failed), holds("another device"));
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
