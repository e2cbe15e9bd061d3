#include "vulkan/tune/contest.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "base/half.hpp"
#include "base/logging.hpp"

namespace heed::vulkan {
namespace {

// Each kernel runs kRepeats times, or, after kFewestRepeats, until it has taken kEnoughMs.
constexpr int kRepeats = 7, kFewestRepeats = 3;
constexpr double kEnoughMs = 20;
constexpr double kHopeless = 3;  // times the fastest so far: one run is enough

std::shared_ptr<const Tuning> forcing(const std::string& variant) {
  auto tuning = std::make_shared<Tuning>();
  tuning->choices.push_back({variant, Tuning::kEverywhere});
  return tuning;
}

std::shared_ptr<const Tuning> listing_all() {
  auto tuning = std::make_shared<Tuning>();
  tuning->lists_all = true;
  return tuning;
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

std::vector<std::byte> tuning_values(DType dtype, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  convert_floats(values.data(), DType::F32, bytes.data(), dtype, values.size());
  return bytes;
}

Using::Using(VulkanDevice& device, std::shared_ptr<const Tuning> tuning)
    : capabilities_(device.context().capabilities), before_(std::exchange(capabilities_.tuning, std::move(tuning))) {}

Using::~Using() { capabilities_.tuning = std::move(before_); }

Tuned ContestResult::report() const {
  const Measurement &usual = measured[0], &best = measured[fastest];
  return {dtype, usual.variant, usual.ms, best.variant, best.ms, static_cast<uint32_t>(measured.size())};
}

void ContestResult::choose(Tuning* found, uint32_t size_class, std::string_view among) const {
  if (fastest != 0) heed::choose(found, std::string(measured[fastest].variant).append(among), size_class);
}

Contest::Contest(Device& device, const Graph& graph, const Weights& weights, DType dtype, const CompileOptions& options)
    : device_(device),
      vulkan_(static_cast<VulkanDevice&>(*device.impl())),
      graph_(graph),
      weights_(weights),
      dtype_(dtype),
      options_({.timestamps = true,
                .record_slots = 1,
                .round_rows = options.round_rows,
                .emulate_f32 = options.emulate_f32}) {}

Status Contest::begin() {
  Status status = lower(&usual_);
  if (status != Status::Ok) return status;
  Lowered all;
  const Using listing(vulkan_, listing_all());
  status = lower(&all);
  if (all.schedule.passes.size() != 1) return status;  // the device computes it by other passes
  std::set<std::string> names;
  for (uint32_t i = 0; i < all.kernels.count; ++i)
    if (const KernelKey& key = all.kernels.uses[i].key; variant_name(key) != kernel_name(key))
      names.insert(variant_name(key));
  for (const std::string& name : names) variants_.push_back({name, {}, {}, false});
  return status;
}

Status Contest::lower(Lowered* lowered) {
  const CompileOptions asked = {.round_rows = options_.round_rows, .emulate_f32 = options_.emulate_f32};
  const auto planning = vulkan_.planning();
  Status status = make_schedule(graph_.data(), {asked, planning.get()}, vulkan_.log(), &lowered->schedule);
  if (status == Status::Ok)
    status = select_kernels(lowered->schedule, lowered->schedule.passes.front(), vulkan_.context().capabilities,
                            vulkan_.log(), &lowered->kernels);
  return status;
}

// The variant that runs the pass at this size.
std::string Contest::used(const Lowered& lowered, std::span<const ExtentValue> extents) const {
  std::vector<int64_t> values, sizes = lowered.schedule.max_values;
  for (const ExtentValue& extent : extents) values.push_back(extent.value);
  if (!lowered.schedule.sizes.evaluate(values, sizes)) return "";
  RunValues run;
  run.sizes = sizes;
  const auto list = std::make_unique<DispatchList>();
  emit_dispatches(lowered.schedule, lowered.schedule.passes.front(), vulkan_.context().capabilities, lowered.kernels,
                  run, list.get());
  return variant_name(lowered.kernels.uses[list->dispatches[0].kernel].key);
}

// The default variant runs first, and the others' results must agree with it.
Status Contest::hold(const ContestSize& size, ContestResult* result) {
  *result = {dtype_, {}, 0};
  const std::string usual = used(usual_, size.extents);
  std::stable_partition(variants_.begin(), variants_.end(), [&](const Variant& v) { return v.name == usual; });
  std::vector<std::byte> first, y(static_cast<size_t>(size.outputs) * size_of(dtype_));
  double fastest = HUGE_VAL;
  for (Variant& variant : variants_) {
    if (variant.wrong) continue;
    Status status = prepare(&variant);
    if (status != Status::Ok) return status;
    if (used(variant.lowered, size.extents) != variant.name) continue;  // the variant does not support this size
    Measurement one = {variant.name, 0};
    std::fill(y.begin(), y.end(), std::byte{0xff});  // NaN, to detect elements that are not written
    status = measure(&variant.plan, size, fastest, &y, &one.ms);
    if (status != Status::Ok) return status;
    if (first.empty()) first = y;
    variant.wrong = !agree(y, first);
    if (variant.wrong) {
      log(vulkan_.log(), LogLevel::Warning, "tune: " + variant.name + " differs from " + usual + " and is left out");
      continue;
    }
    fastest = std::min(fastest, one.ms);
    result->measured.push_back(std::move(one));
  }
  if (result->held()) result->fastest = fastest_of(result->measured);
  return Status::Ok;
}

Status Contest::prepare(Variant* variant) {
  if (variant->plan.valid()) return Status::Ok;
  const Using forced(vulkan_, forcing(variant->name));
  const Status status = lower(&variant->lowered);
  if (status != Status::Ok) return status;
  return device_.compile(graph_, weights_, &variant->plan, options_);
}

// The median of several runs, after a warm-up run.
Status Contest::measure(Plan* plan, const ContestSize& size, double fastest, std::vector<std::byte>* y, double* ms) {
  std::vector<HostBuffer> buffers(size.inputs.begin(), size.inputs.end());
  buffers.emplace_back("y", std::span<std::byte>(*y));
  std::vector<double> times;
  double spent = 0;
  for (int i = 0; i <= kRepeats; ++i) {
    Status status = plan->run(buffers, size.extents);
    std::vector<PassTime> passes;
    if (status == Status::Ok) status = plan->timings(&passes);
    if (status != Status::Ok) return status;
    double sum = 0;
    for (const PassTime& pass : passes) sum += pass.milliseconds;
    if (i > 0) times.push_back(sum);
    spent += sum;
    const bool enough = i >= kFewestRepeats && spent > kEnoughMs;
    if (enough || (i > 0 && sum > kHopeless * fastest)) break;
  }
  *ms = median(std::move(times));
  return Status::Ok;
}

// Results may differ by the order of sums; 16-bit results are rounded once, and may differ by a few such steps. Kernels that round each
// number of a row by up to 2^-8 differ more.
bool Contest::agree(std::span<const std::byte> a, std::span<const std::byte> b) const {
  const size_t count = a.size() / size_of(dtype_);
  std::vector<float> x(count), y(count);
  convert_floats(a.data(), dtype_, x.data(), DType::F32, count);
  convert_floats(b.data(), dtype_, y.data(), DType::F32, count);
  float worst = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(std::fabs(x[i]) < HUGE_VALF)) return false;
    worst = std::max(worst, std::fabs(x[i] - y[i]));
    largest = std::max(largest, std::fabs(y[i]));
  }
  const float allowed = dtype_ == DType::F16 ? 4e-3f : dtype_ == DType::BF16 || options_.round_rows ? 3.2e-2f : 1e-4f;
  return worst <= allowed * largest;
}

}  // namespace heed::vulkan
