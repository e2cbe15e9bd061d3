// Turns a checkpoint into the tensors of nn::bert: compares it with the configuration, and joins projections.
#include <cstring>
#include <set>

#include <heed/bert.hpp>
#include <heed/nn.hpp>

#include "base/find.hpp"
#include "base/logging.hpp"
#include "io/name_list.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

constexpr std::string_view kPrefix = "bert.";

bool is_float(SafeTensors::Type type) {
  using Type = SafeTensors::Type;
  return type == Type::F32 || type == Type::F16 || type == Type::BF16;
}

}  // namespace

class BertLoader {
 public:
  BertLoader(std::span<const SafeTensors::Entry> entries, const BertConfig& config, const Log& log,
             BertWeights* weights)
      : entries_(entries), config_(config), log_(log), weights_(*weights) {
    const std::string first = bert_tensors(config)[0].name;
    if (find(first) == nullptr && find(std::string(kPrefix) + first) != nullptr) prefix_ = kPrefix;
  }

  Status run() {
    check(bert_tensors(config_));
    const std::vector<TensorShape> pooler = bert_pooler_tensors(config_);
    if (find(pooler[0].name) != nullptr || find(pooler[1].name) != nullptr) {
      check(pooler);
      weights_.has_pooler_ = true;
    }
    const Status status = report();
    if (status != Status::Ok) return status;
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string prefix = "encoder.layer." + std::to_string(layer) + ".attention.self.";
      for (const char* suffix : {".weight", ".bias"})
        if (Status joined = join(prefix, suffix); joined != Status::Ok) return joined;
    }
    take_rest();
    return Status::Ok;
  }

 private:
  const SafeTensors::Entry* find(const std::string& name) const { return find_by_name(entries_, prefix_ + name); }

  void check(const std::vector<TensorShape>& wanted) {
    for (const TensorShape& tensor : wanted) {
      const SafeTensors::Entry* entry = find(tensor.name);
      if (entry == nullptr) {
        missing_.add(prefix_ + tensor.name);
        continue;
      }
      known_.insert(entry->name);
      if (entry->shape != tensor.shape)
        misshapen_.add(format("%s is %s, must be %s", entry->name.c_str(), shape_text(entry->shape).c_str(),
                              shape_text(tensor.shape).c_str()));
      if (!is_float(entry->type)) mistyped_.add(format("%s is %s", entry->name.c_str(), to_string(entry->type)));
    }
  }

  Status report() {
    NameList extra;
    for (const SafeTensors::Entry& entry : entries_)
      // Old checkpoints carry a table of 0, 1, 2, ... that no network reads.
      if (!known_.contains(entry.name) && !entry.name.ends_with("embeddings.position_ids"))
        extra.add(printable(entry.name));
    if (!extra.empty())
      log(log_, LogLevel::Warning, "the checkpoint has tensors that the configuration does not use: " + extra.text());
    Status status = Status::Ok;
    const auto problem = [&](const NameList& list, Status kind, const char* what) {
      if (list.empty()) return;
      const Status logged = fail(log_, kind, std::string(what) + list.text());
      if (status == Status::Ok) status = logged;
    };
    problem(missing_, Status::MissingWeight, "the checkpoint lacks tensors: ");
    problem(misshapen_, Status::ShapeMismatch, "tensors do not fit the configuration: ");
    problem(mistyped_, Status::DTypeMismatch, "tensors must be F32, F16 or BF16: ");
    return status;
  }

  // Joins query, key and value. They are stored row by row, so that their bytes lie one behind the other.
  Status join(const std::string& prefix, const char* suffix) {
    TensorShape name = {prefix + "qkv" + suffix, {}};
    std::vector<std::byte> data;
    DType dtype = DType::F32;
    for (const char* projection : {"query", "key", "value"}) {
      const SafeTensors::Entry* entry = find(prefix + projection + suffix);
      HostTensor tensor;
      if (entry == nullptr || !host_tensor(*entry, &tensor)) return Status::MissingWeight;  // report() has said so
      if (name.shape.empty()) {
        name.shape = entry->shape;
        name.shape[0] *= 3;
        dtype = tensor.dtype;
        data.reserve(3 * entry->data.size());
      } else if (tensor.dtype != dtype) {
        return fail(log_, Status::DTypeMismatch,
                    format("%s is %s, the query beside it is %s; they must be the same", entry->name.c_str(),
                           to_string(tensor.dtype), to_string(dtype)));
      }
      data.insert(data.end(), entry->data.begin(), entry->data.end());
      known_.erase(entry->name);
    }
    weights_.names_.push_back(std::move(name));
    weights_.joined_.push_back(std::move(data));
    const TensorShape& kept = weights_.names_.back();
    weights_.tensors_.push_back({kept.name, dtype, kept.shape, weights_.joined_.back()});
    return Status::Ok;
  }

  void take_rest() {
    for (const SafeTensors::Entry& entry : entries_) {
      HostTensor tensor;
      if (!known_.contains(entry.name) || !host_tensor(entry, &tensor)) continue;
      tensor.name.remove_prefix(prefix_.size());
      weights_.tensors_.push_back(tensor);
    }
  }

  const std::span<const SafeTensors::Entry> entries_;
  const BertConfig& config_;
  const Log& log_;
  BertWeights& weights_;
  std::string prefix_;
  std::set<std::string, std::less<>> known_;  // the network's tensors, by their names in the checkpoint
  NameList missing_, misshapen_, mistyped_;
};

DType BertWeights::dtype() const {
  std::optional<DType> common;
  for (const HostTensor& tensor : tensors_) {
    if (tensor.shape.size() < 2) continue;
    if (common.value_or(tensor.dtype) != tensor.dtype) return DType::F32;
    common = tensor.dtype;
  }
  return common.value_or(DType::F32);
}

Status BertWeights::load(std::span<const SafeTensors::Entry> entries, const BertConfig& config, const Log& log,
                         BertWeights* weights) {
  if (weights == nullptr) return Status::InvalidArgument;
  if (config.layers < 0 || config.layers > nn::kMaxLayers)
    return fail(log, Status::InvalidArgument,
                format("the configuration has %lld layers; 0 to %d are possible", static_cast<long long>(config.layers),
                       nn::kMaxLayers));
  BertWeights fresh;
  const Status status = BertLoader(entries, config, log, &fresh).run();
  if (status == Status::Ok) *weights = std::move(fresh);
  return status;
}

}  // namespace heed
