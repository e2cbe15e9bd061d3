// Graph calls: dropout, embedding, positional encoding, concat.
#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/build/build.hpp"

namespace heed {

using detail::Build;

Tensor Graph::dropout(Tensor x, float p, std::optional<uint32_t> stream) {
  Build build(*data_, "dropout");
  if (!build.needs({x})) return {};
  const TensorInfo info = build.info(x);
  if (!is_float(info.dtype))
    return build.fail(Status::DTypeMismatch, format("%s: f32, f16 or bf16 is needed", build.text(x).c_str()));
  if (!(p >= 0.0f && p < 1.0f))
    return build.fail(Status::InvalidArgument, format("p is %g; it must be in [0, 1)", static_cast<double>(p)));
  const uint32_t own_stream = data_->dropout_streams++;
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::Dropout, {x}, result, DropoutAttrs{p, stream.value_or(own_stream)});
  return result;
}

Tensor Graph::embedding(Tensor table, Tensor ids, std::optional<DType> dtype) {
  Build build(*data_, "embedding");
  if (!build.needs_of_any_type({table}) || !build.needs({ids})) return {};
  const TensorInfo t = build.info(table), i = build.info(ids);
  if (t.rank != 2 || i.rank < 1 || i.rank >= kMaxRank)
    return build.fail(Status::ShapeMismatch, format("table %s, ids %s; [V, C] and rank 1 to %d are needed",
                                                    build.text(table).c_str(), build.text(ids).c_str(), kMaxRank - 1));
  if ((!is_float(t.dtype) && !is_quantized(t.dtype)) || i.dtype != DType::I32)
    return build.fail(Status::DTypeMismatch, format("table %s must be f32, f16, bf16 or quantized, ids %s must be i32",
                                                    build.text(table).c_str(), build.text(ids).c_str()));
  if (!build.has_whole_rows(t, table)) return {};
  const DType to = dtype.value_or(t.dtype == DType::F16 ? DType::F16 : DType::F32);
  if (!is_float(to))
    return build.fail(Status::DTypeMismatch, format("a result of %s; f32, f16 or bf16 is needed", to_string(to)));
  TensorInfo out = i;
  out.dims[static_cast<size_t>(out.rank++)] = t.dims[1];
  const Tensor dense_ids = build.contiguous(ids), dense_table = build.contiguous(table);
  const Tensor result = build.add_like(out, to);
  build.add_node(Op::Embedding, {dense_table, dense_ids}, result, EmbeddingAttrs{});
  return result;
}

namespace {

// PE(pos, 2i) = sin(pos / 10000^(2i/C)), PE(pos, 2i+1) = cos of the same.
void fill_sinusoidal(int64_t positions, int64_t width, float* table) {
  for (int64_t pos = 0; pos < positions; ++pos) {
    for (int64_t i = 0; i < width; i += 2) {
      const double angle = static_cast<double>(pos) *
                           std::exp(static_cast<double>(i) * (-std::log(10000.0) / static_cast<double>(width)));
      table[pos * width + i] = static_cast<float>(std::sin(angle));
      table[pos * width + i + 1] = static_cast<float>(std::cos(angle));
    }
  }
}

}  // namespace

Tensor Graph::positional_encoding(Tensor x) {
  Build build(*data_, "positional_encoding");
  if (!build.needs({x})) return {};
  const TensorInfo info = build.info(x);
  if (info.rank < 2 || !is_float(info.dtype))
    return build.fail(Status::ShapeMismatch,
                      format("%s: f32, f16 or bf16 [..., S, C] is needed", build.text(x).c_str()));
  const SizeId position = build.dim_from_end(info, 1), channel = build.dim_from_end(info, 0);
  const int64_t width = build.max_of(channel), positions = build.max_of(position);
  if (!data_->sizes.is_constant(channel) || width % 2 != 0)
    return build.fail(Status::ShapeMismatch, format("%s: an even number of channels is needed", build.text(x).c_str()));
  constexpr int64_t kMostValues = int64_t{1} << 28;  // a table of 1 GiB
  if (positions > kMostValues / width)
    return build.fail(Status::InvalidArgument, format("%s: the table would be too large", build.text(x).c_str()));
  const std::string name =
      format("positional_encoding/%lld/%lld", static_cast<long long>(positions), static_cast<long long>(width));
  Tensor table = build.shared_table(name, {positions, width}, DType::F32, positions * width, [&](std::byte* memory) {
    fill_sinusoidal(positions, width, reinterpret_cast<float*>(memory));
  });
  if (!table.valid()) return {};
  table = slice(table, 0, 0, build.dim_of(position));
  if (info.dtype != DType::F32) table = cast(table, info.dtype);
  return add(x, table);
}

Tensor Graph::concat(std::initializer_list<Tensor> parts, int axis) {
  return concat(std::span<const Tensor>(parts.begin(), parts.size()), axis);
}

Tensor Graph::concat(std::span<const Tensor> parts, int axis) {
  Build build(*data_, "concat");
  if (build.failed()) return {};
  if (parts.empty()) return build.fail(Status::InvalidArgument, "no parts were given");
  // Nodes hold kMaxInputs tensors; more parts are joined in groups.
  if (parts.size() > kMaxInputs) {
    std::vector<Tensor> groups;
    for (size_t i = 0; i < parts.size(); i += kMaxInputs)
      groups.push_back(concat(parts.subspan(i, std::min<size_t>(kMaxInputs, parts.size() - i)), axis));
    return concat(groups, axis);
  }
  for (Tensor part : parts)
    if (!build.needs({part})) return {};
  TensorInfo out = build.info(parts[0]);
  const int counted = build.axis_of(axis, out.rank);
  if (counted < 0) return {};
  const auto at = static_cast<size_t>(counted);
  std::array<Tensor, kMaxInputs> inputs{};
  inputs[0] = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    TensorInfo part = build.info(parts[i]);
    const SizeId size = part.dims[at];
    part.dims[at] = out.dims[at];
    if (part.dtype != out.dtype || !build.same_shape(part, out))
      return build.fail(part.dtype != out.dtype ? Status::DTypeMismatch : Status::ShapeMismatch,
                        format("%s and %s cannot be joined along axis %d", build.text(parts[0]).c_str(),
                               build.text(parts[i]).c_str(), axis));
    out.dims[at] = data_->sizes.add(out.dims[at], size);
    inputs[i] = parts[i];
  }
  if (parts.size() == 1) return parts[0];
  const Tensor result = build.add_like(out, out.dtype);
  build.add_node(Op::Concat, {}, result, ConcatAttrs{counted}).inputs = inputs;
  return result;
}

}  // namespace heed
