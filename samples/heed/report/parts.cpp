#include <algorithm>

#include <heed/reproducible.hpp>
#include <heed/self_test.hpp>

#include "bench/timing.hpp"
#include "commands.hpp"
#include "report/goldens.hpp"
#include "report/report.hpp"
#include "report/works.hpp"

namespace heed::program {

namespace {

using nlohmann::json;

Limits limits_of(const DeviceInfo& info) { return info.kind == DeviceKind::Cpu ? cpu_limits() : vulkan_limits(info); }

// Runs `one` for each work until the device is lost or the time is over. `one` adds to the part's rows.
template <class One>
json for_each_work(const PartContext& context, One&& one) {
  PartDevice opened;
  json part = {{"state", "passed"}, {"rows", json::array()}};
  if (!open_for(context, &opened, &part)) return part;
  for (const BenchCase& work : report_works()) {
    json row = {{"op", work.op}, {"shape", work.shape}};
    if (context.is_late()) {
      row["left_out"] = "no time was left";
      part["rows"].push_back(std::move(row));
      continue;
    }
    Prepared prepared;
    Status status = prepare(opened.device, work, &prepared);
    if (status == Status::Unsupported && work.may_be_unsupported)
      row["left_out"] = "not supported by the device";
    else if (status == Status::Ok)
      status = one(work, prepared, &row);
    if (status != Status::Ok && !row.contains("left_out")) {
      part.update(failed_part(status, opened.messages));
      row["left_out"] = to_string(status);
    }
    part["rows"].push_back(std::move(row));
    if (status == Status::DeviceLost) break;
  }
  return part;
}

}  // namespace

json failed_part(Status status, goldens::Messages& messages) {
  const std::vector<std::string> said = messages.take();
  return {{"state", status == Status::DeviceLost ? "device lost" : "failed"},
          {"reason", without_paths(said.empty() ? to_string(status) : said.front())}};
}

bool open_for(const PartContext& context, PartDevice* opened, json* part) {
  DeviceOptions options = device_options(context.select, opened->messages.log());
  options.self_test = false;  // it ran when the report began
  const Status status = Device::open(options, &opened->device);
  if (status != Status::Ok) *part = failed_part(status, opened->messages);
  return status == Status::Ok;
}

json pipelines_part(const PartContext& context) {
  size_t pipelines = 0;
  json part = for_each_work(context, [&](const BenchCase&, Prepared& prepared, json* row) {
    const std::vector<PipelineInfo> all = prepared.plan.pipelines();
    pipelines += all.size();
    (*row)["pipelines"] = all.size();
    return Status::Ok;
  });
  part["pipelines"] = pipelines;
  return part;
}

json times_part(const PartContext& context) {
  const Limits limits = limits_of(context.info);
  json part = for_each_work(context, [&](const BenchCase& work, Prepared& prepared, json* row) {
    Timing timing;
    const Status status = measure(prepared, context.seconds * 1e3, &timing);
    if (status == Status::Ok) *row = row_json(work, prepared, timing, limits);
    return status;
  });
  part["multiply_add_gflops"] = limits.gflops;
  part["copy_gigabytes_per_second"] = limits.gigabytes;
  if (!limits.why.empty()) part["limits_failed"] = without_paths(limits.why);
  // The rate of multiply-adds in registers is proportional to the clock: measured again after the works, it shows whether the clock fell.
  if (limits.gflops > 0) part["clock_after"] = limits_of(context.info).gflops / limits.gflops;
  return part;
}

json goldens_part(const PartContext& context) {
  PartDevice opened;
  json part = {{"state", "passed"}};
  if (!open_for(context, &opened, &part)) return part;
  int passed = 0, left_out = 0;
  double worst = 0;
  json failed = json::array();
  for (const HeldGolden& held : held_goldens()) {
    if (context.is_late()) {
      ++left_out;
      continue;
    }
    SafeTensors file;
    const Status status = SafeTensors::parse(held.bytes, held.name, opened.messages.log(), &file);
    goldens::Result result;
    result.detail = to_string(status);
    if (status == Status::Ok) result = goldens::verify(opened.device, opened.messages, file, held.name, false);
    worst = std::max(worst, result.max_abs);
    if (result.verdict == goldens::Verdict::Ok)
      ++passed;
    else
      failed.push_back({{"case", held.name}, {"detail", without_paths(result.detail)}});
  }
  part["passed"] = passed;
  part["left_out"] = left_out;
  part["max_abs"] = worst;
  if (!failed.empty()) part["state"] = "failed";
  part["failed"] = std::move(failed);
  return part;
}

json bits_part(const PartContext& context) {
  json part = {{"state", "passed"}};
  PartDevice opened;
  if (!open_for(context, &opened, &part)) return part;
  std::vector<OperationBits> operations;
  const Status status = operation_bits(opened.device, &operations);
  if (status == Status::Unsupported)
    return {{"state", "left out"}, {"reason", "the device cannot promise reproducible plans"}};
  if (status != Status::Ok) return failed_part(status, opened.messages);
  int right = 0;
  json wrong = json::array();
  for (const OperationBits& one : operations) {
    if (one.bits == one.known)
      ++right;
    else
      wrong.push_back(one.operation);
  }
  part["right"] = right;
  if (!wrong.empty()) part["state"] = "failed";
  part["wrong"] = std::move(wrong);
  return part;
}

json self_test_part(const PartContext& context) {
  if (context.info.kind == DeviceKind::Cpu)
    return {{"state", "left out"}, {"reason", "the CPU is what others are compared with"}};
  json part = {{"state", "passed"}};
  PartDevice opened;
  if (!open_for(context, &opened, &part)) return part;
  SelfTestReport report;
  const Status status = self_test(opened.device, {}, &report);
  if (status != Status::Ok && report.kernels.empty()) return failed_part(status, opened.messages);
  int passed = 0, unused = 0;
  double worst = 0;
  json not_passed = json::array();
  for (const KernelTest& one : report.kernels) {
    passed += one.verdict == SelfTestVerdict::Passed;
    unused += one.verdict == SelfTestVerdict::Unused;
    worst = std::max(worst, one.worst);
    if (one.verdict != SelfTestVerdict::Passed && one.verdict != SelfTestVerdict::Unused)
      not_passed.push_back(
          {{"kernel", one.kernel}, {"verdict", to_string(one.verdict)}, {"detail", without_paths(one.detail)}});
  }
  part["passed"] = passed;
  part["unused"] = unused;
  part["worst"] = worst;
  if (status != Status::Ok)
    part.update(failed_part(status, opened.messages));
  else if (!not_passed.empty())
    part["state"] = "failed";
  part["not_passed"] = std::move(not_passed);
  return part;
}

}  // namespace heed::program
