// glm vectors and matrices as tensors, without a copy. The only header of heed that needs glm.
//
//   std::vector<glm::vec3> position(agents), next(agents);
//   const heed::Tensor x = g.input("position", heed::glm_shape<glm::vec3>({1, n}));           // [1, n, 3]
//   ...
//   s = plan.run({heed::glm_buffer("position", position), heed::glm_buffer("next", next)}, {{"n", agents}});
//
// A vector of length L is a row of L elements; a span of N of them is [N, L]. glm stores a matrix by columns, so matCxR is [C, R] and
// element [c, r] of the tensor is m[c][r]: the tensor is the transpose of m. float is F32, 16-bit integers are F16 (what glm::packHalf
// makes of a vector), int is I32, 8-bit unsigned is U8. Only packed types fit: in a Vulkan buffer that GLSL declares as vec3[] with std430,
// each vec3 takes 16 bytes instead; use vec4 or float[] there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include <glm/mat2x2.hpp>
#include <glm/mat2x3.hpp>
#include <glm/mat2x4.hpp>
#include <glm/mat3x2.hpp>
#include <glm/mat3x3.hpp>
#include <glm/mat3x4.hpp>
#include <glm/mat4x2.hpp>
#include <glm/mat4x3.hpp>
#include <glm/mat4x4.hpp>
#include <glm/vec2.hpp>
#include <glm/vec3.hpp>
#include <glm/vec4.hpp>

#include <heed/device.hpp>
#include <heed/plan.hpp>
#include <heed/types.hpp>

namespace heed {

namespace detail {

template <class E>
struct GlmElement;  // no definition: heed has no tensor of this element type
template <>
struct GlmElement<float> : std::integral_constant<DType, DType::F32> {};
template <>
struct GlmElement<uint16_t> : std::integral_constant<DType, DType::F16> {};
template <>
struct GlmElement<int16_t> : std::integral_constant<DType, DType::F16> {};
template <>
struct GlmElement<int32_t> : std::integral_constant<DType, DType::I32> {};
template <>
struct GlmElement<uint8_t> : std::integral_constant<DType, DType::U8> {};

template <class T>
struct GlmType;  // no definition: not a vector or matrix of glm
template <glm::length_t L, class E, glm::qualifier Q>
struct GlmType<glm::vec<L, E, Q>> {
  using Element = E;
  static constexpr std::array<int64_t, 1> kDims = {L};
  static constexpr size_t kElements = L;
};
template <glm::length_t C, glm::length_t R, class E, glm::qualifier Q>
struct GlmType<glm::mat<C, R, E, Q>> {
  using Element = E;
  static constexpr std::array<int64_t, 2> kDims = {C, R};
  static constexpr size_t kElements = size_t{C} * R;
};

// The description of a glm type whose elements follow each other without gaps.
template <class T>
struct GlmPacked : GlmType<std::remove_cv_t<T>> {
  using Base = GlmType<std::remove_cv_t<T>>;
  static_assert(sizeof(T) == Base::kElements * sizeof(typename Base::Element),
                "aligned glm types have gaps between their elements; use packed ones");
  static constexpr DType kDType = GlmElement<typename Base::Element>::value;
};

}  // namespace detail

// The element type of tensors that view this glm type.
template <class T>
inline constexpr DType glm_dtype = detail::GlmPacked<T>::kDType;

// `outer` followed by the dims of one T: glm_shape<glm::mat4>({batch, n}) is [batch, n, 4, 4].
template <class T>
constexpr Shape glm_shape(Shape outer) {
  for (const int64_t dim : detail::GlmPacked<T>::kDims) outer.push_back(dim);
  return outer;
}

// A contiguous range of glm vectors or matrices as an input or output of Plan::run. Const ranges can only be inputs.
// The range must stay alive until run returns.
template <std::ranges::contiguous_range R>
HostBuffer glm_buffer(std::string_view name, R&& range) {
  using Packed = detail::GlmPacked<std::ranges::range_value_t<R>>;
  using Element = typename Packed::Element;
  HostBuffer buffer;
  buffer.name = name;
  buffer.data = std::ranges::data(range);
  buffer.bytes = std::ranges::size(range) * Packed::kElements * sizeof(Element);
  buffer.element_bytes = sizeof(Element);
  buffer.is_float = std::is_same_v<Element, float>;
  buffer.writable = !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
  return buffer;
}

// A contiguous range of N vectors ([N, L]) or matrices ([N, C, R]) as a tensor for Device::upload:
//   const auto rows = heed::glm_tensor("table", colours);   // keep `rows` and `colours` until upload returns
//   s = device.upload(std::array{rows.tensor()}, &weights);
struct GlmTensor {
  std::string_view name;
  DType dtype = DType::F32;
  std::array<int64_t, 3> shape{};
  size_t rank = 0;  // the number of dims in `shape`
  std::span<const std::byte> data;

  // A view, valid while this object and the range are.
  HostTensor tensor() const { return {name, dtype, std::span(shape).first(rank), data}; }
};

// Makes a GlmTensor of a range, which must outlive it.
template <std::ranges::contiguous_range R>
GlmTensor glm_tensor(std::string_view name, const R& range) {
  using Packed = detail::GlmPacked<std::ranges::range_value_t<R>>;
  GlmTensor tensor;
  tensor.name = name;
  tensor.dtype = Packed::kDType;
  tensor.shape[tensor.rank++] = static_cast<int64_t>(std::ranges::size(range));
  for (const int64_t dim : Packed::kDims) tensor.shape[tensor.rank++] = dim;
  tensor.data = std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
  return tensor;
}

}  // namespace heed
