// Rotary embedding: which pairs turn, and how fast.
#include <bit>
#include <cmath>
#include <numbers>

#include "graph/build/build.hpp"

namespace heed {
namespace {

using detail::Build;

// How far a pair turns per position, in full turns, after scaling.
double turns_per_position(const RotaryOptions& options, int64_t pair, int64_t width) {
  const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(width);
  const double turns = std::pow(static_cast<double>(options.base), exponent) / (2.0 * std::numbers::pi);
  const RotaryScaling& scaling = options.scaling;
  if (scaling.kind == RotaryScaling::Kind::None) return turns;
  const double slow = turns / static_cast<double>(scaling.factor);
  if (scaling.kind == RotaryScaling::Kind::Linear) return slow;
  const double trained = turns * static_cast<double>(scaling.trained_length);
  const auto low = static_cast<double>(scaling.low), high = static_cast<double>(scaling.high);
  if (trained < low) return slow;
  if (trained > high) return turns;
  const double share = (trained - low) / (high - low);
  return (1.0 - share) * slow + share * turns;
}

// Writes turns per position as fractions of 2^64, the high word first. The angle is position times this, modulo 2^64.
void fill_table(const RotaryOptions& options, int64_t width, uint32_t* words) {
  for (int64_t pair = 0; pair < width / 2; ++pair) {
    const double turns = turns_per_position(options, pair, width);
    const auto fraction = static_cast<uint64_t>(std::ldexp(turns - std::floor(turns), 64));
    words[2 * pair] = static_cast<uint32_t>(fraction >> 32);
    words[2 * pair + 1] = static_cast<uint32_t>(fraction);
  }
}

const char* mistake_in(const RotaryOptions& options) {
  const RotaryScaling& scaling = options.scaling;
  if (options.pairs > RotaryPairs::Halves) return "pairs is no value of RotaryPairs";
  if (!std::isfinite(options.base) || options.base < 1.0f) return "base must be at least 1";
  if (scaling.kind > RotaryScaling::Kind::Llama3) return "the kind of scaling is no value of RotaryScaling::Kind";
  if (scaling.kind == RotaryScaling::Kind::None) return nullptr;
  if (!std::isfinite(scaling.factor) || scaling.factor < 1.0f) return "the factor of scaling must be at least 1";
  if (scaling.kind == RotaryScaling::Kind::Linear) return nullptr;
  const bool ordered = scaling.low > 0.0f && scaling.high > scaling.low && std::isfinite(scaling.high);
  if (!ordered || scaling.trained_length < 1) return "scaling needs 0 < low < high and a trained_length of at least 1";
  return nullptr;
}

// Tables with equal contents get the same name, and are shared.
std::string table_name(const RotaryOptions& options, int64_t width) {
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  const RotaryScaling& scaling = options.scaling;
  return format("rotary/%lld/%08x/%d/%08x/%08x/%08x/%lld", static_cast<long long>(width), bits(options.base),
                static_cast<int>(scaling.kind), bits(scaling.factor), bits(scaling.low), bits(scaling.high),
                static_cast<long long>(scaling.trained_length));
}

bool check_positions(Build& build, Tensor positions, TensorInfo rows) {
  if (!positions.valid()) return true;
  const TensorInfo& info = build.info(positions);
  --rows.rank;
  if (info.dtype == DType::I32 && build.broadcasts_to(info, rows)) return true;
  return build.refuse(info.dtype == DType::I32 ? Status::ShapeMismatch : Status::DTypeMismatch,
                      format("positions %s; i32 that broadcasts to %s is needed", build.text(positions).c_str(),
                             build.shape_text(rows).c_str()));
}

}  // namespace

Tensor Graph::rotary(Tensor x, const RotaryOptions& options) {
  Build build(*data_, "rotary");
  if (!build.needs({x}) || !build.allows({options.positions})) return {};
  const TensorInfo info = build.info(x);
  if (info.rank < 2 || !is_float(info.dtype))
    return build.fail(Status::ShapeMismatch,
                      format("%s: f32, f16 or bf16 [..., S, C] is needed", build.text(x).c_str()));
  const SizeId channels = build.dim_from_end(info, 0);
  const int64_t length = build.max_of(channels), width = options.width == 0 ? length : options.width;
  if (!data_->sizes.is_constant(channels) || width < 2 || width % 2 != 0 || width > length)
    return build.fail(Status::ShapeMismatch,
                      format("%s: an even width of 2 up to a constant number of channels is needed, not %lld",
                             build.text(x).c_str(), static_cast<long long>(width)));
  if (const char* mistake = mistake_in(options)) return build.fail(Status::InvalidArgument, mistake);
  if (!check_positions(build, options.positions, info)) return {};
  if (!build.is_number(options.first) || (options.positions.valid() && options.first != Dim(0)))
    return build.fail(Status::InvalidArgument, "first must be a number of this graph, and 0 where positions are given");
  const Tensor table =
      build.shared_table(table_name(options, width), {width / 2, 2}, DType::I32, width,
                         [&](std::byte* memory) { fill_table(options, width, reinterpret_cast<uint32_t*>(memory)); });
  if (build.failed()) return {};
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::Rotary, {x, options.positions, table}, result,
                 RotaryAttrs{.pairs = options.pairs, .first = build.id_of(options.first)});
  return result;
}

}  // namespace heed
