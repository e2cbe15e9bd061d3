// Sizes that depend on extents. A size is an index into a table of expressions over constants and extents; equal sizes have equal indices.
// Every expression grows monotonically with every extent, so that a size is largest when all extents are. Evaluating the table is one loop
// without allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heed {

using SizeId = int32_t;

// How a run computes a number from earlier sizes.
struct SizeRule {
  enum class Kind : uint8_t { Difference, Quotient, FloorQuotient };
  Kind kind = Kind::Difference;
  SizeId a = 0, b = 0;

  bool operator==(const SizeRule&) const = default;
};

class SizeTable {
 public:
  SizeId constant(int64_t value);
  SizeId extent(uint32_t extent_index);
  // An extent that runs compute. Applying the inverse of its rule gives the original size again, except for a rounded quotient.
  SizeId extent(uint32_t extent_index, const SizeRule& rule);
  std::optional<SizeId> find(const SizeRule& rule) const;
  const SizeRule* rule_of(SizeId extent) const;  // null: the host gives it
  SizeId add(SizeId a, SizeId b);
  SizeId mul(SizeId a, SizeId b);
  SizeId at_most(SizeId a, int64_t limit);  // min(a, limit)
  // max(a - n, 0). If a may be less than n at a run, the caller adds a bound that refuses the run.
  SizeId less(SizeId a, int64_t n);
  // a - b if the summands of b are among those of a, or a / b if the factors are; nothing otherwise.
  std::optional<SizeId> difference(SizeId a, SizeId b);
  std::optional<SizeId> quotient(SizeId a, SizeId b);

  size_t count() const { return entries_.size(); }
  // Keeps only the first `count` sizes.
  void cut(size_t count);
  // The factors of a size: those of a product, without its constant factor, or the size alone.
  std::vector<SizeId> factors(SizeId id) const;
  bool is_constant(SizeId id) const { return entries_[static_cast<size_t>(id)].kind == Kind::Constant; }
  bool is_constant(SizeId id, int64_t value) const {
    return is_constant(id) && entries_[static_cast<size_t>(id)].a == value;
  }

  // Whether every value of the size is a multiple of `n`. False may also mean that this is not known.
  bool is_multiple(SizeId id, int64_t n) const;

  // Whether the size depends on this extent.
  bool depends_on(SizeId id, uint32_t extent_index) const;

  // values[i] = size i, for i < count(). False if a product or sum overflows 63 bits.
  bool evaluate(std::span<const int64_t> extents, std::span<int64_t> values) const;
  int64_t evaluate(SizeId id, std::span<const int64_t> extents) const;  // saturates on overflow

 private:
  enum class Kind : uint8_t { Constant, Extent, Add, Mul, AtMost, Less };
  struct Entry {
    Kind kind;
    int64_t a = 0;  // constant's value, extent's index, or left operand
    int64_t b = 0;  // right operand, limit of AtMost, or subtrahend of Less
    bool operator==(const Entry&) const = default;
  };
  struct Computed {
    SizeId extent;
    SizeRule rule;
  };
  SizeId intern(const Entry& entry);
  bool take_away(Kind kind, SizeId id, int64_t* folded, std::vector<SizeId>* operands) const;
  void undo(Kind kind, int64_t* folded, bool* overflow, std::vector<SizeId>* operands) const;
  SizeId combine(Kind kind, SizeId a, SizeId b);
  void merge_equal(std::vector<SizeId>* terms, bool* overflow);
  void flatten(SizeId id, Kind kind, int64_t* folded, bool* overflow, std::vector<SizeId>* operands) const;

  std::vector<Entry> entries_;
  std::vector<Computed> computed_;
};

}  // namespace heed
