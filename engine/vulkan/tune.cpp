// Times every kernel that a product could use, by plans that are compiled with one of them forced.
#include "vulkan/tune.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/tuning_choice.hpp"
#include "vulkan/device.hpp"

namespace heed::vulkan {
namespace {

using Clock = std::chrono::steady_clock;

// One row, and rows around the edges of tiles: one of each class of sizes.
constexpr int64_t kRows[] = {1, 4, 8, 16, 32, 64, 256, 1024};
constexpr int64_t kMostRows = 1024;
constexpr int64_t kSides[] = {512, 2048};  // columns and depth
// Runs of one kernel: at most so many, and no more than kEnoughMs take but for kFewestRepeats.
constexpr int kRepeats = 7, kFewestRepeats = 3;
constexpr double kEnoughMs = 20;
constexpr double kLongestMs = 30;  // products that would take longer are not timed
constexpr double kHopeless = 3;    // times the fastest yet: once is enough

VulkanDevice& vulkan_of(Device& device) { return static_cast<VulkanDevice&>(*device.impl()); }

// b [k, n], or [n, k] if transposed; a has up to kMostRows.
struct Matrix {
  DType dtype;
  int64_t n, k;
  bool transpose_b;

  Graph graph() const {
    Graph g;
    const Tensor a = g.input("a", {g.extent("m", kMostRows), k}, dtype);
    const Tensor b = g.weight("b", transpose_b ? Shape{n, k} : Shape{k, n}, dtype);
    g.output("y", g.matmul(a, b, {.transpose_b = transpose_b}));
    return g;
  }
};

// What the product becomes with what the device's tuning says, without a plan.
class Lowered {
 public:
  Status lower(const Graph& graph, VulkanDevice& device) {
    device_ = &device;
    Status status = make_schedule(graph.data(), device.schedule_options(), device.log(), &schedule_);
    if (status == Status::Ok)
      status = select_kernels(schedule_, schedule_.steps.front(), device.context().capabilities, device.log(),
                              &kernels_);
    return status;
  }

  std::set<std::string> variants() const {
    std::set<std::string> names;
    for (uint32_t i = 0; i < kernels_.count; ++i)
      if (const KernelKey& key = kernels_.uses[i].key; variant_name(key) != kernel_name(key))
        names.insert(variant_name(key));
    return names;
  }

  std::string used(int64_t m) const {
    std::vector<int64_t> sizes = schedule_.max_values;
    const int64_t extents[] = {m};
    if (!schedule_.sizes.evaluate(extents, sizes)) return "";
    RunValues values;
    values.sizes = sizes;
    DispatchList list;
    emit_dispatches(schedule_, schedule_.steps.front(), device_->context().capabilities, kernels_, values,
                    &list);
    return variant_name(kernels_.uses[list.dispatches[0].kernel].key);
  }

 private:
  VulkanDevice* device_ = nullptr;
  Schedule schedule_;
  KernelList kernels_;
};

void set_tuning(Context& context, std::shared_ptr<const Tuning> tuning) {
  context.tuning = std::move(tuning);
  context.capabilities.tuning = context.tuning.get();
}

// For as long as it lives the device chooses by this tuning.
class Using {
 public:
  Using(VulkanDevice& device, std::shared_ptr<const Tuning> tuning)
      : context_(device.context()), before_(context_.tuning) {
    set_tuning(context_, std::move(tuning));
  }
  ~Using() { set_tuning(context_, std::move(before_)); }
  Using(const Using&) = delete;

 private:
  Context& context_;
  std::shared_ptr<const Tuning> before_;
};

std::shared_ptr<const Tuning> forcing(const std::string& variant) {
  auto tuning = std::make_shared<Tuning>();
  tuning->choices.push_back({variant, Tuning::kEverywhere});
  return tuning;
}

struct Variant {
  std::string name;
  Lowered lowered;
  Plan plan;
};

// Values in [-1, 1).
std::vector<std::byte> pattern(DType dtype, int64_t count) {
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

// Sums of the same products in another order; those of f16 are rounded once.
bool agree(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b) {
  const size_t count = a.size() / size_of(dtype);
  std::vector<float> x(count), y(count);
  convert_floats(a.data(), dtype, x.data(), DType::F32, count);
  convert_floats(b.data(), dtype, y.data(), DType::F32, count);
  float worst = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const float difference = std::fabs(x[i] - y[i]);
    if (!(difference <= worst)) worst = difference;  // NaN sticks
    largest = std::max(largest, std::fabs(y[i]));
  }
  return worst <= (dtype == DType::F16 ? 4e-3f : 1e-4f) * largest;
}

class Tuner {
 public:
  Tuner(Device& device, const TuningOptions& options, TuningReport* report)
      : device_(device), vulkan_(vulkan_of(device)), report_(*report), start_(Clock::now()) {
    limit_ms_ = options.time_limit_ms;
  }

  Status run() {
    const Using estimates(vulkan_, nullptr);
    Status status = Status::Ok;
    for (const DType dtype : {DType::F32, DType::F16})
      for (const bool transpose_b : {true, false})
        for (const int64_t n : kSides)
          for (const int64_t k : kSides)
            if (status == Status::Ok && vulkan_.supports(dtype)) status = tune({dtype, n, k, transpose_b});
    report_.milliseconds = passed_ms();
    return status;
  }

  const Tuning& found() const { return found_; }

 private:
  double passed_ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

  bool is_late() const { return !report_.products.empty() && passed_ms() >= limit_ms_; }

  Status tune(const Matrix& matrix) {
    if (is_late()) return Status::Ok;
    const Graph graph = matrix.graph();
    Lowered usual;
    Status status = usual.lower(graph, vulkan_);
    if (status == Status::Ok) status = upload(matrix);
    if (status != Status::Ok) return status;
    std::vector<Variant> variants;
    for (const std::string& name : usual.variants()) variants.push_back({name, {}, {}});
    a_ = pattern(matrix.dtype, kMostRows * matrix.k);
    double fastest = 0;
    for (const int64_t m : kRows) {
      // The next has up to four times the rows.
      if (4 * fastest > kLongestMs || is_late()) break;
      status = tune(matrix, m, usual.used(m), graph, &variants, &fastest);
      if (status != Status::Ok) return status;
    }
    return Status::Ok;
  }

  Status upload(const Matrix& matrix) {
    const std::vector<std::byte> b = pattern(matrix.dtype, matrix.n * matrix.k);
    const int64_t shape[] = {matrix.transpose_b ? matrix.n : matrix.k,
                             matrix.transpose_b ? matrix.k : matrix.n};
    const HostTensor tensor = {"b", matrix.dtype, shape, b};
    return device_.upload(std::span(&tensor, 1), &weights_);
  }

  // One size. The usual variant comes first, and the others must agree with it.
  Status tune(const Matrix& matrix, int64_t m, const std::string& usual, const Graph& graph,
              std::vector<Variant>* variants, double* fastest) {
    std::stable_partition(variants->begin(), variants->end(),
                          [&](const Variant& v) { return v.name == usual; });
    std::vector<Measurement> measured;
    std::vector<std::byte> first;
    *fastest = HUGE_VAL;
    for (Variant& variant : *variants) {
      Status status = prepare(graph, &variant);
      if (status != Status::Ok) return status;
      if (variant.lowered.used(m) != variant.name) continue;  // cannot do it
      std::vector<std::byte> y(static_cast<size_t>(m * matrix.n) * size_of(matrix.dtype));
      Measurement one = {variant.name, 0};
      status = measure(matrix, m, *fastest, &variant.plan, &y, &one.ms);
      if (status != Status::Ok) return status;
      if (measured.empty()) first = y;
      if (!agree(matrix.dtype, y, first)) {
        log(vulkan_.log(), LogLevel::Warning,
            "tune: " + variant.name + " differs from " + usual + " and is left out");
        continue;
      }
      *fastest = std::min(*fastest, one.ms);
      measured.push_back(std::move(one));
    }
    if (measured.empty()) return Status::Ok;  // never: the usual one can do it
    const size_t best = fastest_of(measured);
    if (best != 0)
      choose(&found_, measured[best].variant, product_class(m, matrix.n, matrix.k, matrix.transpose_b));
    report_.products.push_back({matrix.dtype, m, matrix.n, matrix.k, matrix.transpose_b, measured[0].variant,
                                measured[0].ms, measured[best].variant, measured[best].ms,
                                static_cast<uint32_t>(measured.size())});
    return Status::Ok;
  }

  Status prepare(const Graph& graph, Variant* variant) {
    if (variant->plan.valid()) return Status::Ok;
    const Using forced(vulkan_, forcing(variant->name));
    Status status = variant->lowered.lower(graph, vulkan_);
    if (status == Status::Ok)
      status = device_.compile(graph, weights_, &variant->plan, {.timestamps = true, .record_slots = 1});
    return status;
  }

  // The median of several runs, after one that fills the caches.
  Status measure(const Matrix& matrix, int64_t m, double fastest, Plan* plan, std::vector<std::byte>* y,
                 double* ms) {
    const auto a =
        std::span<const std::byte>(a_).first(static_cast<size_t>(m * matrix.k) * size_of(matrix.dtype));
    std::vector<double> times;
    double spent = 0;
    for (int i = 0; i <= kRepeats; ++i) {
      Status status = plan->run({{"a", a}, {"y", std::span<std::byte>(*y)}}, {{"m", m}});
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
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
    *ms = times[times.size() / 2];
    return Status::Ok;
  }

  Device& device_;
  VulkanDevice& vulkan_;
  TuningReport& report_;
  const Clock::time_point start_;
  double limit_ms_ = 0;
  Weights weights_;
  std::vector<std::byte> a_;
  Tuning found_;
};

}  // namespace

Status tune(Device& device, const TuningOptions& options, TuningReport* report) {
  VulkanDevice& vulkan = vulkan_of(device);
  if (vulkan.context().timestamp_bits() == 0)
    return fail(vulkan.log(), Status::Unsupported,
                "tune: the queue of " + device.info().word + " has no timestamps");
  Tuner tuner(device, options, report);
  const Status status = tuner.run();
  if (status != Status::Ok) return status;
  report->blob = write_tuning(vulkan.self_test_key(), tuner.found());
  set_tuning(vulkan.context(), std::make_shared<Tuning>(tuner.found()));
  return Status::Ok;
}

Status use_tuning(Device& device, std::span<const std::byte> blob) {
  VulkanDevice& vulkan = vulkan_of(device);
  auto tuning = std::make_shared<Tuning>();
  std::string why;
  const Status status = read_tuning(blob, vulkan.self_test_key(), tuning.get(), &why);
  if (status != Status::Ok) return fail(vulkan.log(), status, "use_tuning: the tuning is not used: " + why);
  set_tuning(vulkan.context(), std::move(tuning));
  return Status::Ok;
}

}  // namespace heed::vulkan
