// Runs the case table.

#include "harness/catch.hpp"
#include "harness/devices.hpp"
#include "harness/environment.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

constexpr size_t kGuardBytes = 64;  // bytes after every output, which nothing may write
constexpr std::byte kGuard{0xA5};
constexpr size_t kBf16Step = 7;  // in a table with all types, every seventh case runs in bf16

double decode(std::span<const std::byte> bytes, DType dtype, size_t i) {
  const std::byte* at = bytes.data() + i * size_of(dtype);
  float f;
  uint16_t h;
  int32_t n;
  switch (dtype) {
    case DType::F32: std::memcpy(&f, at, sizeof f); return static_cast<double>(f);
    case DType::F16: std::memcpy(&h, at, sizeof h); return half_value(h);
    case DType::BF16: std::memcpy(&h, at, sizeof h); return bfloat_value(h);
    case DType::I32: std::memcpy(&n, at, sizeof n); return n;
    default: return static_cast<double>(std::to_integer<uint8_t>(*at));
  }
}

struct Execution {
  Status status = Status::Ok;
  std::vector<std::vector<std::byte>> outputs;
};

// A state is zero before the run.
Execution execute(Plan& plan, Run& run, State state) {
  Execution execution;
  std::vector<HostBuffer> buffers;
  for (Run::Input& input : run.inputs) buffers.emplace_back(input.name, std::span<const std::byte>(input.bytes));
  execution.outputs.reserve(run.expectations.size());
  for (const Expectation& expected : run.expectations) {
    const size_t bytes = static_cast<size_t>(expected.reference.size()) * size_of(expected.dtype);
    auto& memory = execution.outputs.emplace_back(bytes + kGuardBytes, kGuard);
    buffers.emplace_back(expected.name, std::span<std::byte>(memory).first(bytes));
  }
  RunOptions options = run.options;
  options.state = state;
  if (state.valid()) execution.status = state.reset();
  if (execution.status == Status::Ok) execution.status = plan.run(buffers, run.extents, options);
  return execution;
}

// Whether the outputs equal those of the first device.
bool repeats_bits(Run& run, const std::vector<std::vector<std::byte>>& outputs) {
  if (run.bits.empty()) run.bits = outputs;
  return run.bits == outputs;
}

std::string check_run(Plan& plan, Run& run, const State& state, bool reproducible, Tally* tally) {
  ++tally->runs;
  const Execution first = execute(plan, run, state);
  const std::string messages = take_checked_messages();
  if (first.status != run.status) return std::string("run returned ") + to_string(first.status) + " " + messages;
  if (messages.find(run.message) == std::string::npos)
    return "the log says '" + messages + "', not '" + run.message + "'";
  for (size_t i = 0; i < run.expectations.size(); ++i) {
    const std::string difference = ops::difference(run.expectations[i], first.outputs[i], tally);
    if (!difference.empty()) return difference;
    for (size_t g = 0; g < kGuardBytes; ++g)
      if (first.outputs[i][first.outputs[i].size() - 1 - g] != kGuard)
        return run.expectations[i].name + " was written past its end";
  }
  if (reproducible && !repeats_bits(run, first.outputs)) return "not the bits of the device that ran first";
  const Execution second = execute(plan, run, state);
  take_checked_messages();
  return second.outputs == first.outputs ? "" : "a second run gave other bits";
}

std::string check_passes(const Plan& plan, const Trial& trial) {
  // Reproducible plans have casts before and after passes with 16-bit types.
  const bool casts = trial.options.reproducible && (trial.dtype != DType::F32 || trial.keeps_narrow);
  if (trial.passes.empty() || casts) return "";
  std::string got, want;
  // A fused attention counts as the passes that it replaces.
  for (const PassInfo& pass : plan.passes()) got += pass.op == "attention" ? " matmul softmax matmul" : " " + pass.op;
  for (const std::string& op : trial.passes) want += " " + op;
  return got == want ? "" : "passes are" + got + "; expected" + want;
}

}  // namespace

std::string difference(const Expectation& expected, std::span<const std::byte> bytes, Tally* tally) {
  double error2 = 0.0, value2 = 0.0;
  for (int64_t i = 0; i < expected.reference.size(); ++i) {
    const double got = decode(bytes, expected.dtype, static_cast<size_t>(i));
    const double want = expected.reference.at(i), bound = expected.exact ? 0.0 : expected.reference.err(i);
    if (std::isinf(want) && got == want) continue;
    if (std::isnan(want) && std::isnan(got)) continue;
    const double error = std::abs(got - want);
    char text[160];
    if (!(error <= bound)) {  // also true for NaN
      std::snprintf(text, sizeof text, "%s[%lld] is %.9g; expected %.9g within %.3g", expected.name.c_str(),
                    static_cast<long long>(i), got, want, bound);
      return text;
    }
    if (bound > 0.0) tally->worst = std::max(tally->worst, error / bound);
    error2 += error * error;
    value2 += want * want;
  }
  if (expected.exact || std::isinf(expected.nmse) || error2 <= expected.nmse * value2) return "";
  // Subnormal halves have no relative precision.
  if (expected.dtype == DType::F16 && error2 <= 0x1p-48 * static_cast<double>(expected.reference.size())) return "";
  char text[160];
  std::snprintf(text, sizeof text, "%s has a normalized mean square error of %.3g; %.3g is allowed",
                expected.name.c_str(), error2 / value2, expected.nmse);
  return text;
}

Verdict check_trial(Device device, Trial& trial, Tally* tally, const std::vector<bool>& wanted) {
  // Reproducible plans, whose bits are compared among the devices of this process.
  trial.options.reproducible |= test::number_from("HEED_TEST_REPRODUCIBLE", 0) != 0;
  Weights weights;
  Status status = device.upload(trial.host_weights(), &weights);
  if (status != Status::Ok)
    return {std::string("upload returned ") + to_string(status) + " " + take_checked_messages()};
  Plan plan;
  status = device.compile(trial.graph, weights, &plan, trial.options);
  const std::string messages = take_checked_messages();
  if (status == Status::Unsupported && (trial.dtype != DType::F32 || trial.keeps_narrow || trial.options.reproducible))
    return {"", 0, true};
  if (status != Status::Ok) return {std::string("compile returned ") + to_string(status) + " " + messages};
  State state;
  if (plan.state_bytes() > 0) status = plan.make_state(&state);
  if (status != Status::Ok) return {std::string("make_state returned ") + to_string(status)};
  Verdict verdict = {check_passes(plan, trial)};
  for (Run& run : trial.runs) {
    if (!verdict.difference.empty()) break;
    if (wanted.empty() || wanted[verdict.run])
      verdict.difference = check_run(plan, run, state, trial.options.reproducible, tally);
    if (verdict.difference.empty()) ++verdict.run;
  }
  return verdict;
}

CaseSteps case_steps() {
  const char* variable = std::getenv("HEED_TEST_EVERY");
  if (variable == nullptr) return {};
  char* end = nullptr;
  CaseSteps steps;
  steps.step = std::max<size_t>(1, std::strtoul(variable, &end, 10));
  if (*end == '+') steps.first = std::strtoul(end + 1, nullptr, 10);
  return steps;
}

void check(const Operation& operation) { check(operation, test_devices()); }

void check(const Operation& operation, const std::vector<TestDevice>& devices) {
  std::map<std::string, Tally> tallies;
  const CaseSteps steps = case_steps();
  for (size_t i = steps.first; i < operation.cases.size(); i += steps.step) {
    const Case& test = operation.cases[i];
    for (const DType dtype : operation.dtypes) {
      const bool left_out = operation.dtypes.size() > 2 && i % kBf16Step != 0 && !test.in_bf16;
      if (dtype == DType::BF16 && left_out) continue;
      Trial trial(dtype);
      test.build(trial);
      if (trial.runs.empty()) continue;  // the case does not apply to this type
      for (const TestDevice& device : devices) {
        if (device.interpreted && test.many_groups) continue;
        Tally& tally = tallies[device.word + " " + to_string(dtype)];
        const Verdict verdict = check_trial(device.device, trial, &tally);
        ++(verdict.unsupported ? tally.unsupported : tally.ran);
        if (verdict.difference.empty()) continue;
        FAIL_CHECK(operation.name << " / " << test.name << " / " << to_string(dtype) << " / " << device.word << ": run "
                                  << verdict.run << ": " << verdict.difference);
      }
    }
  }
  std::printf("%-20s", operation.name);
  for (const auto& [where, tally] : tallies) {
    std::printf(" | %s: %d cases, %d runs", where.c_str(), tally.ran, tally.runs);
    if (tally.unsupported > 0) std::printf(", %d unsupported", tally.unsupported);
    if (tally.ran > 0) std::printf(", worst error %.2f of its bound", tally.worst);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace heed::ops
