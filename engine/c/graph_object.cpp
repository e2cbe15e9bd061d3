#include "c/graph_object.hpp"

namespace heed::c {
namespace {

constinit std::atomic<uint32_t> next_tag{1};

}  // namespace

// Tags stay below 2^31, so that negative sizes have room for them; the second round of them begins after 2^31 graphs.
Graph::Graph() : tag(next_tag.fetch_add(1, std::memory_order_relaxed) & 0x7fffffffu) {}

Building::Building(const char* function, heed_graph* graph) : call_(function), pin_(call_, graph) {
  if (!pin_) return;
  call_.fails_into(&pin_->it);
  before_ = pin_->it.status();
}

Building::~Building() {
  if (!pin_) return;
  for (const Told& told : told_) *told.to = out(told.tensor);
  (void)status();
}

heed_status Building::status() {
  if (!pin_) return call_.status();
  const Status now = pin_->it.status();
  if (now != Status::Ok && before_ == Status::Ok && !call_.failed()) {
    call_.fails_into(nullptr);
    call_.adopt(now, pin_->it.error());
  }
  return to_c(now);
}

Tensor Building::in(heed_tensor tensor) {
  if (tensor == 0) return {};
  if (tensor >> 32 == pin_->tag && (tensor & UINT32_MAX) != 0) return {static_cast<uint32_t>(tensor & UINT32_MAX) - 1};
  call_.fail(HEED_INVALID_ARGUMENT, format("%llu is no tensor of this graph", static_cast<unsigned long long>(tensor)));
  return {};
}

heed_tensor Building::out(Tensor tensor) const {
  return tensor.valid() ? uint64_t{pin_->tag} << 32 | (uint64_t{tensor.id} + 1) : 0;
}

Dim Building::dim(heed_dim dim) {
  if (dim >= 0) return Dim(dim);
  const uint64_t number = ~static_cast<uint64_t>(dim);
  const uint64_t index = number & UINT32_MAX;
  if (number >> 32 == pin_->tag && index < pin_->dims.size()) return pin_->dims[index];
  call_.fail(HEED_INVALID_ARGUMENT,
             format("%lld is neither a size nor a number of this graph", static_cast<long long>(dim)));
  return Dim(1);
}

heed_dim Building::out(Dim dim) {
  if (dim.is_constant()) return dim.value;
  const auto found = std::find(pin_->dims.begin(), pin_->dims.end(), dim);
  const auto index = static_cast<uint64_t>(found - pin_->dims.begin());
  if (found == pin_->dims.end()) pin_->dims.push_back(dim);
  return static_cast<heed_dim>(~(uint64_t{pin_->tag} << 32 | index));
}

Shape Building::shape(const heed_dim* shape, size_t rank) {
  Shape result;
  if (rank > static_cast<size_t>(kMaxRank)) {
    call_.fail(HEED_INVALID_ARGUMENT, format("a shape has %zu sizes; %d are the most", rank, kMaxRank));
    return result;
  }
  if (!call_.has_array(shape, rank, "a shape")) return result;
  for (size_t i = 0; i < rank; ++i) result.push_back(dim(shape[i]));
  return result;
}

Mask Building::mask(heed_tensor tensor, int32_t meaning, const char* what) {
  if (tensor == 0) return {};
  if (meaning != HEED_MASK_EXCLUDE && meaning != HEED_MASK_KEEP)
    call_.fail(HEED_INVALID_ARGUMENT,
               format("%s does not say what it means: HEED_MASK_EXCLUDE or HEED_MASK_KEEP", what));
  return meaning == HEED_MASK_KEEP ? keep(in(tensor)) : exclude(in(tensor));
}

Activation activation_of(Call& call, int32_t kind, Activation otherwise) {
  const auto one = call.one_of(kind, HEED_ACTIVATION_TANH, "the activation");
  return one == HEED_ACTIVATION_DEFAULT ? otherwise : static_cast<Activation>(one - 1);
}

void copy_attention(const Building& building, const std::vector<Tensor>& from, heed_tensor* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = building.out(from[i]);
}

static_assert(HEED_ACTIVATION_TANH == static_cast<int>(Activation::Tanh) + 1);
static_assert(HEED_CAUSAL_BOTTOM_RIGHT == static_cast<int>(Causal::BottomRight));
static_assert(HEED_ROTARY_SCALING_LLAMA3 == static_cast<int>(RotaryScaling::Kind::Llama3));

}  // namespace heed::c
