#include "graph/sizes.hpp"

#include <algorithm>

#include "base/arith.hpp"

namespace heed {

SizeId SizeTable::intern(const Entry& entry) {
  const auto found = std::find(entries_.begin(), entries_.end(), entry);
  if (found != entries_.end()) return static_cast<SizeId>(found - entries_.begin());
  entries_.push_back(entry);
  return static_cast<SizeId>(entries_.size() - 1);
}

SizeId SizeTable::constant(int64_t value) { return intern({Kind::Constant, value, 0}); }
SizeId SizeTable::extent(uint32_t extent_index) { return intern({Kind::Extent, extent_index, 0}); }

// Splits `id` into its constant part and the operands of a nested sum or product.
void SizeTable::flatten(SizeId id, Kind kind, int64_t* constant_part, bool* overflow,
                        std::vector<SizeId>* parts) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  if (entry.kind == Kind::Constant) {
    const bool fits = kind == Kind::Mul ? checked_mul(*constant_part, entry.a, constant_part)
                                        : checked_add(*constant_part, entry.a, constant_part);
    if (!fits) *overflow = true;
  } else if (entry.kind == kind) {
    flatten(static_cast<SizeId>(entry.a), kind, constant_part, overflow, parts);
    flatten(static_cast<SizeId>(entry.b), kind, constant_part, overflow, parts);
  } else {
    parts->push_back(id);
  }
}

// x + x + y becomes 2 x + y, or joining a tensor with itself again and again would double the number of operands each time.
void SizeTable::merge_equal(std::vector<SizeId>* terms, bool* overflow) {
  struct Term {
    SizeId size;
    int64_t times;
  };
  std::vector<Term> merged;
  for (const SizeId id : *terms) {
    const Entry& entry = entries_[static_cast<size_t>(id)];
    Term term{id, 1};
    if (entry.kind == Kind::Mul && is_constant(static_cast<SizeId>(entry.a)))
      term = {static_cast<SizeId>(entry.b), entries_[static_cast<size_t>(entry.a)].a};
    const auto known = std::find_if(merged.begin(), merged.end(), [&](const Term& t) { return t.size == term.size; });
    if (known == merged.end())
      merged.push_back(term);
    else if (!checked_add(known->times, term.times, &known->times))
      *overflow = true;
  }
  terms->clear();
  for (const Term& term : merged) terms->push_back(mul(constant(term.times), term.size));
}

// Sorted operands with the constants folded into one give equal sizes equal ids, whatever the order of the calls.
SizeId SizeTable::combine(Kind kind, SizeId a, SizeId b) {
  const int64_t neutral = kind == Kind::Mul ? 1 : 0;
  int64_t constant_part = neutral;
  bool overflow = false;
  std::vector<SizeId> parts;
  flatten(a, kind, &constant_part, &overflow, &parts);
  flatten(b, kind, &constant_part, &overflow, &parts);
  if (kind == Kind::Add) merge_equal(&parts, &overflow);
  if (overflow) constant_part = INT64_MAX;  // every evaluation then overflows or saturates, and says so
  if (parts.empty() || (kind == Kind::Mul && constant_part == 0)) return constant(constant_part);
  std::sort(parts.begin(), parts.end());
  SizeId result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) result = intern({kind, result, parts[i]});
  return constant_part == neutral ? result : intern({kind, constant(constant_part), result});
}

SizeId SizeTable::add(SizeId a, SizeId b) { return combine(Kind::Add, a, b); }
SizeId SizeTable::mul(SizeId a, SizeId b) { return combine(Kind::Mul, a, b); }

bool SizeTable::is_multiple(SizeId id, int64_t n) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  const auto operand = [&](int64_t i) { return is_multiple(static_cast<SizeId>(i), n); };
  switch (entry.kind) {
    case Kind::Constant: return entry.a % n == 0;
    case Kind::Extent: return n == 1;
    case Kind::Add: return operand(entry.a) && operand(entry.b);
    case Kind::Mul: return operand(entry.a) || operand(entry.b);
  }
  return false;
}

bool SizeTable::evaluate(std::span<const int64_t> extents, std::span<int64_t> values) const {
  bool fits = true;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    // Operands are always older than the entry.
    const auto value = [&](int64_t id) { return values[static_cast<size_t>(id)]; };
    bool entry_fits = true;
    switch (entry.kind) {
      case Kind::Constant: values[i] = entry.a; break;
      case Kind::Extent: values[i] = extents[static_cast<size_t>(entry.a)]; break;
      case Kind::Add: entry_fits = checked_add(value(entry.a), value(entry.b), &values[i]); break;
      case Kind::Mul: entry_fits = checked_mul(value(entry.a), value(entry.b), &values[i]); break;
    }
    if (!entry_fits) {
      values[i] = INT64_MAX;
      fits = false;
    }
  }
  return fits;
}

int64_t SizeTable::evaluate(SizeId id, std::span<const int64_t> extents) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  int64_t result = INT64_MAX;
  const auto operand = [&](int64_t i) { return evaluate(static_cast<SizeId>(i), extents); };
  switch (entry.kind) {
    case Kind::Constant: return entry.a;
    case Kind::Extent: return extents[static_cast<size_t>(entry.a)];
    case Kind::Add: return checked_add(operand(entry.a), operand(entry.b), &result) ? result : INT64_MAX;
    case Kind::Mul: return checked_mul(operand(entry.a), operand(entry.b), &result) ? result : INT64_MAX;
  }
  return result;
}

}  // namespace heed
