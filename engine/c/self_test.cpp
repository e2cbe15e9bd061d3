// The self-test and the tuning of a device, and the bits of its reproducible plans.
#include <heed/reproducible.hpp>
#include <heed/self_test.hpp>
#include <heed/tuning.hpp>

#include "c/objects.hpp"

namespace heed::c {
namespace {

struct SelfTested {
  using Handle = heed_self_test_report;
  static constexpr Kind kKind = Kind::SelfTestReport;
  SelfTestReport it;
};

struct TunedReport {
  using Handle = heed_tuning_report;
  static constexpr Kind kKind = Kind::TuningReport;
  TuningReport it;
};

struct BitsReport {
  using Handle = heed_bits_report;
  static constexpr Kind kKind = Kind::BitsReport;
  std::vector<OperationBits> operations;
};

void read(const Tuned& from, heed_tuned* to) {
  to->usual = from.usual.c_str();
  to->fastest = from.fastest.c_str();
  to->usual_ms = from.usual_ms;
  to->fastest_ms = from.fastest_ms;
  to->dtype = to_c(from.dtype);
  to->variants = from.variants;
}

heed_tuned read(const TuningReport& report, size_t index) {
  heed_tuned tuned = {};
  if (index < report.products.size()) {
    const TunedProduct& from = report.products[index];
    read(from, &tuned);
    tuned.m = from.m;
    tuned.n = from.n;
    tuned.k = from.k;
    tuned.transpose_b = from.transpose_b;
    return tuned;
  }
  const TunedAttention& from = report.attentions[index - report.products.size()];
  read(from, &tuned);
  tuned.is_attention = 1;
  tuned.queries = from.queries;
  tuned.keys = from.keys;
  tuned.heads = from.heads;
  tuned.head_size = from.head_size;
  return tuned;
}

size_t count_of(const TuningReport& report) { return report.products.size() + report.attentions.size(); }

static_assert(HEED_SELF_TEST_UNUSED == static_cast<int>(SelfTestVerdict::Unused));

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_device_self_test(heed_device* handle, uint32_t time_limit_ms, heed_self_test_report** report) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (!has_place(call, report, "report") || call.failed()) return call.status();
  heed::SelfTestOptions options;
  options.time_limit_ms = time_limit_ms;
  auto made = std::make_unique<SelfTested>();
  heed::Device tested = device->get();
  const heed::Status status = heed::self_test(tested, options, &made->it);
  device->set(std::move(tested));
  if (status == heed::Status::DeviceLost) {  // the report has the results so far
    give(call, std::move(made), report);
    return call.end(status, device->host.get());
  }
  call.end(status, device->host.get());
  return give(call, std::move(made), report);
}

size_t heed_self_test_report_count(heed_self_test_report* handle) {
  Call call(__func__);
  const Pin<SelfTested> report(call, handle);
  return report ? report->it.kernels.size() : 0;
}

heed_status heed_self_test_report_kernel(heed_self_test_report* handle, size_t index, heed_kernel_test* kernel) {
  Call call(__func__);
  const Pin<SelfTested> report(call, handle);
  Wanted<heed_kernel_test> wanted(call, kernel, "kernel");
  if (call.failed() || !call.has_index(index, report->it.kernels.size())) return call.status();
  const heed::KernelTest& from = report->it.kernels[index];
  heed_kernel_test to = {};
  to.kernel = from.kernel.c_str();
  to.detail = from.detail.c_str();
  to.worst = from.worst;
  to.verdict = static_cast<int32_t>(from.verdict);
  to.runs = from.runs;
  wanted.set(to);
  return call.status();
}

int32_t heed_self_test_report_passed(heed_self_test_report* handle) {
  Call call(__func__);
  const Pin<SelfTested> report(call, handle);
  return report && report->it.passed();
}

heed_status heed_self_test_report_blob(heed_self_test_report* handle, heed_blob** blob) {
  Call call(__func__);
  const Pin<SelfTested> report(call, handle);
  if (!has_place(call, blob, "blob") || call.failed()) return call.status();
  return give_blob(call, report->it.blob, blob);
}

heed_status heed_self_test_report_destroy(heed_self_test_report* report) {
  return destroy<SelfTested>(__func__, report);
}

heed_status heed_device_tune(heed_device* handle, uint32_t time_limit_ms, heed_tuning_report** report) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (!has_place(call, report, "report") || call.failed()) return call.status();
  heed::TuningOptions options;
  if (time_limit_ms != 0) options.time_limit_ms = time_limit_ms;
  auto made = std::make_unique<TunedReport>();
  heed::Device tuned = device->get();
  call.end(heed::tune(tuned, options, &made->it), device->host.get());
  return give(call, std::move(made), report);
}

heed_status heed_device_use_tuning(heed_device* handle, const void* blob, size_t bytes) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (!call.has_array(blob, bytes, "blob") || call.failed()) return call.status();
  heed::Device tuned = device->get();
  return call.end(heed::use_tuning(tuned, {static_cast<const std::byte*>(blob), bytes}), device->host.get());
}

size_t heed_tuning_report_count(heed_tuning_report* handle) {
  Call call(__func__);
  const Pin<TunedReport> report(call, handle);
  return report ? count_of(report->it) : 0;
}

heed_status heed_tuning_report_get(heed_tuning_report* handle, size_t index, heed_tuned* tuned) {
  Call call(__func__);
  const Pin<TunedReport> report(call, handle);
  Wanted<heed_tuned> wanted(call, tuned, "tuned");
  if (call.failed() || !call.has_index(index, count_of(report->it))) return call.status();
  wanted.set(read(report->it, index));
  return call.status();
}

heed_status heed_tuning_report_blob(heed_tuning_report* handle, heed_blob** blob) {
  Call call(__func__);
  const Pin<TunedReport> report(call, handle);
  if (!has_place(call, blob, "blob") || call.failed()) return call.status();
  return give_blob(call, report->it.blob, blob);
}

heed_status heed_tuning_report_destroy(heed_tuning_report* report) { return destroy<TunedReport>(__func__, report); }

heed_status heed_device_operation_bits(heed_device* handle, heed_bits_report** report) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (!has_place(call, report, "report") || call.failed()) return call.status();
  auto made = std::make_unique<BitsReport>();
  heed::Device asked = device->get();
  call.end(heed::operation_bits(asked, &made->operations), device->host.get());
  return give(call, std::move(made), report);
}

size_t heed_bits_report_count(heed_bits_report* handle) {
  Call call(__func__);
  const Pin<BitsReport> report(call, handle);
  return report ? report->operations.size() : 0;
}

heed_status heed_bits_report_get(heed_bits_report* handle, size_t index, heed_operation_bits* bits) {
  Call call(__func__);
  const Pin<BitsReport> report(call, handle);
  Wanted<heed_operation_bits> wanted(call, bits, "bits");
  if (call.failed() || !call.has_index(index, report->operations.size())) return call.status();
  const heed::OperationBits& from = report->operations[index];
  heed_operation_bits to = {};
  to.operation = from.operation.c_str();
  to.bits = from.bits;
  to.known = from.known;
  wanted.set(to);
  return call.status();
}

heed_status heed_bits_report_destroy(heed_bits_report* report) { return destroy<BitsReport>(__func__, report); }
