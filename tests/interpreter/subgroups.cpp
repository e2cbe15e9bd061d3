// Instructions that invocations of a subgroup, or of the workgroup, execute together.
#include <algorithm>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {

void Workgroup::do_barrier(const Instruction& i, const Lanes& at) {
  const auto scope = static_cast<Scope>(module_.constant(i.operands[0]));
  const uint32_t semantics = module_.constant(i.operands[2]);
  if (scope == Scope::Workgroup) {
    if (!at.all) wrong(i, "comes to a barrier without others", at.list[0]);
    if ((semantics & kOrdersShared) != 0) shared_now_ = ++clock_->now;
    if ((semantics & kOrdersBuffers) != 0) buffers_now_ = ++clock_->now;
    return;
  }
  if (scope != Scope::Subgroup) throw Unknown("a barrier of another scope");
  const uint32_t size = module_.subgroup();
  for (size_t k = 0; k < at.list.size();) {
    const uint32_t subgroup = at.list[k] / size, last = std::min(n_, (subgroup + 1) * size);
    size_t end = k;
    while (end < at.list.size() && at.list[end] < last) ++end;
    if (end - k != last - subgroup * size) wrong(i, "comes to a barrier without others", at.list[k]);
    if ((semantics & kOrdersShared) != 0) ++phases_[subgroup];
    k = end;
  }
}

// Reads the value of another invocation of the subgroup, which must be at the same instruction.
void Workgroup::do_shuffle(const Instruction& i, const Lanes& at) {
  const uint32_t size = module_.subgroup();
  std::vector<bool> here(n_, false);
  each(at, [&](uint32_t l) { here[l] = true; });
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
    each(at, [&](uint32_t l) {
      uint32_t from = slot(i.operands[2])[l];
      if (i.op == Op::GroupNonUniformShuffleXor) from ^= l % size;
      const uint32_t other = l / size * size + from;
      const bool is_there = from < size && other < n_ && here[other];
      if (!is_there) wrong(i, "takes the value of an invocation that is not here", l);
      slot(i.result, s)[l] = is_there ? slot(i.operands[1], s)[other] : 0xffffdead;
    });
}

template <class Combine>
bool Workgroup::reduce(const Instruction& i, const Lanes& at, const Combine& combine, size_t operand) {
  constexpr uint32_t kReduce = 0, kClustered = 3;
  const uint32_t kind = operand == 2 ? i.operands[1] : kReduce;
  if (kind != kReduce && kind != kClustered) throw Unknown("a scan of a subgroup");
  const uint32_t size = kind == kClustered ? module_.constant(i.operands[3]) : module_.subgroup();
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s) {
    const Slot x = slot(i.operands[operand], s), result = slot(i.result, s);
    for (size_t k = 0; k < at.list.size();) {
      size_t end = k;
      while (end < at.list.size() && at.list[end] / size == at.list[k] / size) ++end;
      uint32_t sum = x[at.list[k]];
      for (size_t j = k + 1; j < end; ++j) sum = combine(sum, x[at.list[j]]);
      for (size_t j = k; j < end; ++j) result[at.list[j]] = sum;
      k = end;
    }
  }
  return true;
}

bool Workgroup::do_group(const Instruction& i, const Lanes& at) {
  using U = uint32_t;
  switch (i.op) {
    case Op::ControlBarrier: do_barrier(i, at); return true;
    case Op::GroupNonUniformElect:
      for (size_t k = 0; k < at.list.size(); ++k)
        slot(i.result)[at.list[k]] =
            k == 0 || at.list[k - 1] / module_.subgroup() != at.list[k] / module_.subgroup() ? 1 : 0;
      return true;
    case Op::GroupNonUniformAll: return reduce(i, at, [](U a, U b) { return a & b; }, 1);
    case Op::GroupNonUniformAny: return reduce(i, at, [](U a, U b) { return a | b; }, 1);
    case Op::GroupNonUniformBroadcast:
    case Op::GroupNonUniformShuffle:
    case Op::GroupNonUniformShuffleXor: do_shuffle(i, at); return true;
    case Op::GroupNonUniformIAdd: return reduce(i, at, [](U a, U b) { return a + b; });
    case Op::GroupNonUniformFAdd: return reduce(i, at, [](U a, U b) { return as_bits(as_float(a) + as_float(b)); });
    case Op::GroupNonUniformFMin: return reduce(i, at, [](U a, U b) { return as_float(b) < as_float(a) ? b : a; });
    case Op::GroupNonUniformFMax: return reduce(i, at, [](U a, U b) { return as_float(a) < as_float(b) ? b : a; });
    case Op::GroupNonUniformUMin: return reduce(i, at, [](U a, U b) { return std::min(a, b); });
    case Op::GroupNonUniformUMax: return reduce(i, at, [](U a, U b) { return std::max(a, b); });
    case Op::GroupNonUniformBitwiseAnd: return reduce(i, at, [](U a, U b) { return a & b; });
    case Op::GroupNonUniformBitwiseOr: return reduce(i, at, [](U a, U b) { return a | b; });
    default: return false;
  }
}

}  // namespace heed::interpreter
