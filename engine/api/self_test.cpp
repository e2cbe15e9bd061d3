// The self-test runs each probe on the device and on the CPU, and compares.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <heed/self_test.hpp>
#include <string_view>

#include "api/cpu_device.hpp"
#include "api/self_test_probes.hpp"
#include "api/self_test_suspects.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "graph/backend.hpp"
#include "graph/self_test_blob.hpp"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

// The difference that is allowed: probes sum at most 300 products of values below 1, in any order, and GPUs compute exp and
// erf in their own ways.
double allowed(DType type, double value) {
  if (type == DType::F16) return 4e-3 + 4e-3 * std::fabs(value);
  if (type == DType::BF16) return 3.2e-2 + 3.2e-2 * std::fabs(value);  // 2^-8 relative where f16 has 2^-11
  return type == DType::F32 ? 1e-4 + 1e-4 * std::fabs(value) : 0.0;
}

// One input or output at the sizes of one run.
struct Operand {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::byte> data;

  size_t count() const { return data.size() / size_of(dtype); }
  double value(size_t i) const {
    const std::byte* at = data.data() + i * size_of(dtype);
    const auto as = [&](auto type) {
      std::memcpy(&type, at, sizeof type);
      return type;
    };
    switch (dtype) {
      case DType::F32: return static_cast<double>(as(float{}));
      case DType::F16: return static_cast<double>(half_to_float(as(uint16_t{})));
      case DType::BF16: return static_cast<double>(bfloat_to_float(as(uint16_t{})));
      case DType::I32: return as(int32_t{});
      case DType::U8: return as(uint8_t{});
      default: return 0;
    }
  }
};

// Blocks of any bits, whose scales and offsets are powers of two that make values in [-1, 2).
void fill_blocks(Operand* operand, uint32_t state) {
  const DType type = operand->dtype;
  const auto half_of = [](int power) { return static_cast<uint16_t>((15 + power) << 10); };
  const bool pairs = type == DType::Q4_K || type == DType::Q5_K, bytes = type == DType::Q8_0;
  const uint16_t scale = half_of(type == DType::Q6_K ? -12
                                 : pairs             ? -11
                                 : bytes             ? -7
                                                     : -5),
                 offset = half_of(pairs ? -6 : 0);
  for (std::byte& byte : operand->data) byte = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  const auto block = static_cast<size_t>(block_of(type).bytes);
  for (std::byte* at = operand->data.data(); at != operand->data.data() + operand->data.size(); at += block) {
    std::memcpy(type == DType::Q6_K ? at + block - sizeof scale : at, &scale, sizeof scale);
    if (pairs || type == DType::Q4_1 || type == DType::Q5_1) std::memcpy(at + sizeof scale, &offset, sizeof offset);
  }
}

void fill(Operand* operand, uint32_t state) {
  if (is_quantized(operand->dtype)) return fill_blocks(operand, state);
  for (size_t i = 0; i < operand->count(); ++i) {
    state = state * 1664525u + 1013904223u;
    std::byte* at = operand->data.data() + i * size_of(operand->dtype);
    const float value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    const auto id = static_cast<int32_t>((state >> 8) % 7);
    const auto flag = static_cast<uint8_t>((state >> 8) % 3 != 0);
    if (operand->dtype == DType::I32)
      std::memcpy(at, &id, sizeof id);
    else if (operand->dtype == DType::U8)
      std::memcpy(at, &flag, sizeof flag);
    else
      convert_floats(&value, DType::F32, at, operand->dtype, 1);
  }
}

std::vector<Operand> operands(const detail::GraphData& graph, const std::vector<detail::NamedTensor>& list,
                              const ProbeSize& size) {
  std::vector<int64_t> extents;
  for (const detail::ExtentInfo& extent : graph.extents) extents.push_back(extent.name == "m" ? size.m : size.n);
  std::vector<Operand> result;
  for (const detail::NamedTensor& named : list) {
    const TensorInfo& info = graph.tensors[named.tensor];
    size_t elements = 1;
    for (int i = 0; i < info.rank; ++i)
      elements *= static_cast<size_t>(graph.sizes.evaluate(info.dims[static_cast<size_t>(i)], extents));
    Operand& operand = result.emplace_back(Operand{named.name, info.dtype, {}});
    // An output that nobody writes must not look right: with all bits set, values are NaN, -1 and 255.
    operand.data.assign(bytes_of(info.dtype, elements), std::byte{0xff});
  }
  return result;
}

void fill_all(std::vector<Operand>* operands) {
  for (size_t i = 0; i < operands->size(); ++i) fill(&(*operands)[i], static_cast<uint32_t>(i + 1) * 2654435761u);
}

Status upload_weights(Device& device, const detail::GraphData& graph, Weights* weights) {
  if (graph.weights.empty()) return Status::Ok;
  std::vector<Operand> values = operands(graph, graph.weights, {});
  fill_all(&values);
  std::vector<HostTensor> tensors;
  std::vector<std::array<int64_t, kMaxRank>> shapes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorInfo& info = graph.tensors[graph.weights[i].tensor];
    const auto rank = static_cast<size_t>(info.rank);
    for (size_t d = 0; d < rank; ++d) shapes[i][d] = graph.sizes.evaluate(info.dims[d], {});
    tensors.push_back({values[i].name, values[i].dtype, std::span(shapes[i]).first(rank), values[i].data});
  }
  return device.upload(tensors, weights);
}

// All graphs have both extents, whether they use them or not.
Graph build(const Probe& probe, DType storage) {
  Graph g;
  const Dim m = g.extent("m", kProbeRows), n = g.extent("n", kProbeColumns);
  probe.build(g, storage, m, n);
  return g;
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

class Tester {
 public:
  Tester(Device& device, const SelfTestOptions& options, SelfTestReport* report)
      : device_(device), log_(device.impl()->log()), options_(options), report_(*report) {}

  Status run() {
    for (const std::string& name : device_.impl()->kernel_names()) report_.kernels.emplace_back().kernel = name;
    blame(device_.impl()->disabled_kernels(), SelfTestVerdict::Failed, "failed an earlier self-test", 0);
    const Status opened = open_cpu_device({.threads = 1}, &cpu_);
    if (opened != Status::Ok) return opened;
    for (const Probe& probe : self_test_probes())
      for (const DType storage : {DType::F32, DType::F16, DType::BF16}) {
        if (storage != DType::F32 && (probe.once || !device_.impl()->supports(storage))) continue;
        const Status status = run_until_settled(probe, storage);
        if (status != Status::Ok) return status;
      }
    return Status::Ok;
  }

  // Takes kernels that failed out of use, and writes the report.
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

  // Without a kernel that failed, another one takes its place, which must be tested then.
  Status run_until_settled(const Probe& probe, DType storage) {
    for (size_t known = failed().size();; known = failed().size()) {
      const Status status = run_probe(probe, storage);
      if (status != Status::Ok || failed().size() == known) return status;
      device_.impl()->disable_kernels(failed());
    }
  }

  // Ok even if the device is wrong, which the report says. Any other status: the test cannot go on.
  Status run_probe(const Probe& probe, DType storage) {
    const Graph graph = build(probe, storage);
    if (!usable(graph)) return Status::Ok;
    Plan plan, reference;
    CompileOptions options;
    options.training = probe.training;
    Weights weights, reference_weights;
    Status status = upload_weights(cpu_, graph.data(), &reference_weights);
    if (status == Status::Ok) status = cpu_.compile(graph, reference_weights, &reference, options);
    if (status != Status::Ok)
      return fail(log_, status, format("self-test: the CPU cannot compile the probe of %s", probe.name));
    options.pipelines = PipelineCreation::Deferred;
    status = upload_weights(device_, graph.data(), &weights);
    if (status == Status::Ok) status = device_.compile(graph, weights, &plan, options);
    // All kernels of this pass have failed already, or the device cannot do the operation.
    if (status == Status::Unsupported) return Status::Ok;
    if (status != Status::Ok) return status;
    // Kernels of bf16 differ from those of f16 in loads and stores alone, so that one probe of each kernel is enough.
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
      if (device_.impl() != plan_device_) break;  // the device was opened again, and the plan is of the lost one
    }
    return Status::Ok;
  }

  static Status run_plan(Plan& plan, const std::vector<Operand>& inputs, std::vector<Operand>& outputs,
                         const ProbeSize& size, uint32_t timeout_ms) {
    std::vector<HostBuffer> buffers;
    for (const Operand& input : inputs) buffers.emplace_back(input.name, input.data);
    for (Operand& output : outputs) buffers.emplace_back(output.name, output.data);
    const ExtentValue extents[] = {{"m", size.m}, {"n", size.n}};
    State state;
    const Status status = plan.state_bytes() > 0 ? plan.make_state(&state) : Status::Ok;
    if (status != Status::Ok) return status;
    return plan.run(buffers, extents, {.seed = 5, .timeout_ms = timeout_ms, .state = state});
  }

  Status compare(const Probe& probe, const Graph& graph, Plan& plan, Plan& reference, const ProbeSize& size) {
    plan_device_ = device_.impl();
    const detail::GraphData& data = graph.data();
    std::vector<Operand> inputs = operands(data, data.inputs, size);
    fill_all(&inputs);
    std::vector<Operand> want = operands(data, data.outputs, size), got = want;
    Status status = run_plan(reference, inputs, want, size, 0);
    if (status != Status::Ok) return status;
    status = run_plan(plan, inputs, got, size, options_.time_limit_ms);
    const std::vector<std::string> kernels = culprits(probe, plan);
    if (status == Status::DeviceLost) {
      const bool late = device_.impl()->timed_out();
      return give_up(kernels, late ? SelfTestVerdict::TimedOut : SelfTestVerdict::Failed,
                     late ? format("no end after %u ms", options_.time_limit_ms) : std::string("the device was lost"),
                     status);
    }
    if (status != Status::Ok) return give_up(kernels, SelfTestVerdict::Failed, to_string(status), status);
    judge(probe, plan, size, got, want);
    return Status::Ok;
  }

  void judge(const Probe& probe, const Plan& plan, const ProbeSize& size, const std::vector<Operand>& got,
             const std::vector<Operand>& want) {
    double worst = 0;
    for (size_t o = 0; o < want.size(); ++o)
      for (size_t i = 0; i < want[o].count(); ++i) {
        const double b = want[o].value(i), difference = std::fabs(got[o].value(i) - b);
        const double limit = allowed(want[o].dtype, b);
        const double ratio = difference == 0 ? 0 : limit > 0 ? difference / limit : HUGE_VAL;
        if (!(ratio <= worst)) worst = std::isnan(ratio) ? HUGE_VAL : ratio;
      }
    const bool right = worst <= 1;
    if (!right) {
      blame(culprits(probe, plan), SelfTestVerdict::Wrong,
            format("%s at %lld x %lld is off by %g times what rounding explains", probe.name,
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

  // Suspects kernels of the operation itself, if it has a pass of its own. Earlier probes have tested the others.
  static std::vector<std::string> culprits(const Probe& probe, const Plan& plan) {
    const std::vector<std::string> own = kernels_of(plan, probe.name);
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

  // Blames kernels that did not end well. Ok if the test can go on.
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
  std::shared_ptr<detail::DeviceImpl> plan_device_;
  const Log log_;
  const SelfTestOptions& options_;
  SelfTestReport& report_;
};

}  // namespace

Status self_test(Device& device, const SelfTestOptions& options, SelfTestReport* report) {
  if (!device.valid() || report == nullptr) return Status::InvalidArgument;
  if (options.time_limit_ms == 0)
    return fail(device.impl()->log(), Status::InvalidArgument, "self-test: time_limit_ms is 0; at least 1 is needed");
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
