#include "c/graph_object.hpp"

#include <atomic>

#include "graph/graph_data.hpp"

namespace heed::c {
namespace {

uint32_t next_number() {
  static constinit std::atomic<uint32_t> made{0};
  // 31 bits, so that the complement of a name is negative; numbers repeat after two thousand million graphs.
  return made.fetch_add(1, std::memory_order_relaxed) % 0x7fffffffu + 1;
}

uint64_t tensors_of(const heed::Graph& graph) { return graph.data().tensors.size(); }
uint64_t sizes_of(const heed::Graph& graph) { return graph.data().sizes.count(); }

}  // namespace

Graph::Graph() : makers_{{next_number(), UINT32_MAX, UINT32_MAX}} {}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  const Maker own = copy->makers_.back();
  copy->it = it;
  copy->customs = customs;
  copy->before = before;
  copy->makers_ = makers_;
  copy->makers_.back().tensors = tensors_of(it);
  copy->makers_.back().sizes = sizes_of(it);
  copy->makers_.push_back(own);
  return copy;
}

uint64_t Graph::number_of(uint64_t index, uint64_t Maker::* part) const {
  for (const Maker& maker : makers_)
    if (index < maker.*part) return maker.number;
  return 0;
}

bool Graph::index_of(uint64_t named, uint64_t Maker::* part, uint64_t count, uint32_t* index) const {
  const uint64_t low = named & UINT32_MAX;
  if (low == 0 || low > count) return false;
  *index = static_cast<uint32_t>(low - 1);
  return number_of(low - 1, part) == named >> 32;
}

heed_tensor Graph::name(Tensor tensor) const {
  return tensor.valid() ? number_of(tensor.id, &Maker::tensors) << 32 | (uint64_t{tensor.id} + 1) : 0;
}

heed_dim Graph::name(Dim dim) const {
  if (dim.is_constant()) return dim.value;
  const auto index = static_cast<uint64_t>(dim.expr);
  return static_cast<heed_dim>(~(number_of(index, &Maker::sizes) << 32 | (index + 1)));
}

bool Graph::find(heed_tensor named, Tensor* tensor) const {
  return index_of(named, &Maker::tensors, tensors_of(it), &tensor->id);
}

bool Graph::find(heed_dim named, Dim* dim) const {
  *dim = named;
  if (named >= 0) return true;
  uint32_t index = 0;
  if (!index_of(~static_cast<uint64_t>(named), &Maker::sizes, sizes_of(it), &index)) return false;
  const detail::GraphData& data = it.data();
  std::vector<int64_t> most;
  for (const detail::ExtentInfo& extent : data.extents) most.push_back(extent.max);
  dim->expr = static_cast<int32_t>(index);
  dim->value = data.sizes.evaluate(dim->expr, most);
  return !data.sizes.is_constant(dim->expr);
}

Building::Building(const char* function, heed_graph* handle, Effect effect) : call_(function), graph_(call_, handle) {
  if (!graph_) return;
  call_.fails_into(&graph_->it);
  if (graph_->it.status() != Status::Ok)
    call_.stop(graph_->it.status());
  else if (effect == Effect::Appends)
    before_.mark.emplace(graph_->it.data());
  else
    before_.copy.emplace(graph_->it);
}

Building::~Building() {
  if (graph_ && (before_.mark || before_.copy) && graph_->it.status() != Status::Ok)
    graph_->before = std::move(before_);
}

Tensor Building::tensor(heed_tensor named, const char* what) {
  Tensor found;
  if (*this && !graph_->find(named, &found)) {
    call_.fail(HEED_INVALID_ARGUMENT, format(named == 0 ? "%s is 0" : "%s is none of this graph's", what));
    return {};
  }
  return found;
}

Tensor Building::tensor_if(heed_tensor named) { return named == 0 ? Tensor{} : tensor(named); }

Dim Building::dim(heed_dim named) {
  Dim found = 1;
  // Names of sizes are below this. Small negative numbers have a meaning for some operations; others refuse them.
  constexpr heed_dim kNames = -(int64_t{1} << 32);
  if (named < 0 && named > kNames) return named;
  if (*this && !graph_->find(named, &found)) {
    call_.fail(HEED_INVALID_ARGUMENT, format("the size %lld is none of this graph's", static_cast<long long>(named)));
    return 1;
  }
  return found;
}

Shape Building::shape(const heed_dim* sizes, size_t rank) {
  Shape made;
  if (rank > static_cast<size_t>(kMaxRank)) {
    call_.fail(HEED_INVALID_ARGUMENT, format("a shape of %zu sizes; %d are the most", rank, kMaxRank));
    return made;
  }
  if (!call_.has_array(sizes, rank, "a shape")) return made;
  for (size_t i = 0; i < rank; ++i) made.push_back(dim(sizes[i]));
  return made;
}

Mask Building::mask(heed_tensor named, int32_t meaning, const char* what) {
  if (named == 0) return {};
  if (meaning != HEED_MASK_EXCLUDE && meaning != HEED_MASK_KEEP) {
    call_.fail(HEED_INVALID_ARGUMENT,
               format("the meaning of %s is %d; it must be HEED_MASK_EXCLUDE or HEED_MASK_KEEP", what, meaning));
    return {};
  }
  return {tensor(named, what), meaning == HEED_MASK_KEEP ? Mask::Meaning::Keep : Mask::Meaning::Exclude};
}

std::vector<Tensor> Building::tensors(const heed_tensor* named, size_t count, const char* what) {
  std::vector<Tensor> all;
  if (!call_.has_array(named, count, what)) return all;
  for (size_t i = 0; i < count && *this; ++i) all.push_back(tensor(named[i], what));
  return all;
}

Tensor* Building::wanted(heed_tensor* to) {
  if (to == nullptr) return nullptr;
  *to = 0;
  wishes_.push_back({{}, to});
  return &wishes_.back().tensor;
}

void Building::give() {
  for (const Wish& wish : wishes_) *wish.to = name(wish.tensor);
}

heed_status Building::end() {
  if (!graph_) return call_.status();
  return call_.repeat(graph_->it.status(), graph_->it.error());
}

}  // namespace heed::c
