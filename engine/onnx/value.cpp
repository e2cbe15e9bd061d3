#include "onnx/value.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/arith.hpp"
#include "base/half.hpp"

namespace heed::onnx {

int64_t Number::whole() const {
  constexpr double kLimit = 9.2e18;
  return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -kLimit, kLimit));
}

bool Known::has_sizes() const {
  return std::any_of(numbers.begin(), numbers.end(), [](const Number& number) { return number.is_size(); });
}

int64_t count(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (const int64_t dim : dims) n = product_of(n, dim);
  return n;
}

int64_t product_of(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a < 0 || b < 0) return -1;
  return checked_mul(a, b, &product) ? product : INT64_MAX;
}

Value known_value(ElementType type, Known known) {
  Value value;
  value.type = type;
  value.is_empty = count(known.dims) == 0;
  value.known = std::make_shared<const Known>(std::move(known));
  return value;
}

std::optional<DType> device_type(ElementType type) {
  switch (type) {
    case ElementType::F32:
    case ElementType::F64: return DType::F32;
    case ElementType::F16: return DType::F16;
    case ElementType::BF16: return DType::BF16;
    case ElementType::I32:
    case ElementType::I64: return DType::I32;
    case ElementType::U8:
    case ElementType::Bool: return DType::U8;
    default: return std::nullopt;
  }
}

bool is_real(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 || type == ElementType::F16 || type == ElementType::BF16;
}

bool is_whole(ElementType type) {
  switch (type) {
    case ElementType::U8:
    case ElementType::I8:
    case ElementType::U16:
    case ElementType::I16:
    case ElementType::I32:
    case ElementType::I64:
    case ElementType::U32:
    case ElementType::U64:
    case ElementType::Bool: return true;
    default: return false;
  }
}

namespace {

template <class T>
void read_as(std::span<const std::byte> data, std::vector<Number>* numbers) {
  for (size_t i = 0; i + sizeof(T) <= data.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, data.data() + i, sizeof value);
    numbers->push_back(static_cast<double>(value));
  }
}

void read_halves(std::span<const std::byte> data, DType dtype, std::vector<Number>* numbers) {
  std::vector<float> values(data.size() / 2);
  convert_floats(data.data(), dtype, values.data(), DType::F32, values.size());
  numbers->assign(values.begin(), values.end());
}

}  // namespace

bool read_numbers(const FileTensor& file, Known* known) {
  known->dims = file.dims;
  known->numbers.clear();
  known->numbers.reserve(static_cast<size_t>(file.elements()));
  switch (file.type) {
    case ElementType::F32: read_as<float>(file.data, &known->numbers); break;
    case ElementType::F64: read_as<double>(file.data, &known->numbers); break;
    case ElementType::F16: read_halves(file.data, DType::F16, &known->numbers); break;
    case ElementType::BF16: read_halves(file.data, DType::BF16, &known->numbers); break;
    case ElementType::U8:
    case ElementType::Bool: read_as<uint8_t>(file.data, &known->numbers); break;
    case ElementType::I8: read_as<int8_t>(file.data, &known->numbers); break;
    case ElementType::U16: read_as<uint16_t>(file.data, &known->numbers); break;
    case ElementType::I16: read_as<int16_t>(file.data, &known->numbers); break;
    case ElementType::I32: read_as<int32_t>(file.data, &known->numbers); break;
    case ElementType::U32: read_as<uint32_t>(file.data, &known->numbers); break;
    case ElementType::I64: read_as<int64_t>(file.data, &known->numbers); break;
    case ElementType::U64: read_as<uint64_t>(file.data, &known->numbers); break;
    default: return false;
  }
  return known->numbers.size() == static_cast<size_t>(file.elements());
}

namespace {

// x rounded to this type.
double rounded(ElementType type, double x) {
  switch (type) {
    case ElementType::F32: return static_cast<double>(static_cast<float>(x));
    case ElementType::F16: return static_cast<double>(half_to_float(float_to_half(static_cast<float>(x))));
    case ElementType::BF16: return static_cast<double>(bfloat_to_float(float_to_bfloat(static_cast<float>(x))));
    case ElementType::Bool: return x != 0 ? 1.0 : 0.0;
    default: return is_whole(type) ? std::trunc(x) : x;
  }
}

double floor_mod(double a, double b) { return b == 0 ? 0.0 : a - b * std::floor(a / b); }

std::optional<double> compute_constants(std::string_view op, ElementType type, double a, double b) {
  if (op == "Add" || op == "Sum") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return is_whole(type) && b == 0 ? 0.0 : a / b;
  if (op == "Mod") return floor_mod(a, b);
  if (op == "Pow") return std::pow(a, b);
  if (op == "Min") return std::min(a, b);
  if (op == "Max") return std::max(a, b);
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "Greater") return a > b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  if (op == "Not") return a == 0;
  if (op == "Neg") return -a;
  if (op == "Abs") return std::abs(a);
  if (op == "Sign") return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0;
  if (op == "Sqrt") return std::sqrt(a);
  if (op == "Reciprocal") return 1.0 / a;
  if (op == "Exp") return std::exp(a);
  if (op == "Log") return std::log(a);
  if (op == "Sin") return std::sin(a);
  if (op == "Cos") return std::cos(a);
  if (op == "Floor") return std::floor(a);
  if (op == "Ceil") return std::ceil(a);
  if (op == "Round") return std::nearbyint(a);
  if (op == "Identity") return a;
  return std::nullopt;
}

// Sizes lie between 0 and the maximum of their Dim.
std::optional<Number> compute_sizes(Graph& g, std::string_view op, ElementType type, const Number& a, const Number& b) {
  const double most_a = a.value, most_b = b.value;
  const bool same = a == b;
  if (op == "Identity") return a;
  if (op == "Add") {
    if (!a.is_size() && a.value < 0) return Number(g.dim_difference(b.dim(), -a.whole()));
    if (!b.is_size() && b.value < 0) return Number(g.dim_difference(a.dim(), -b.whole()));
    return Number(g.sum(a.dim(), b.dim()));
  }
  if (op == "Sub") {
    if (same) return Number(0.0);
    if (!b.is_size() && b.value < 0) return Number(g.sum(a.dim(), -b.whole()));
    if (!a.is_size() && a.value <= 0) return std::nullopt;
    return Number(g.dim_difference(a.dim(), b.dim()));
  }
  if (op == "Mul") {
    if (a.is(0) || b.is(0)) return Number(0.0);
    if ((!a.is_size() && a.value < 0) || (!b.is_size() && b.value < 0)) return std::nullopt;
    return Number(g.dim_product(a.dim(), b.dim()));
  }
  if (op == "Div") {
    if (same) return Number(1.0);
    if (!b.is_size() && b.value <= 0) return std::nullopt;
    return Number(is_whole(type) ? g.dim_floor_quotient(a.dim(), b.dim()) : g.dim_quotient(a.dim(), b.dim()));
  }
  if (op == "Min" || op == "Max") {
    const bool wants_most = op == "Max";
    if (same) return a;
    if (!a.is_size() && (a.value <= 0 || a.value >= most_b)) return (a.value <= 0) == wants_most ? b : a;
    if (!b.is_size() && (b.value <= 0 || b.value >= most_a)) return (b.value <= 0) == wants_most ? a : b;
    return std::nullopt;
  }
  // A comparison is known if the minimum and maximum of a size decide it.
  const double least_a = a.is_size() ? 0.0 : a.value, least_b = b.is_size() ? 0.0 : b.value;
  if (op == "Equal") {
    if (same) return Number(1.0);
    return most_a < least_b || most_b < least_a ? std::optional(Number(0.0)) : std::nullopt;
  }
  const auto compared = [](bool yes, bool no) {
    return yes ? std::optional(Number(1.0)) : no ? std::optional(Number(0.0)) : std::nullopt;
  };
  if (op == "Less") return compared(!same && most_a < least_b, same || least_a >= most_b);
  if (op == "LessOrEqual") return compared(same || most_a <= least_b, !same && least_a > most_b);
  if (op == "Greater") return compared(!same && least_a > most_b, same || most_a <= least_b);
  if (op == "GreaterOrEqual") return compared(same || least_a >= most_b, !same && most_a < least_b);
  return std::nullopt;
}

}  // namespace

std::optional<Number> compute(Graph& g, std::string_view op, ElementType type, std::span<const Number> operands) {
  const Number a = operands[0], b = operands.size() > 1 ? operands[1] : Number{};
  if (a.is_size() || b.is_size()) return compute_sizes(g, op, type, a, b);
  const std::optional<double> value = compute_constants(op, type, a.value, b.value);
  return value ? std::optional(Number(rounded(type, *value))) : std::nullopt;
}

std::optional<Number> converted(const Number& number, ElementType from, ElementType to) {
  if (!number.is_size()) return Number(rounded(to, number.value));
  // A size cast to float is still known as long as it is only added, multiplied and cast back.
  if (to == ElementType::Bool || from == ElementType::Bool) return std::nullopt;
  return number;
}

}  // namespace heed::onnx
