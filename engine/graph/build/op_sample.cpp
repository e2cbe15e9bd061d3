// Graph call: sample, and the settings as the words that kernels read.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/float_environment.hpp"
#include "base/sample.hpp"
#include "graph/build/build.hpp"

namespace heed {
namespace {

using detail::Build;

const char* mistake_in(const SampleOptions& options) {
  const auto is_share = [](float value) { return value >= 0.0f && value <= 1.0f; };  // false for NaN
  if (!std::isfinite(options.temperature) || options.temperature < 0.0f) return "temperature must be 0 or more";
  if (options.top_k < 0) return "top_k must be 0 or more";
  if (!is_share(options.top_p)) return "top_p must be 0 to 1";
  if (!is_share(options.min_p)) return "min_p must be 0 to 1";
  if (!std::isfinite(options.repetition_penalty) || options.repetition_penalty <= 0.0f)
    return "repetition_penalty must be more than 0";
  return nullptr;
}

// Computed in double, so that the words are the same on every processor.
SampleSettings settings_from(const SampleOptions& options) {
  const UsualFloats floats;
  // volatile keeps the compiler from reordering or fusing the arithmetic.
  const volatile double temperature = options.temperature, top_p = options.top_p, min_p = options.min_p,
                        penalty = options.repetition_penalty;
  // Distances are halved, so that the distance of any two floats is a float.
  const double rate = std::fmin(2.0 * std::numbers::log2e / std::fmax(temperature, 0x1p-98), 0x1p98);
  SampleSettings settings;
  settings.rate = temperature == 0.0 ? 0.0f : static_cast<float>(std::fmax(rate, 0x1p-98));
  settings.reach = static_cast<float>(sampling::kHalvings / std::fmax(rate, 0x1p-98));
  settings.top_k = static_cast<uint32_t>(std::min<int64_t>(options.top_k, INT32_MAX));
  settings.top_p = top_p < 1.0 ? static_cast<uint32_t>(top_p * 0x1p32) : UINT32_MAX;
  settings.min_p = static_cast<uint32_t>(min_p * 0x1p31 + 0.5);
  const volatile double held = std::fmin(std::fmax(penalty, 0x1p-126), 0x1p126);  // devices may flush subnormal factors
  settings.penalty = static_cast<float>(held);
  settings.inverse = static_cast<float>(1.0 / held);
  return settings;
}
static_assert(sizeof(SampleWords) == sizeof(SampleSettings));

SampleWords words_of(const SampleOptions& options) { return std::bit_cast<SampleWords>(settings_from(options)); }

// Whether an operand has `trailing` dims for each row of x, or once for all rows.
bool is_per_row(Build& build, const TensorInfo& info, const TensorInfo& x, int trailing) {
  const int leading = info.rank - trailing;
  if (leading < 0) return false;
  bool shared = true, same = leading == x.rank - 1;
  for (int i = 0; i < leading; ++i) {
    const auto at = static_cast<size_t>(i);
    shared = shared && build.data().sizes.is_constant(info.dims[at], 1);
    same = same && info.dims[at] == x.dims[at];
  }
  return shared || same;
}

class Operands {
 public:
  Operands(Build& build, Tensor x) : build_(build), x_(x) {}

  // `trailing`: 1 if the operand has rows, 0 if it has one number per row of x. `length`: required length of its rows; < 0: any.
  bool check(const char* what, Tensor t, DType type, int trailing, SizeId length = -1) const {
    if (!t.valid()) return true;
    const TensorInfo& info = build_.info(t);
    if (info.dtype != type)
      return build_.refuse(Status::DTypeMismatch,
                           format("%s %s; %s is needed", what, build_.text(t).c_str(), to_string(type)));
    const bool fits =
        is_per_row(build_, info, build_.info(x_), trailing) && (length < 0 || build_.dim_from_end(info, 0) == length);
    if (fits) return true;
    const std::string of = length < 0 ? "" : " of " + build_.size_text(length);
    return build_.refuse(Status::ShapeMismatch, format("%s %s; one %s%s for each row of %s, or for all, is needed",
                                                       what, build_.text(t).c_str(), trailing == 1 ? "row" : "number",
                                                       of.c_str(), build_.text(x_).c_str()));
  }

 private:
  Build& build_;
  Tensor x_;
};

bool check_numbers(Build& build, const SampleOptions& options) {
  if (!build.is_number(options.step) || !build.is_number(options.previous_count.value_or(Dim(0))))
    return build.refuse(Status::InvalidArgument, "step and previous_count must be numbers of this graph");
  if ((options.steps.valid() && options.step != Dim(0)) ||
      (options.previous_counts.valid() && options.previous_count.has_value()))
    return build.refuse(Status::InvalidArgument,
                        "step and steps, or previous_count and previous_counts, exclude each other");
  if (!options.previous.valid() && (options.previous_counts.valid() || options.previous_count.has_value()))
    return build.refuse(Status::InvalidArgument, "previous tokens are counted, but not given");
  if (const char* mistake = mistake_in(options)) return build.refuse(Status::InvalidArgument, mistake);
  return true;
}

// Equal settings share one constant.
Tensor settings_of(Build& build, const SampleOptions& options) {
  const SampleWords words = words_of(options);
  std::string name = "sample";
  for (const int32_t word : words) name += format("/%08x", static_cast<uint32_t>(word));
  return build.shared_table(name, {kSampleWords}, DType::I32, kSampleWords,
                            [&](std::byte* memory) { std::memcpy(memory, words.data(), sizeof words); });
}

}  // namespace

Status sample_words(const SampleOptions& options, SampleWords* words) {
  if (words == nullptr) return refuse("sample_words: words is null");
  if (const char* mistake = mistake_in(options)) return refuse((std::string("sample_words: ") + mistake).c_str());
  *words = words_of(options);
  return Status::Ok;
}

Tensor Graph::sample(Tensor logits, const SampleOptions& options) {
  Build build(*data_, "sample");
  if (!build.needs({logits}) || !build.allows({options.bias, options.previous, options.previous_counts, options.steps,
                                               options.seeds, options.settings}))
    return {};
  TensorInfo rows = build.info(logits);
  if (rows.rank < 2 || !is_float(rows.dtype))
    return build.fail(Status::ShapeMismatch,
                      format("%s: f32, f16 or bf16 [..., V] of rank 2 or more is needed", build.text(logits).c_str()));
  const Operands operands(build, logits);
  const bool fit = operands.check("bias", options.bias, rows.dtype, 1, build.dim_from_end(rows, 0)) &&
                   operands.check("previous", options.previous, DType::I32, 1) &&
                   operands.check("previous_counts", options.previous_counts, DType::I32, 0) &&
                   operands.check("steps", options.steps, DType::I32, 0) &&
                   operands.check("seeds", options.seeds, DType::I32, 0) &&
                   operands.check("settings", options.settings, DType::I32, 1, data_->sizes.constant(kSampleWords)) &&
                   check_numbers(build, options);
  if (!fit) return {};
  SampleAttrs attrs{options.stream.value_or(data_->sample_streams), {}, build.id_of(options.step)};
  ++data_->sample_streams;
  if (options.previous.valid())
    attrs.count = options.previous_count ? build.id_of(*options.previous_count)
                                         : build.dim_from_end(build.info(options.previous), 0);
  const auto dense = [&](Tensor t) { return t.valid() ? build.contiguous(t) : t; };
  const Tensor settings = options.settings.valid() ? dense(options.settings) : settings_of(build, options);
  // A penalty of 1 changes no logit.
  const bool penalizes = options.settings.valid() || options.repetition_penalty != 1.0f;
  const Tensor previous = penalizes ? dense(options.previous) : Tensor{},
               counts = penalizes ? dense(options.previous_counts) : Tensor{};
  const Tensor bias = dense(options.bias), steps = dense(options.steps), seeds = dense(options.seeds);
  if (build.failed()) return {};
  --rows.rank;
  const Tensor result = build.add_like(rows, DType::I32);
  build.add_node(Op::Sample, {logits, bias, previous, counts, steps, seeds, settings}, result, attrs);
  return result;
}

}  // namespace heed
