// Chooses a kernel for every pass that has more than one:
//
//   list    at compile, each family of kernels lists those that may run the pass on the device: Candidates
//   suits   Traits says what a kernel can do; one that cannot do a run costs kUnsuited there
//   cost    Problem::cost says how long a kernel takes for a run, comparable among all families of the operation
//
// At compile, keep selects the candidates that a plan needs; at record, choose picks one of those. Both are pure functions. A kernel that
// was measured as the fastest for a class of sizes (Tuning) is preferred to the one with the least cost.
//
// A Problem is one run of a pass: double cost(const Traits&) const; uint32_t size_class() const; bool vec4, and vec8 where kernels have
// Traits::octets.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "kernels/choose/tuning.hpp"
#include "kernels/lowering.hpp"

namespace heed::kernels {

inline constexpr double kUnsuited = std::numeric_limits<double>::infinity();
// Cost factor for kernels on matrix units if the device must always use them: they come before all others.
inline constexpr double kAlways = 1e-6;

// A kernel that can run the pass.
struct Candidate {
  KernelKey key;  // without constants that all kernels of the operation share
  Traits traits;
  const char* why = "";
  // There are two kernels: one that reads four elements at once (Traits::octets: eight), and one for other operands.
  bool reads_vec4 = false;
  int64_t most_split = INT64_MAX;           // the most rows of a run that uses it and splits its work
  std::string_view among = Tuning::kUsual;  // the option that it requires

  Candidate& set(size_t constant, uint32_t value) {
    key.set(constant, value);
    return *this;
  }
};

struct Candidates {
  uint32_t count = 0;
  bool overflowed = false;
  std::array<Candidate, 16> list{};

  Candidate& add(KernelId id, std::array<uint32_t, 3> workgroup) {
    overflowed |= count == list.size();
    Candidate& one = list[overflowed ? count - 1 : count++] = {};
    one.key.id = id;
    std::copy(workgroup.begin(), workgroup.end(), one.key.spec.begin());
    return one;
  }
  // The option that some candidates require.
  std::string_view among() const;
  // Stores measurements of the device. Each option has its own measurements, since a measurement without the kernels that an option adds
  // does not compare them.
  void measured_on(const Capabilities& device);
};

// Calls visit(sizes) for sizes that represent all runs, the largest first: each extent on which the node's operands depend takes its
// maximum, its minimum and a value in each class of sizes between. `only` restricts this to extents on which this size depends.
void visit_sizes(const Need& need, std::optional<SizeId> only,
                 const std::function<void(std::span<const int64_t>)>& visit);

// The minimum of the costs it was offered.
class Best {
 public:
  void offer(uint32_t index, bool measured, double cost) {
    if (cost == kUnsuited || measured < measured_ || (measured == measured_ && cost >= cost_)) return;
    index_ = index, measured_ = measured, cost_ = cost;
  }
  uint32_t index() const { return index_; }
  bool measured() const { return measured_; }
  // Whether its cost is at most `times` that of the other.
  bool is_near(const Best& other, double times) const { return index_ != kNoKernel && cost_ <= times * other.cost_; }

 private:
  uint32_t index_ = kNoKernel;
  bool measured_ = false;
  double cost_ = kUnsuited;
};

// Whether the kernel was measured as the fastest for the problem's class of sizes.
template <class Problem>
bool is_measured(const Traits& traits, const Problem& problem) {
  return traits.tuned != 0 && (traits.tuned >> problem.size_class() & 1) != 0;
}

template <class Problem>
bool can_read(const Traits& traits, const Problem& problem) {
  bool whole = problem.vec4;
  if constexpr (requires { problem.vec8; }) whole = traits.octets ? problem.vec8 : problem.vec4;
  return traits.reads == Traits::Reads::Any || (traits.reads == Traits::Reads::Vec4) == whole;
}

// Bit i is set if the plan needs candidate i: at some size it was measured as the fastest, or no other needed kernel comes within `worth`
// of its cost. `problem_at(sizes)` returns a Problem, whose `vec4` is ignored, since a kernel for aligned operands is kept together with
// the general one. `only`: the size on which costs depend, if there is only one.
template <class ProblemAt>
uint32_t keep(const Need& need, const Candidates& candidates, double worth, const ProblemAt& problem_at,
              std::optional<SizeId> only = {}) {
  if (need.device.tuning != nullptr && need.device.tuning->lists_all) return (1u << candidates.count) - 1;
  uint32_t by_cost = 0, measured = 0;
  visit_sizes(need, only, [&](std::span<const int64_t> sizes) {
    const auto problem = problem_at(sizes);
    Best all, kept;
    for (uint32_t i = 0; i < candidates.count; ++i) {
      const Traits& traits = candidates.list[i].traits;
      const double cost = problem.cost(traits);
      all.offer(i, is_measured(traits, problem), cost);
      if ((by_cost >> i & 1) != 0) kept.offer(i, false, cost);
    }
    if (all.index() == kNoKernel) return;
    if (all.measured()) measured |= 1u << all.index();
    if (!all.measured() && !kept.is_near(all, worth)) by_cost |= 1u << all.index();
  });
  return by_cost | measured;
}

// Calls add(candidate, vec4) for each kernel that the plan needs, twice if only a run shows the alignment of its operands. `known8` is the
// knowledge about eight elements.
template <class Add>
void add_kept(const Select& select, const Candidates& candidates, uint32_t kept, Vec4 known, const Add& add,
              Vec4 known8 = Vec4::Never) {
  select.kernels->overflowed |= candidates.overflowed;
  for (uint32_t i = 0; i < candidates.count; ++i) {
    if ((kept >> i & 1) == 0) continue;
    const Candidate& candidate = candidates.list[i];
    if (!candidate.reads_vec4) {
      add(candidate, false);
      continue;
    }
    add_vec4_kernels(candidate.traits.octets ? known8 : known, [&](bool vec4, Traits::Reads reads) {
      Candidate one = candidate;
      one.traits.reads = reads;
      add(one, vec4);
    });
  }
}

// The kernel for this run, of those for this input of concat; the first of equal ones.
template <class Problem>
uint32_t choose(const KernelList& kernels, const Problem& problem, uint32_t input = 0) {
  uint32_t first = kNoKernel;
  Best best;
  const auto offer = [&](uint32_t i) {
    const Traits& traits = kernels.uses[i].traits;
    best.offer(i, is_measured(traits, problem), problem.cost(traits));
  };
  for (uint32_t i = 0; i < kernels.count; ++i) {
    const KernelUse& use = kernels.uses[i];
    if (use.role != KernelUse::Role::Whole || use.input != input || !can_read(use.traits, problem)) continue;
    // Costs are not needed for a single kernel.
    if (first == kNoKernel) {
      first = i;
      continue;
    }
    if (best.index() == kNoKernel) offer(first);
    offer(i);
  }
  return best.index() != kNoKernel ? best.index() : first != kNoKernel ? first : 0;
}

// A run of a pass whose kernels differ in how they read operands and in the longest row that they hold.
struct RowProblem {
  int64_t length = 0;
  bool vec4 = false;

  double cost(const Traits& traits) const { return length > traits.most ? kUnsuited : traits.group; }
  uint32_t size_class() const { return 0; }
};

// Appends a candidate to the pass's kernels.
KernelUse& add_candidate(const Select& select, const Candidate& candidate);
// Makes the last kernel of the list the second dispatch, which combines results of partial kernels.
void make_second_dispatch(KernelList* kernels);

}  // namespace heed::kernels
