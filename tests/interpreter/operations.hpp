// Instructions on two integer or boolean words, shared by constants and invocations.
#pragma once

#include "interpreter/opcodes.hpp"

namespace heed::interpreter {

inline int32_t as_signed(uint32_t bits) { return static_cast<int32_t>(bits); }

// Returns use(f), where f(a, b) is the result in the bits of `mask`; false for other instructions.
template <class Use>
bool use_operation(Op op, uint32_t mask, const Use& use) {
  using U = uint32_t;
  switch (op) {
    case Op::IAdd: return use([=](U a, U b) { return (a + b) & mask; });
    case Op::ISub: return use([=](U a, U b) { return (a - b) & mask; });
    case Op::IMul: return use([=](U a, U b) { return (a * b) & mask; });
    case Op::UDiv: return use([](U a, U b) { return b == 0 ? UINT32_MAX : a / b; });
    // SPIR-V leaves the quotient undefined if b is 0, and if it is 2^31, which no signed word holds.
    case Op::SDiv:
      return use([=](U a, U b) {
        const bool none = b == 0 || (as_signed(a) == INT32_MIN && as_signed(b) == -1);
        return (none ? UINT32_MAX : static_cast<U>(as_signed(a) / as_signed(b))) & mask;
      });
    case Op::UMod: return use([](U a, U b) { return b == 0 ? UINT32_MAX : a % b; });
    case Op::BitwiseAnd:
    case Op::LogicalAnd: return use([](U a, U b) { return a & b; });
    case Op::BitwiseOr:
    case Op::LogicalOr: return use([](U a, U b) { return a | b; });
    case Op::BitwiseXor: return use([](U a, U b) { return a ^ b; });
    // A shift by the width or more has no defined result.
    case Op::ShiftLeftLogical: return use([=](U a, U b) { return (b > 31 ? 0xffffdeadu : a << b) & mask; });
    case Op::ShiftRightLogical: return use([=](U a, U b) { return b > 31 ? 0xffffdeadu & mask : a >> b; });
    case Op::ShiftRightArithmetic:
      return use([](U a, U b) { return b > 31 ? 0xffffdeadu : static_cast<U>(as_signed(a) >> b); });
    case Op::IEqual:
    case Op::LogicalEqual: return use([](U a, U b) { return U{a == b}; });
    case Op::INotEqual:
    case Op::LogicalNotEqual: return use([](U a, U b) { return U{a != b}; });
    case Op::ULessThan: return use([](U a, U b) { return U{a < b}; });
    case Op::ULessThanEqual: return use([](U a, U b) { return U{a <= b}; });
    case Op::UGreaterThan: return use([](U a, U b) { return U{a > b}; });
    case Op::UGreaterThanEqual: return use([](U a, U b) { return U{a >= b}; });
    case Op::SLessThan: return use([](U a, U b) { return U{as_signed(a) < as_signed(b)}; });
    case Op::SLessThanEqual: return use([](U a, U b) { return U{as_signed(a) <= as_signed(b)}; });
    case Op::SGreaterThan: return use([](U a, U b) { return U{as_signed(a) > as_signed(b)}; });
    case Op::SGreaterThanEqual: return use([](U a, U b) { return U{as_signed(a) >= as_signed(b)}; });
    default: return false;
  }
}

}  // namespace heed::interpreter
