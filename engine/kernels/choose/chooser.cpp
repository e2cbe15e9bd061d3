#include "kernels/choose/chooser.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace heed::kernels {
namespace {

// Sizes to try: at least one of every class (kernels/choose/tuning.cpp), and one for each tile height.
constexpr int64_t kSizes[] = {2048, 640, 256, 128, 64, 32, 16, 8, 4};
// Each visit computes the costs of all candidates, so their number is limited.
constexpr size_t kMostVisits = 256;

struct Axis {
  size_t extent;
  std::vector<int64_t> values;  // in descending order

  Axis(size_t index, const detail::ExtentInfo& info) : extent(index), values(1, info.max) {
    for (const int64_t size : kSizes)
      if (size < info.max && size > info.least) values.push_back(size);
    values.push_back(info.least);
  }
  // Removes every second value but keeps both ends.
  void thin() {
    for (size_t i = 1; i + 1 < values.size(); ++i) values.erase(values.begin() + static_cast<ptrdiff_t>(i));
  }
};

size_t visits_of(const std::vector<Axis>& axes) {
  size_t visits = 1;
  for (const Axis& axis : axes) visits *= axis.values.size();
  return visits;
}

// Whether a dimension of an operand is smaller at these sizes than at the maxima.
bool shrinks_at(const Need& need, std::span<const int64_t> sizes) {
  const auto shrinks = [&](Tensor tensor) {
    if (!tensor.valid()) return false;
    const TensorInfo& info = need.tensors[tensor.id];
    return std::any_of(info.dims.begin(), info.dims.begin() + info.rank,
                       [&](SizeId dim) { return sizes[static_cast<size_t>(dim)] != need.max_of(dim); });
  };
  return std::any_of(need.node.inputs.begin(), need.node.inputs.end(), shrinks) || shrinks(need.node.outputs[0]);
}

}  // namespace

void visit_sizes(const Need& need, std::optional<SizeId> only,
                 const std::function<void(std::span<const int64_t>)>& visit) {
  std::vector<int64_t> extents, sizes(need.sizes.count());
  for (const detail::ExtentInfo& info : need.extents) extents.push_back(info.max);
  std::vector<Axis> axes;
  for (size_t e = 0; e < extents.size(); ++e) {
    const int64_t most = std::exchange(extents[e], need.extents[e].least);
    need.sizes.evaluate(extents, sizes);
    extents[e] = most;
    const bool matters = only ? sizes[static_cast<size_t>(*only)] != need.max_of(*only) : shrinks_at(need, sizes);
    if (matters) axes.emplace_back(e, need.extents[e]);
  }
  for (int i = 0; i < 5 && visits_of(axes) > kMostVisits; ++i)
    for (Axis& axis : axes) axis.thin();
  for (size_t number = 0; number < visits_of(axes); ++number) {
    size_t rest = number;
    for (const Axis& axis : axes) {
      extents[axis.extent] = axis.values[rest % axis.values.size()];
      rest /= axis.values.size();
    }
    need.sizes.evaluate(extents, sizes);  // cannot overflow below the maxima
    visit(sizes);
  }
}

std::string_view Candidates::among() const {
  const auto needs_option = [](const Candidate& one) { return one.among != Tuning::kUsual; };
  const auto one = std::find_if(list.begin(), list.begin() + count, needs_option);
  return one != list.begin() + count ? one->among : Tuning::kUsual;
}

void Candidates::measured_on(const Capabilities& device) {
  for (uint32_t i = 0; i < count && device.tuning != nullptr; ++i)
    list[i].traits.tuned = device.tuning->classes_of(list[i].key, among());
}

KernelUse& add_candidate(const Select& select, const Candidate& candidate) {
  KernelUse& use = select.kernels->add();
  use.key = candidate.key;
  use.why = candidate.why;
  use.traits = candidate.traits;
  return use;
}

void make_second_dispatch(KernelList* kernels) {
  const uint32_t last = kernels->count - 1;
  kernels->uses[last].role = KernelUse::Role::Second;
  for (uint32_t i = 0; i < last; ++i)
    if (kernels->uses[i].role == KernelUse::Role::Partial) kernels->uses[i].partner = last;
}

}  // namespace heed::kernels
