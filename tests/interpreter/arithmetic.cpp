// Instructions that every invocation executes independently.
#include <algorithm>
#include <cmath>
#include <limits>

#include "interpreter/operations.hpp"
#include "interpreter/workgroup.hpp"

namespace heed::interpreter {
namespace {

uint32_t mask_of(uint32_t width) { return width >= 32 ? UINT32_MAX : (1u << width) - 1; }
// Sign-extends a number of so many bits to 32.
uint32_t extended(uint32_t bits, uint32_t width) {
  const uint32_t sign = 1u << (width - 1);
  return (bits ^ sign) - sign;
}

}  // namespace

template <class F>
void Workgroup::unary(const Instruction& i, const Lanes& at, const F& f) {
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
    const Slot result = slot(i.result, s), a = slot(i.operands[0], s);
    each(at, [&](uint32_t l) { result[l] = f(a[l]); });
  }
}

template <class F>
void Workgroup::binary(const Instruction& i, const Lanes& at, const F& f) {
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
    const Slot result = slot(i.result, s), a = slot(i.operands[0], s), b = slot(i.operands[1], s);
    each(at, [&](uint32_t l) { result[l] = f(a[l], b[l]); });
  }
}

uint32_t Workgroup::number_width(uint32_t type) const {
  const Type& scalar = module_.scalar_of(type);
  if (scalar.bfloat || module_.type(scalar.element).bfloat) throw Unknown("arithmetic of bf16");
  return scalar.kind == Type::Kind::CooperativeMatrix ? shape_of(type).width : scalar.width;
}

template <class F>
void Workgroup::float_unary(const Instruction& i, const Lanes& at, uint32_t a, const F& f) {
  const uint32_t width = number_width(i.type);
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
    const Slot result = slot(i.result, s), x = slot(a, s);
    if (width == 32)
      each(at, [&](uint32_t l) { result[l] = as_bits(f(as_float(x[l]))); });
    else
      each(at, [&](uint32_t l) { result[l] = bits_of(f(float_of(x[l], width)), width); });
  }
}

template <class F>
void Workgroup::float_binary(const Instruction& i, const Lanes& at, uint32_t a, uint32_t b, const F& f) {
  const uint32_t width = number_width(i.type);
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
    const Slot result = slot(i.result, s), x = slot(a, s), y = slot(b, s);
    if (width == 32)
      each(at, [&](uint32_t l) { result[l] = as_bits(f(as_float(x[l]), as_float(y[l]))); });
    else
      each(at, [&](uint32_t l) { result[l] = bits_of(f(float_of(x[l], width), float_of(y[l], width)), width); });
  }
}

template <class F>
void Workgroup::compare(const Instruction& i, const Lanes& at, const F& f) {
  const uint32_t width = module_.scalar_of(module_.type_id_of(i.operands[0])).width;
  binary(i, at, [&](uint32_t a, uint32_t b) { return f(float_of(a, width), float_of(b, width)) ? 1u : 0u; });
}

// The dot product of two vectors of four bytes, packed in a word or in four slots. The second operand of SUDot is unsigned.
void Workgroup::do_integer_dot(const Instruction& i, const Lanes& at) {
  const bool packed = module_.type_of(i.operands[0]).slots == 1;
  const bool signs[2] = {i.op != Op::UDot, i.op == Op::SDot};
  each(at, [&](uint32_t l) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      uint32_t factors[2];
      for (uint32_t f = 0; f < 2; ++f) {
        factors[f] = packed ? slot(i.operands[f])[l] >> (8 * k) & 0xffu : slot(i.operands[f], k)[l];
        if (signs[f]) factors[f] = extended(factors[f], 8);
      }
      sum += factors[0] * factors[1];
    }
    slot(i.result)[l] = sum;
  });
}

bool Workgroup::do_arithmetic(const Instruction& i, const Lanes& at) {
  // In a slot with an 8- or 16-bit value the upper bits stay 0.
  const Type& scalar = module_.type(i.type).slots != 0 ? module_.scalar_of(i.type) : module_.type(i.type);
  const uint32_t mask = scalar.kind == Type::Kind::Int ? mask_of(scalar.width) : UINT32_MAX;
  const auto each_pair = [&](const auto& f) {
    binary(i, at, f);
    return true;
  };
  if (use_operation(i.op, mask, each_pair)) return true;
  switch (i.op) {
    case Op::SNegate: unary(i, at, [=](uint32_t a) { return (0u - a) & mask; }); return true;
    case Op::Not: unary(i, at, [=](uint32_t a) { return ~a & mask; }); return true;
    case Op::LogicalNot: unary(i, at, [](uint32_t a) { return a ^ 1u; }); return true;
    case Op::UMulExtended:
    case Op::IAddCarry:
      each(at, [&](uint32_t l) {
        const uint64_t a = slot(i.operands[0])[l], b = slot(i.operands[1])[l];
        const uint64_t wide = i.op == Op::IAddCarry ? a + b : a * b;
        slot(i.result, 0)[l] = static_cast<uint32_t>(wide);
        slot(i.result, 1)[l] = static_cast<uint32_t>(wide >> 32);
      });
      return true;
    case Op::Select: {
      const bool one = module_.type_of(i.operands[0]).slots == 1;
      for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
        const Slot result = slot(i.result, s), which = slot(i.operands[0], one ? 0 : s);
        const Slot yes = slot(i.operands[1], s), no = slot(i.operands[2], s);
        each(at, [&](uint32_t l) { result[l] = which[l] != 0 ? yes[l] : no[l]; });
      }
      return true;
    }
    case Op::BitFieldUExtract:
    case Op::BitFieldSExtract: {
      const bool is_signed = i.op == Op::BitFieldSExtract;
      for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
        each(at, [&](uint32_t l) {
          const uint32_t from = slot(i.operands[1])[l], width = slot(i.operands[2])[l];
          const uint32_t bits = width == 0 ? 0 : slot(i.operands[0], s)[l] >> from & mask_of(width);
          slot(i.result, s)[l] = is_signed && width != 0 ? extended(bits, width) : bits;
        });
      return true;
    }
    case Op::SDot:
    case Op::UDot:
    case Op::SUDot: do_integer_dot(i, at); return true;
    case Op::Any:
    case Op::All:
      each(at, [&](uint32_t l) {
        uint32_t result = i.op == Op::All ? 1 : 0;
        for (uint32_t s = 0; s < module_.type_of(i.operands[0]).slots; ++s) {
          const uint32_t x = slot(i.operands[0], s)[l];
          result = i.op == Op::All ? result & x : result | x;
        }
        slot(i.result)[l] = result;
      });
      return true;
    default: return false;
  }
}

// Slot s of a vector, or a scalar.
float Workgroup::value_of(uint32_t value, uint32_t s, uint32_t l) {
  return as_float(slot(value, module_.type_of(value).slots == 1 ? 0 : s)[l]);
}

// A product as its first factor and the product of the others, or as a single value. Two products multiply part by part. Subnormal results
// become 0.
Workgroup::Factors Workgroup::multiplied(Factors x, Factors y) {
  const auto times = [](float a, float b) {
    return std::fabs(a * b) < std::numeric_limits<float>::min() ? 0.0f : a * b;
  };
  if (!x.others && !y.others) return {x.first, y.first};
  if (!x.others) std::swap(x, y);
  if (!y.others) return {x.first, times(*x.others, y.first)};
  return {times(x.first, y.first), times(*x.others, *y.others)};
}

Workgroup::Factors Workgroup::factors_of(uint32_t value, uint32_t s, uint32_t l) {
  const Module::Parts& parts = module_.parts(value);
  if (parts.op != Op::FMul && parts.op != Op::VectorTimesScalar) return {value_of(value, s, l), {}};
  return multiplied(factors_of(parts.a, s, l), factors_of(parts.b, s, l));
}

// (a b) c as a (b c), and (a b) (c d) as (a c) (b d).
float Workgroup::regrouped_product(uint32_t a, uint32_t b, uint32_t s, uint32_t l) {
  const Factors product = multiplied(factors_of(a, s, l), factors_of(b, s, l));
  return product.first * *product.others;
}

// (a + b) + c as a + (b + c), with signs.
float Workgroup::regrouped_sum(const Module::Parts& sum, uint32_t s, uint32_t l) {
  const auto is_sum = [](const Module::Parts& parts) { return parts.op == Op::FAdd || parts.op == Op::FSub; };
  const float sign = sum.op == Op::FSub ? -1.0f : 1.0f;
  for (const bool second : {false, true}) {
    const Module::Parts& inner = module_.parts(second ? sum.b : sum.a);
    if (!is_sum(inner)) continue;
    const float of_inner = second ? sign : 1.0f, of_rest = second ? 1.0f : sign;
    const float a = value_of(inner.a, s, l),
                b = inner.op == Op::FSub ? -value_of(inner.b, s, l) : value_of(inner.b, s, l);
    return of_inner * a + (of_inner * b + of_rest * value_of(second ? sum.a : sum.b, s, l));
  }
  return value_of(sum.a, s, l) + sign * value_of(sum.b, s, l);
}

bool Workgroup::do_regrouped(const Instruction& i, const Lanes& at) {
  const Module::Parts& parts = module_.parts(i.result);
  if (!parts || (!module_.parts(parts.a) && !module_.parts(parts.b))) return false;
  const bool is_sum = parts.op == Op::FAdd || parts.op == Op::FSub;
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
    each(at, [&](uint32_t l) {
      slot(i.result, s)[l] = as_bits(is_sum ? regrouped_sum(parts, s, l) : regrouped_product(parts.a, parts.b, s, l));
    });
  return true;
}

bool Workgroup::do_floats(const Instruction& i, const Lanes& at) {
  if (do_regrouped(i, at)) return true;
  const auto two = [&](const auto& f) {
    float_binary(i, at, i.operands[0], i.operands[1], f);
    return true;
  };
  const auto test = [&](const auto& f) {
    compare(i, at, f);
    return true;
  };
  switch (i.op) {
    case Op::FAdd: return two([](float a, float b) { return a + b; });
    case Op::FSub: return two([](float a, float b) { return a - b; });
    case Op::FMul: return two([](float a, float b) { return a * b; });
    case Op::FDiv: return two([](float a, float b) { return a / b; });
    case Op::FNegate: float_unary(i, at, i.operands[0], [](float a) { return -a; }); return true;
    case Op::FOrdEqual: return test([](float a, float b) { return a == b; });
    case Op::FOrdNotEqual: return test([](float a, float b) { return a < b || a > b; });
    case Op::FUnordNotEqual: return test([](float a, float b) { return a != b; });
    case Op::FOrdLessThan: return test([](float a, float b) { return a < b; });
    case Op::FOrdLessThanEqual: return test([](float a, float b) { return a <= b; });
    case Op::FOrdGreaterThan: return test([](float a, float b) { return a > b; });
    case Op::FOrdGreaterThanEqual: return test([](float a, float b) { return a >= b; });
    case Op::FUnordLessThan: return test([](float a, float b) { return !(a >= b); });
    case Op::FUnordLessThanEqual: return test([](float a, float b) { return !(a > b); });
    case Op::FUnordGreaterThan: return test([](float a, float b) { return !(a <= b); });
    case Op::FUnordGreaterThanEqual: return test([](float a, float b) { return !(a < b); });
    case Op::IsNan: unary(i, at, [](uint32_t a) { return std::isnan(as_float(a)) ? 1u : 0u; }); return true;
    case Op::IsInf: unary(i, at, [](uint32_t a) { return std::isinf(as_float(a)) ? 1u : 0u; }); return true;
    default: return false;
  }
}

// Bitcast, also between components of different width.
void Workgroup::convert_bits(const Instruction& i, const Lanes& at) {
  const uint32_t from_type = module_.type_id_of(i.operands[0]);
  const uint32_t from = module_.scalar_of(from_type).width, to = module_.scalar_of(i.type).width;
  if (from == to) {
    unary(i, at, [](uint32_t a) { return a; });
    return;
  }
  const uint32_t times = std::max(from, to) / std::min(from, to), mask = mask_of(to);
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
    each(at, [&](uint32_t l) {
      uint32_t bits = 0;
      for (uint32_t part = 0; part < times && to > from; ++part)
        bits |= slot(i.operands[0], times * s + part)[l] << (part * from);
      if (to < from) bits = slot(i.operands[0], s / times)[l] >> (s % times * to) & mask;
      slot(i.result, s)[l] = bits;
    });
}

bool Workgroup::do_conversion(const Instruction& i, const Lanes& at) {
  switch (i.op) {
    case Op::Bitcast: convert_bits(i, at); return true;
    case Op::FConvert: {
      const uint32_t from = number_width(module_.type_id_of(i.operands[0])), to = number_width(i.type);
      unary(i, at, [=](uint32_t a) { return bits_of(float_of(a, from), to); });
      return true;
    }
    case Op::UConvert:
    case Op::SConvert: {
      const uint32_t mask = mask_of(number_width(i.type)), from = number_width(module_.type_id_of(i.operands[0]));
      const bool is_signed = i.op == Op::SConvert;
      unary(i, at, [=](uint32_t a) { return (is_signed ? extended(a, from) : a) & mask; });
      return true;
    }
    case Op::ConvertUToF:
    case Op::ConvertSToF: {
      const uint32_t to = number_width(i.type), from = number_width(module_.type_id_of(i.operands[0]));
      const bool is_signed = i.op == Op::ConvertSToF;
      unary(i, at, [=](uint32_t a) {
        return bits_of(is_signed ? static_cast<float>(as_signed(extended(a, from))) : static_cast<float>(a), to);
      });
      return true;
    }
    case Op::ConvertFToU:
    case Op::ConvertFToS: {
      const uint32_t from = number_width(module_.type_id_of(i.operands[0])), mask = mask_of(number_width(i.type));
      const bool is_signed = i.op == Op::ConvertFToS;
      for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
        each(at, [&](uint32_t l) {
          const float value = float_of(slot(i.operands[0], s)[l], from);
          const bool fits =
              is_signed ? value > -2147483904.0f && value < 2147483648.0f : value > -1.0f && value < 4294967296.0f;
          if (!fits) wrong(i, "converts what is no whole number of 32 bits", l);
          const auto whole = static_cast<int64_t>(fits ? value : 0.0f);
          slot(i.result, s)[l] = static_cast<uint32_t>(whole) & mask;
        });
      return true;
    }
    case Op::CopyLogical:
    case Op::CopyObject: unary(i, at, [](uint32_t a) { return a; }); return true;
    case Op::Undef:
      for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
        each(at, [&](uint32_t l) { slot(i.result, s)[l] = 0xffffdead; });
      return true;
    default: return false;
  }
}

uint32_t Workgroup::slot_offset(uint32_t type, std::span<const uint32_t> indices) const {
  uint32_t offset = 0;
  for (const uint32_t index : indices) {
    const Type& now = module_.type(type);
    if (now.kind == Type::Kind::Struct) {
      for (uint32_t m = 0; m < index; ++m) offset += module_.type(now.members[m]).slots;
      type = now.members[index];
    } else {
      offset += index * module_.type(now.element).slots;
      type = now.element;
    }
  }
  return offset;
}

bool Workgroup::do_composite(const Instruction& i, const Lanes& at) {
  const auto copy = [&](uint32_t to, uint32_t to_slot, uint32_t from, uint32_t from_slot, uint32_t count) {
    for (uint32_t s = 0; s < count; ++s) {
      const Slot target = slot(to, to_slot + s), source = slot(from, from_slot + s);
      each(at, [&](uint32_t l) { target[l] = source[l]; });
    }
  };
  const uint32_t slots = module_.type(i.type).slots;
  switch (i.op) {
    case Op::CompositeConstruct: {
      if (module_.type(i.type).kind == Type::Kind::CooperativeMatrix) {
        for (uint32_t s = 0; s < slots; ++s) copy(i.result, s, i.operands[0], 0, 1);
        return true;
      }
      uint32_t next = 0;
      for (const uint32_t part : i.operands) {
        const uint32_t count = module_.type_of(part).slots;
        copy(i.result, next, part, 0, count);
        next += count;
      }
      return true;
    }
    case Op::CompositeExtract:
      copy(i.result, 0, i.operands[0], slot_offset(module_.type_id_of(i.operands[0]), i.operands.subspan(1)), slots);
      return true;
    case Op::CompositeInsert:
      copy(i.result, 0, i.operands[1], 0, slots);
      copy(i.result, slot_offset(i.type, i.operands.subspan(2)), i.operands[0], 0,
           module_.type_of(i.operands[0]).slots);
      return true;
    case Op::VectorShuffle: {
      const uint32_t first = module_.type_of(i.operands[0]).slots;
      for (uint32_t s = 0; s < slots; ++s) {
        const uint32_t which = i.operands[2 + s];
        if (which == UINT32_MAX) continue;
        copy(i.result, s, i.operands[which < first ? 0 : 1], which < first ? which : which - first, 1);
      }
      return true;
    }
    case Op::VectorExtractDynamic:
      each(at, [&](uint32_t l) {
        const uint32_t which = slot(i.operands[1])[l];
        const bool inside = which < module_.type_of(i.operands[0]).slots;
        if (!inside) wrong(i, "takes an element that a vector does not have", l);
        slot(i.result)[l] = inside ? slot(i.operands[0], which)[l] : 0xffffdead;
      });
      return true;
    case Op::VectorInsertDynamic:
      copy(i.result, 0, i.operands[0], 0, slots);
      each(at, [&](uint32_t l) {
        const uint32_t which = slot(i.operands[2])[l];
        if (which >= slots)
          wrong(i, "sets an element that a vector does not have", l);
        else
          slot(i.result, which)[l] = slot(i.operands[1])[l];
      });
      return true;
    default: return false;
  }
}

// Vectors and small matrices of one invocation. A matrix is stored column by column.
bool Workgroup::do_matrix(const Instruction& i, const Lanes& at) {
  const uint32_t slots = module_.type(i.type).slots;
  // Slot s of the result is the sum of left(s, k) of the first operand times right(s, k) of the second.
  const auto sum = [&](uint32_t count, const auto& left, const auto& right) {
    for (uint32_t s = 0; s < slots; ++s)
      each(at, [&](uint32_t l) {
        float total = 0.0f;
        for (uint32_t k = 0; k < count; ++k)
          total += as_float(slot(i.operands[0], left(s, k))[l]) * as_float(slot(i.operands[1], right(s, k))[l]);
        slot(i.result, s)[l] = as_bits(total);
      });
    return true;
  };
  const auto kth = [](uint32_t, uint32_t k) { return k; };
  const auto size_of_first = [&] { return module_.type_of(i.operands[0]).slots; };
  switch (i.op) {
    case Op::VectorTimesScalar:
    case Op::MatrixTimesScalar: {
      const uint32_t width = number_width(i.type);
      for (uint32_t s = 0; s < slots; ++s)
        each(at, [&](uint32_t l) {
          slot(i.result, s)[l] =
              bits_of(float_of(slot(i.operands[0], s)[l], width) * float_of(slot(i.operands[1])[l], width), width);
        });
      return true;
    }
    case Op::Dot:
      if (!module_.parts(i.operands[0]) && !module_.parts(i.operands[1])) return sum(size_of_first(), kth, kth);
      each(at, [&](uint32_t l) {
        float total = 0.0f;
        for (uint32_t k = 0; k < size_of_first(); ++k) total += regrouped_product(i.operands[0], i.operands[1], k, l);
        slot(i.result)[l] = as_bits(total);
      });
      return true;
    case Op::VectorTimesMatrix: {
      const uint32_t rows = size_of_first();
      return sum(rows, kth, [=](uint32_t s, uint32_t k) { return s * rows + k; });
    }
    case Op::MatrixTimesVector:
      return sum(size_of_first() / slots, [=](uint32_t s, uint32_t k) { return k * slots + s; }, kth);
    case Op::Transpose: {
      const uint32_t rows = module_.type(module_.type(i.type).element).count, columns = module_.type(i.type).count;
      for (uint32_t c = 0; c < columns; ++c)
        for (uint32_t r = 0; r < rows; ++r)
          each(at, [&](uint32_t l) { slot(i.result, c * rows + r)[l] = slot(i.operands[0], r * columns + c)[l]; });
      return true;
    }
    default: return false;
  }
}

void Workgroup::do_glsl(const Instruction& i, const Lanes& at) {
  const auto op = static_cast<Glsl>(i.operands[1]);
  const Instruction rest = {i.op, i.type, i.result, i.operands.subspan(2)};
  const uint32_t a = rest.operands[0];
  const auto one = [&](const auto& f) { float_unary(rest, at, a, f); };
  const auto two = [&](const auto& f) { float_binary(rest, at, a, rest.operands[1], f); };
  const auto clamp = [&](const auto& smaller) {
    for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
      const Slot x = slot(a, s), low = slot(rest.operands[1], s), high = slot(rest.operands[2], s);
      each(at, [&](uint32_t l) {
        const uint32_t raised = smaller(x[l], low[l]) ? low[l] : x[l];
        slot(i.result, s)[l] = smaller(high[l], raised) ? high[l] : raised;
      });
    }
  };
  switch (op) {
    case Glsl::FAbs: return one([](float x) { return std::fabs(x); });
    case Glsl::FSign: return one([](float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; });
    case Glsl::SAbs: return unary(rest, at, [](uint32_t x) { return as_signed(x) < 0 ? 0u - x : x; });
    case Glsl::SSign: return unary(rest, at, [](uint32_t x) { return as_signed(x) < 0 ? ~0u : x > 0 ? 1u : 0u; });
    case Glsl::Round: return one([](float x) { return std::round(x); });
    case Glsl::RoundEven: return one([](float x) { return std::nearbyint(x); });
    case Glsl::Trunc: return one([](float x) { return std::trunc(x); });
    case Glsl::Floor: return one([](float x) { return std::floor(x); });
    case Glsl::Ceil: return one([](float x) { return std::ceil(x); });
    case Glsl::Sin: return one([](float x) { return std::sin(x); });
    case Glsl::Cos: return one([](float x) { return std::cos(x); });
    case Glsl::Tanh: return one([](float x) { return std::tanh(x); });
    case Glsl::Fma:
      for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
        each(at, [&](uint32_t l) {
          const uint32_t width = number_width(i.type);
          const auto value = [&](size_t k) { return float_of(slot(rest.operands[k], s)[l], width); };
          slot(i.result, s)[l] = bits_of(std::fma(value(0), value(1), value(2)), width);
        });
      return;
    case Glsl::Exp: return one([](float x) { return std::exp(x); });
    case Glsl::Exp2: return one([](float x) { return std::exp2(x); });
    case Glsl::Log: return one([](float x) { return std::log(x); });
    case Glsl::Log2: return one([](float x) { return std::log2(x); });
    case Glsl::Sqrt:
      return one([this](float x) { return module_.regroups() ? x * (1.0f / std::sqrt(x)) : std::sqrt(x); });
    case Glsl::InverseSqrt: return one([](float x) { return 1.0f / std::sqrt(x); });
    case Glsl::Pow: return two([](float x, float y) { return std::pow(x, y); });
    case Glsl::FMin: return two([](float x, float y) { return y < x ? y : x; });
    case Glsl::FMax: return two([](float x, float y) { return x < y ? y : x; });
    case Glsl::UMin: return binary(rest, at, [](uint32_t x, uint32_t y) { return std::min(x, y); });
    case Glsl::UMax: return binary(rest, at, [](uint32_t x, uint32_t y) { return std::max(x, y); });
    case Glsl::SMin:
      return binary(rest, at, [](uint32_t x, uint32_t y) { return as_signed(x) < as_signed(y) ? x : y; });
    case Glsl::SMax:
      return binary(rest, at, [](uint32_t x, uint32_t y) { return as_signed(x) > as_signed(y) ? x : y; });
    case Glsl::FClamp: return clamp([](uint32_t x, uint32_t y) { return as_float(x) < as_float(y); });
    case Glsl::UClamp: return clamp([](uint32_t x, uint32_t y) { return x < y; });
    case Glsl::SClamp: return clamp([](uint32_t x, uint32_t y) { return as_signed(x) < as_signed(y); });
    case Glsl::UnpackHalf2x16:
      for (uint32_t s = 0; s < 2; ++s)
        each(at, [&](uint32_t l) { slot(i.result, s)[l] = as_bits(float_of(slot(a)[l] >> (16 * s) & 0xffffu, 16)); });
      return;
    case Glsl::PackHalf2x16:
      each(at, [&](uint32_t l) {
        slot(i.result)[l] = bits_of(as_float(slot(a, 0)[l]), 16) | bits_of(as_float(slot(a, 1)[l]), 16) << 16;
      });
      return;
    default: throw Unknown("GLSL.std.450 instruction " + std::to_string(i.operands[1]));
  }
}

}  // namespace heed::interpreter
