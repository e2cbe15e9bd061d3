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

SizeId SizeTable::extent(uint32_t extent_index, const SizeRule& rule) {
  computed_.push_back({extent(extent_index), rule});
  return computed_.back().extent;
}

std::optional<SizeId> SizeTable::find(const SizeRule& rule) const {
  const auto known =
      std::find_if(computed_.begin(), computed_.end(), [&](const Computed& c) { return c.rule == rule; });
  return known != computed_.end() ? std::optional(known->extent) : std::nullopt;
}

const SizeRule* SizeTable::rule_of(SizeId extent) const {
  const auto found =
      std::find_if(computed_.begin(), computed_.end(), [&](const Computed& c) { return c.extent == extent; });
  return found != computed_.end() ? &found->rule : nullptr;
}

// Splits a nested sum or product into one constant and the other operands.
void SizeTable::flatten(SizeId id, Kind kind, int64_t* folded, bool* overflow, std::vector<SizeId>* operands) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  if (entry.kind == Kind::Constant) {
    const bool fits = kind == Kind::Mul ? checked_mul(*folded, entry.a, folded) : checked_add(*folded, entry.a, folded);
    if (!fits) *overflow = true;
  } else if (entry.kind == kind) {
    flatten(static_cast<SizeId>(entry.a), kind, folded, overflow, operands);
    flatten(static_cast<SizeId>(entry.b), kind, folded, overflow, operands);
  } else {
    operands->push_back(id);
  }
}

// Removes the operands of size `id` from a sum or product; leaves it unchanged if some are missing.
bool SizeTable::take_away(Kind kind, SizeId id, int64_t* folded, std::vector<SizeId>* operands) const {
  int64_t constant = kind == Kind::Mul ? 1 : 0;
  bool overflow = false;
  std::vector<SizeId> gone, rest = *operands;
  flatten(id, kind, &constant, &overflow, &gone);
  for (const SizeId one : gone) {
    const auto found = std::find(rest.begin(), rest.end(), one);
    if (found == rest.end()) return false;
    rest.erase(found);
  }
  if (overflow || (kind == Kind::Mul ? constant == 0 || *folded % constant != 0 : *folded < constant)) return false;
  *folded = kind == Kind::Mul ? *folded / constant : *folded - constant;
  *operands = std::move(rest);
  return true;
}

// Simplifies (a - b) + b to a, and (a / b) * b likewise.
void SizeTable::undo(Kind kind, int64_t* folded, bool* overflow, std::vector<SizeId>* operands) const {
  const auto undone = kind == Kind::Add ? SizeRule::Kind::Difference : SizeRule::Kind::Quotient;
  for (size_t i = 0; i < operands->size(); ++i) {
    const SizeId extent = (*operands)[i];
    const SizeRule* const rule = rule_of(extent);
    if (rule == nullptr || rule->kind != undone || !take_away(kind, rule->b, folded, operands)) continue;
    operands->erase(std::find(operands->begin(), operands->end(), extent));
    flatten(rule->a, kind, folded, overflow, operands);
    return undo(kind, folded, overflow, operands);
  }
}

// Simplifies x + x + y to 2 x + y. Otherwise joining a tensor with itself repeatedly would double the number of operands each time.
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

// Operands are sorted and constants folded into one, so that equal sizes have equal ids, whatever the order of the calls.
SizeId SizeTable::combine(Kind kind, SizeId a, SizeId b) {
  const int64_t neutral = kind == Kind::Mul ? 1 : 0;
  int64_t folded = neutral;
  bool overflow = false;
  std::vector<SizeId> operands;
  flatten(a, kind, &folded, &overflow, &operands);
  flatten(b, kind, &folded, &overflow, &operands);
  undo(kind, &folded, &overflow, &operands);
  if (kind == Kind::Add) merge_equal(&operands, &overflow);
  if (overflow) folded = INT64_MAX;  // every evaluation then overflows or saturates, and reports it
  if (operands.empty() || (kind == Kind::Mul && folded == 0)) return constant(folded);
  std::sort(operands.begin(), operands.end());
  SizeId result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = intern({kind, result, operands[i]});
  return folded == neutral ? result : intern({kind, constant(folded), result});
}

SizeId SizeTable::add(SizeId a, SizeId b) { return combine(Kind::Add, a, b); }
SizeId SizeTable::mul(SizeId a, SizeId b) { return combine(Kind::Mul, a, b); }
SizeId SizeTable::at_most(SizeId a, int64_t limit) {
  if (is_constant(a)) return constant(std::min(entries_[static_cast<size_t>(a)].a, limit));
  return intern({Kind::AtMost, a, limit});
}

SizeId SizeTable::less(SizeId a, int64_t n) {
  if (is_constant(a)) return constant(std::max<int64_t>(entries_[static_cast<size_t>(a)].a - n, 0));
  return n == 0 ? a : intern({Kind::Less, a, n});
}

std::optional<SizeId> SizeTable::difference(SizeId a, SizeId b) {
  int64_t rest = 0;
  bool overflow = false;
  std::vector<SizeId> terms;
  flatten(a, Kind::Add, &rest, &overflow, &terms);
  if (overflow || !take_away(Kind::Add, b, &rest, &terms)) return {};
  SizeId result = constant(rest);
  for (const SizeId term : terms) result = add(result, term);
  return result;
}

std::optional<SizeId> SizeTable::quotient(SizeId a, SizeId b) {
  int64_t rest = 1;
  bool overflow = false;
  std::vector<SizeId> factors;
  flatten(a, Kind::Mul, &rest, &overflow, &factors);
  if (overflow || !take_away(Kind::Mul, b, &rest, &factors)) return {};
  SizeId result = constant(rest);
  for (const SizeId factor : factors) result = mul(result, factor);
  return result;
}

std::vector<SizeId> SizeTable::factors(SizeId id) const {
  int64_t constant = 1;
  bool overflow = false;
  std::vector<SizeId> all;
  flatten(id, Kind::Mul, &constant, &overflow, &all);
  return all;
}

void SizeTable::cut(size_t count) {
  entries_.resize(count, Entry{Kind::Constant});
  std::erase_if(computed_, [&](const Computed& c) { return static_cast<size_t>(c.extent) >= count; });
}

bool SizeTable::is_multiple(SizeId id, int64_t n) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  const auto operand = [&](int64_t i) { return is_multiple(static_cast<SizeId>(i), n); };
  switch (entry.kind) {
    case Kind::Constant: return entry.a % n == 0;
    case Kind::Extent:
    case Kind::AtMost:
    case Kind::Less: return n == 1;
    case Kind::Add: return operand(entry.a) && operand(entry.b);
    case Kind::Mul: return operand(entry.a) || operand(entry.b);
  }
  return false;
}

bool SizeTable::depends_on(SizeId id, uint32_t extent_index) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  const auto operand = [&](int64_t i) { return depends_on(static_cast<SizeId>(i), extent_index); };
  switch (entry.kind) {
    case Kind::Constant: return false;
    case Kind::Extent: {
      const SizeRule* const rule = rule_of(id);
      return entry.a == extent_index || (rule != nullptr && (operand(rule->a) || operand(rule->b)));
    }
    case Kind::AtMost:
    case Kind::Less: return operand(entry.a);
    case Kind::Add:
    case Kind::Mul: return operand(entry.a) || operand(entry.b);
  }
  return false;
}

bool SizeTable::evaluate(std::span<const int64_t> extents, std::span<int64_t> values) const {
  bool fits = true;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    // Operands always have lower ids than the entry.
    const auto value = [&](int64_t id) { return values[static_cast<size_t>(id)]; };
    bool entry_fits = true;
    switch (entry.kind) {
      case Kind::Constant: values[i] = entry.a; break;
      case Kind::Extent: values[i] = extents[static_cast<size_t>(entry.a)]; break;
      case Kind::Add: entry_fits = checked_add(value(entry.a), value(entry.b), &values[i]); break;
      case Kind::Mul: entry_fits = checked_mul(value(entry.a), value(entry.b), &values[i]); break;
      case Kind::AtMost: values[i] = std::min(value(entry.a), entry.b); break;
      case Kind::Less: values[i] = std::max<int64_t>(value(entry.a) - entry.b, 0); break;
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
    case Kind::AtMost: return std::min(operand(entry.a), entry.b);
    case Kind::Less: return std::max<int64_t>(operand(entry.a) - entry.b, 0);
  }
  return result;
}

}  // namespace heed
