// The self-test runs each probe on the device and on the CPU, and compares the results.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <heed/self_test.hpp>
#include <string_view>

#include "api/cpu_device.hpp"
#include "api/self_test_operands.hpp"
#include "api/self_test_probes.hpp"
#include "api/self_test_suspects.hpp"
#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"
#include "graph/schedule/self_test_blob.hpp"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;
using probes::Operand, probes::fill_all, probes::graph_of, probes::operands_of, probes::run_probe_plan,
    probes::upload_weights;

// The allowed difference: probes sum at most 300 products of values below 1, in any order, and GPUs compute exp and erf differently.
double allowed(DType type, double value) {
  if (type == DType::F16) return 4e-3 + 4e-3 * std::fabs(value);
  if (type == DType::BF16) return 3.2e-2 + 3.2e-2 * std::fabs(value);  // precision of 2^-8 instead of f16's 2^-11
  return type == DType::F32 ? 1e-4 + 1e-4 * std::fabs(value) : 0.0;
}

// The kernels of all passes, or of those of one operation. PassInfo::kernel joins names by " + ".
std::vector<std::string> kernels_of(const Plan& plan, std::string_view op = {}) {
  constexpr std::string_view kBetween = " + ";
  std::vector<std::string> names;
  for (const PassInfo& pass : plan.passes()) {
    if (!op.empty() && pass.op != op) continue;
    for (size_t at = 0; at <= pass.kernel.size();) {
      const size_t end = std::min(pass.kernel.find(kBetween, at), pass.kernel.size());
      std::string name = pass.kernel.substr(at, end - at);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
      at = end + kBetween.size();
    }
  }
  return names;
}

// The largest difference divided by the allowed one: wrong if above 1.
double worst_of(const Probe& probe, const std::vector<Operand>& got, const std::vector<Operand>& want) {
  double worst = 0;
  for (size_t o = 0; o < want.size(); ++o)
    for (size_t i = 0; i < want[o].count(); ++i) {
      const double b = want[o].value(i), difference = std::fabs(got[o].value(i) - b);
      const DType precision = probe.of->plans == CasePlans::Rounded ? DType::F16 : want[o].dtype;
      const double limit = probe.reproducible ? 0.0 : allowed(precision, b);
      const double ratio = difference == 0 ? 0 : limit > 0 ? difference / limit : HUGE_VAL;
      if (!(ratio <= worst)) worst = std::isnan(ratio) ? HUGE_VAL : ratio;
    }
  for (size_t o = 0; probe.reproducible && o < want.size(); ++o)
    if (got[o].data != want[o].data) worst = HUGE_VAL;  // not even signs of zeros or bits of NaN may differ
  return worst;
}

uint32_t time_limit_of(const SelfTestOptions& options, const DeviceInfo& info) {
  if (options.time_limit_ms != 0) return options.time_limit_ms;
  return info.kind == DeviceKind::SoftwareGpu ? 60000 : 10000;
}

class Tester {
 public:
  Tester(Device& device, const SelfTestOptions& options, SelfTestReport* report)
      : device_(device),
        log_(device.impl()->log()),
        time_limit_ms_(time_limit_of(options, device.info())),
        report_(*report) {}

  Status run() {
    for (const std::string& name : device_.impl()->kernel_names()) report_.kernels.emplace_back().kernel = name;
    blame(device_.impl()->disabled_kernels(), SelfTestVerdict::Failed, "failed an earlier self-test", 0);
    const Status opened = open_cpu_device({.threads = 1}, &cpu_);
    if (opened != Status::Ok) return opened;
    for (const Probe& probe : self_test_probes())
      for (const DType storage : {DType::F32, DType::F16, DType::BF16}) {
        if (probe.reproducible && refuses_bits_) continue;  // one message is enough
        if (storage != DType::F32 && (probe.of->one_type || !device_.impl()->supports(storage))) continue;
        const Status status = run_until_settled(probe, storage);
        if (status != Status::Ok) return status;
      }
    return Status::Ok;
  }

  // Disables kernels that failed, and writes the report.
  void finish(Clock::time_point start) {
    device_.impl()->disable_kernels(failed());
    for (const KernelTest& test : report_.kernels)
      if (is_bad(test.verdict))
        log(log_, LogLevel::Warning,
            format("self-test on %s: %s %s: %s", device_.info().word.c_str(), test.kernel.c_str(),
                   to_string(test.verdict), test.detail.c_str()));
    report_.blob = write_self_test(device_.impl()->self_test_key(), report_.kernels);
    report_.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

 private:
  std::vector<std::string> failed() const {
    std::vector<std::string> names;
    for (const KernelTest& test : report_.kernels)
      if (is_bad(test.verdict)) names.push_back(test.kernel);
    return names;
  }

  KernelTest* find(std::string_view name) {
    const auto found = std::find_if(report_.kernels.begin(), report_.kernels.end(),
                                    [&](const KernelTest& test) { return test.kernel == name; });
    return found == report_.kernels.end() ? nullptr : &*found;
  }

  bool has_failed_canon() const {
    const std::vector<std::string> names = failed();
    return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with("_canon"); });
  }

  bool usable(const Graph& graph) const {
    const detail::GraphData& data = graph.data();
    return std::all_of(data.nodes.begin(), data.nodes.end(), [&](const Node& node) {
      return device_.impl()->supports(data.tensors[node.outputs[0].id].dtype);
    });
  }

  bool all_passed(const Plan& plan) {
    const std::vector<std::string> names = kernels_of(plan);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const KernelTest* test = find(name);
      return test != nullptr && test->verdict == SelfTestVerdict::Passed;
    });
  }

  // If a kernel failed, another one replaces it, which must be tested then.
  Status run_until_settled(const Probe& probe, DType storage) {
    for (size_t known = failed().size();; known = failed().size()) {
      const Status status = run_probe(probe, storage);
      if (status != Status::Ok || failed().size() == known) return status;
      device_.impl()->disable_kernels(failed());
    }
  }

  // Returns Ok even if results are wrong, which the report records. Other statuses mean that the test cannot go on.
  Status run_probe(const Probe& probe, DType storage) {
    const Graph graph = graph_of(probe, storage);
    if (!usable(graph)) return Status::Ok;
    Plan plan, reference;
    CompileOptions options;
    options.training = probe.of->training;
    options.reproducible = probe.reproducible;
    options.emulate_f32 = probe.of->plans == CasePlans::Emulated;
    Weights weights, reference_weights;
    Status status = upload_weights(cpu_, graph.data(), &reference_weights);
    if (status == Status::Ok) status = cpu_.compile(graph, reference_weights, &reference, options);
    if (status != Status::Ok)
      return fail(log_, status, format("self-test: the CPU cannot compile the probe of %s", probe.of->op));
    options.pipelines = PipelineCreation::Deferred;
    options.round_rows = probe.of->plans == CasePlans::Rounded;  // the reference does not round rows
    status = upload_weights(device_, graph.data(), &weights);
    if (status == Status::Ok) status = device_.compile(graph, weights, &plan, options);
    // All kernels of this pass have failed already, or the device does not support the operation or reproducible plans.
    refuses_bits_ = refuses_bits_ || (probe.reproducible && status == Status::Unsupported && !has_failed_canon());
    if (status == Status::Unsupported) return Status::Ok;
    if (status != Status::Ok) return status;
    plan.impl()->spoil_before_runs();
    // Kernels of bf16 differ from those of f16 only in loads and stores, and in the type of matrices, so one probe of each kernel is
    // enough.
    if (storage == DType::BF16 && all_passed(plan)) return Status::Ok;
    for (uint32_t i = 0; i < plan.pipeline_count(); ++i) {
      status = plan.prepare(i);
      if (status == Status::Ok) continue;
      const std::string name = plan.pipelines()[i].name;
      return give_up({name.substr(0, name.find('('))}, SelfTestVerdict::Failed,
                     format("its pipeline %s cannot be made: %s", name.c_str(), to_string(status)), status);
    }
    for (const ProbeSize& size : self_test_sizes()) {
      status = compare(probe, graph, plan, reference, size);
      if (status != Status::Ok) return status;
      if (device_.impl() != plan_device_) break;  // the device was reopened, and the plan belongs to the lost one
    }
    return Status::Ok;
  }

  Status compare(const Probe& probe, const Graph& graph, Plan& plan, Plan& reference, const ProbeSize& size) {
    plan_device_ = device_.impl();
    const detail::GraphData& data = graph.data();
    std::vector<Operand> inputs = operands_of(data, data.inputs, size);
    fill_all(&inputs);
    std::vector<Operand> want = operands_of(data, data.outputs, size), got = want;
    Status status = run_probe_plan(reference, inputs, want, size, 0);
    if (status != Status::Ok) return status;
    status = run_probe_plan(plan, inputs, got, size, time_limit_ms_);
    const std::vector<std::string> kernels = culprits(probe, plan);
    if (status == Status::DeviceLost) {
      const bool late = device_.impl()->timed_out();
      return give_up(kernels, late ? SelfTestVerdict::TimedOut : SelfTestVerdict::Failed,
                     late ? format("no end after %u ms", time_limit_ms_) : std::string("the device was lost"), status);
    }
    if (status != Status::Ok) return give_up(kernels, SelfTestVerdict::Failed, to_string(status), status);
    judge(probe, plan, size, got, want);
    return Status::Ok;
  }

  void judge(const Probe& probe, const Plan& plan, const ProbeSize& size, const std::vector<Operand>& got,
             const std::vector<Operand>& want) {
    const double worst = worst_of(probe, got, want);
    if (worst > 1) {
      blame(culprits(probe, plan), SelfTestVerdict::Wrong,
            format("%s at %lld x %lld is off by %g times what rounding explains", probe.of->op,
                   static_cast<long long>(size.m), static_cast<long long>(size.n), worst),
            worst);
      return;
    }
    for (const std::string& name : kernels_of(plan))
      if (KernelTest* test = find(name)) {
        ++test->runs;
        test->worst = std::max(test->worst, worst);
        if (test->verdict == SelfTestVerdict::Unused) test->verdict = SelfTestVerdict::Passed;
      }
  }

  // Suspects the kernels of the tested operation, if it has a pass. Earlier probes have tested the others.
  static std::vector<std::string> culprits(const Probe& probe, const Plan& plan) {
    const std::vector<std::string> own = kernels_of(plan, probe.of->op);
    return suspects_among(own.empty() ? kernels_of(plan) : own);
  }

  void blame(const std::vector<std::string>& names, SelfTestVerdict verdict, const std::string& detail, double worst) {
    for (const std::string& name : names)
      if (KernelTest* test = find(name)) {
        if (!is_bad(test->verdict)) test->detail = detail;
        if (!is_bad(test->verdict)) test->verdict = verdict;
        test->worst = std::max(test->worst, worst);
      }
  }

  // Records kernels that failed or hung. Returns Ok if the test can go on.
  Status give_up(const std::vector<std::string>& names, SelfTestVerdict verdict, const std::string& detail,
                 Status status) {
    blame(names, verdict, detail, 0);
    if (status != Status::DeviceLost) return Status::Ok;
    std::shared_ptr<detail::DeviceImpl> fresh;
    status = device_.impl()->reopen(&fresh);
    if (status == Status::Unsupported)
      return fail(log_, Status::DeviceLost,
                  format("self-test: %s was lost in %s; the host must make it again", device_.info().word.c_str(),
                         names.empty() ? "?" : names.front().c_str()));
    if (status != Status::Ok) return fail(log_, status, "self-test: the lost device cannot be opened again");
    fresh->disable_kernels(failed());
    device_ = Device(std::move(fresh));
    return Status::Ok;
  }

  Device& device_;
  Device cpu_;
  bool refuses_bits_ = false;
  std::shared_ptr<detail::DeviceImpl> plan_device_;
  const Log log_;
  const uint32_t time_limit_ms_;
  SelfTestReport& report_;
};

}  // namespace

Status test_layer(Device& device, const Log& log) {
  const std::string word = device.info().word;
  if (!has_cpu_device()) {
    heed::log(log, LogLevel::Warning,
              word +
                  " is used without a self-test: heed was built without its CPU device, which would tell the right "
                  "results");
    return Status::Ok;
  }
  const Graph graph = graph_of(layer_probe(), DType::F32);
  constexpr ProbeSize kSize = {19, 1};
  std::vector<Operand> inputs = operands_of(graph.data(), graph.data().inputs, kSize);
  std::vector<Operand> want = operands_of(graph.data(), graph.data().outputs, kSize), got = want;
  fill_all(&inputs);
  const auto run_on = [&](Device& on, std::vector<Operand>* outputs) {
    Plan plan;
    if (const Status status = on.compile(graph, {}, &plan); status != Status::Ok) return status;
    plan.impl()->spoil_before_runs();
    return run_probe_plan(plan, inputs, *outputs, kSize, 0);
  };
  Status status = run_on(device, &got);
  if (status != Status::Ok)
    return fail(log, status, format("self-test on %s failed: %s", word.c_str(), to_string(status)));
  Device cpu;
  status = open_cpu_device({.threads = 1}, &cpu);
  if (status == Status::Ok) status = run_on(cpu, &want);
  if (status != Status::Ok) return status;
  const double worst = worst_of(layer_probe(), got, want);
  if (worst <= 1) return Status::Ok;
  return fail(log, Status::DriverError,
              format("self-test on %s: a layer is off by %g times what rounding explains", word.c_str(), worst));
}

Status self_test(Device& device, const SelfTestOptions& options, SelfTestReport* report) {
  if (!device.valid() || report == nullptr) return refuse("self_test: device is empty, or report is null");
  *report = {};
  if (device.impl()->kernel_names().empty()) return Status::Ok;
  if (!has_cpu_device())
    return fail(device.impl()->log(), Status::Unsupported,
                "self-test: heed was built without its CPU device, which would tell the right results");
  const Clock::time_point start = Clock::now();
  Tester tester(device, options, report);
  const Status status = tester.run();
  tester.finish(start);
  return status;
}

}  // namespace heed
