#include "voice.hpp"

#include <algorithm>
#include <filesystem>

#include <heed/train.hpp>

#include "model.hpp"
#include "text.hpp"

namespace learn {
namespace {

using heed::Status;

constexpr int64_t kLongestAnswer = 64;

}  // namespace

Status Voice::open(heed::Device device, const std::string& model, const VoiceConfig& config, const heed::Log& log) {
  config_ = config;
  log_ = log;
  device_ = std::move(device);
  name_ = std::filesystem::path(model).stem().string();
  Status status = heed::DecoderModel::open(model, log, &model_);
  if (status == Status::Ok) status = speech_.open(model_, log);
  return status == Status::Ok ? compile() : status;
}

Status Voice::compile() {
  heed::Weights weights;
  Status status = model_.upload(device_, {}, &weights);
  if (status != Status::Ok) return status;

  heed::Graph judges;
  const heed::Dim tokens = judges.extent("tokens", kMostTokens);
  const heed::Tensor ids = judges.input("ids", {config_.batch, tokens}, heed::DType::I32);
  const heed::Tensor next = judges.input("next", {config_.batch, tokens}, heed::DType::I32);
  const heed::Tensor logits = model_.build(judges, ids, {.all_logits = true}).logits;
  heed::train::LoraOptions options;
  const heed::DecoderConfig& network = model_.config();
  options.rank = config_.rank;
  options.alpha = 2.0f * static_cast<float>(config_.rank);
  options.modules = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
  if (network.family == "gpt2") {
    options.modules = {"c_attn", "c_fc", "c_proj"};
    options.prefix += "transformer.";
  }
  const int adapted = config_.layers > 0 ? std::min(config_.layers, network.layers) : (network.layers + 1) / 2;
  for (int64_t i = network.layers - adapted; i < network.layers; ++i) options.layers.push_back(i);
  options.decoder = network;
  lora_ = heed::train::Lora(options);
  status = lora_.choose(judges, log_);
  if (status == Status::Ok) status = lora_.add_to(&optimizer_);
  if (status != Status::Ok) return status;
  lora_.apply(judges);
  // The mean over the tokens of answers. The others have the label -100, and a loss of 0.
  const heed::Tensor rows = judges.mean(judges.cross_entropy(logits, next), 1);
  const heed::Tensor all = judges.mean(judges.reshape(rows, {1, config_.batch}), 1);
  const heed::Tensor loss = judges.mul(all, judges.input("share", {1}));
  judges.output("loss", loss);

  heed::Graph learns = judges;
  const std::vector<heed::Tensor> gradients = heed::train::gradients(learns, loss, optimizer_.weights(learns));
  learns.output("report", optimizer_.step(learns, gradients, optimizer_.settings(learns)));
  status = device_.compile(learns, weights, &learns_, {.training = true});
  if (status != Status::Ok) return status;
  optimizer_.keep(judges);
  status = device_.compile(judges, weights, &judges_);
  if (status != Status::Ok) return status;

  heed::Graph speaks;
  const heed::Dim past = speaks.position("past", kMostTokens + kLongestAnswer - 1);
  const heed::Tensor heard = speaks.input("ids", {1, speaks.extent("tokens", kMostTokens)}, heed::DType::I32);
  const heed::DecoderOptions with_cache = {.cache = {.capacity = kMostTokens + kLongestAnswer, .past = past}};
  speaks.output("next", speaks.argmax(model_.build(speaks, heard, with_cache).logits));
  lora_.apply(speaks);
  optimizer_.keep(speaks);
  status = device_.compile(speaks, weights, &speaks_);
  if (status == Status::Ok) status = learns_.make_state(&state_);
  return status == Status::Ok ? speaks_.make_state(&speaking_) : status;
}

int64_t Voice::weights() const {
  int64_t count = 0;
  for (const auto& parameter : optimizer_.parameters()) count += parameter.elements();
  return count;
}

std::string Voice::about() const {
  return std::to_string(weights()) + " weights of " + std::to_string(lora_.adapters().size()) + " adapters beside " +
         std::to_string(model_.bytes() >> 20) + " MB of " + name_;
}

Status Voice::begin() {
  std::vector<heed::train::LoraMatrix> matrices;
  const Status status = lora_.initial(config_.seed, &matrices);
  return status == Status::Ok ? optimizer_.load(state_, heed::train::host_tensors(matrices), log_) : status;
}

Status Voice::load(const std::string& path) {
  heed::SafeTensors file;
  const Status status = heed::SafeTensors::open(path, log_, &file);
  return status == Status::Ok ? optimizer_.load(state_, file.host_tensors(), log_) : status;
}

Status Voice::save(const std::string& path) const { return optimizer_.save(state_, path, log_); }

Status Voice::save_adapters(const std::string& folder) const {
  std::vector<heed::train::LoraMatrix> matrices;
  const Status status = lora_.read(optimizer_, state_, &matrices);
  return status == Status::Ok ? lora_.save(folder, matrices, name_, log_) : status;
}

// Rows shorter than the longest are padded with tokens that have no loss, and that no earlier token sees.
Status Voice::run(heed::Plan& plan, const std::vector<const Row*>& rows, const heed::train::StepNumbers& numbers,
                  float* loss, heed::train::StepReport* report) {
  size_t longest = 2, labels = 0;
  for (const Row* row : rows) longest = std::max(longest, row->ids.size());
  const size_t tokens = longest - 1;
  std::vector<int32_t> ids(rows.size() * tokens, 0), next(rows.size() * tokens, -100);
  for (size_t r = 0; r < rows.size(); ++r) {
    const Row& row = *rows[r];
    for (size_t i = 0; i + 1 < row.ids.size(); ++i) {
      ids[r * tokens + i] = row.ids[i];
      if (i + 1 < row.answer) continue;
      next[r * tokens + i] = row.ids[i + 1];
      ++labels;
    }
  }
  const float share = static_cast<float>(ids.size()) / static_cast<float>(std::max<size_t>(labels, 1));
  heed::train::StepWords words;
  const Status status = heed::train::step_words(heed::train::UpdateRule::AdamW, numbers, &words);
  if (status != Status::Ok) return status;
  std::vector<heed::HostBuffer> buffers = {
      {"ids", ids}, {"next", next}, {"share", std::span(&share, 1)}, {"loss", std::span(loss, 1)}};
  if (report != nullptr) {
    buffers.push_back({"optimizer.settings", words});
    buffers.push_back({"report", std::as_writable_bytes(std::span(report, 1))});
  }
  const heed::ExtentValue extents[] = {{"tokens", static_cast<int64_t>(tokens)}};
  return plan.run(buffers, extents, {.state = state_});
}

Status Voice::step(const std::vector<Row>& rows, int64_t number, float* loss, heed::train::StepReport* report) {
  std::vector<const Row*> drawn;
  for (int64_t i = 0; i < config_.batch; ++i)
    drawn.push_back(&rows[random_bits(config_.seed, static_cast<uint64_t>(number * config_.batch + i)) % rows.size()]);
  return run(learns_, drawn, {.rate = rate_at(config_.rate, config_.steps, number), .max_norm = 1.0f}, loss, report);
}

Status Voice::judge(const std::vector<Row>& rows, float* loss) {
  double sum = 0, count = 0;
  for (size_t first = 0; first < rows.size(); first += static_cast<size_t>(config_.batch)) {
    std::vector<const Row*> some;  // the last rows are evaluated twice if the batch is not full
    for (size_t i = 0; i < static_cast<size_t>(config_.batch); ++i)
      some.push_back(&rows[std::min(first + i, rows.size() - 1)]);
    float one = 0;
    const Status status = run(judges_, some, {}, &one, nullptr);
    if (status != Status::Ok) return status;
    sum += static_cast<double>(one);
    ++count;
  }
  *loss = static_cast<float>(sum / count);
  return Status::Ok;
}

Status Voice::answer(const std::string& said, bool learned, int64_t most, std::string* text) {
  std::vector<heed::train::LoraMatrix> matrices;  // initial adapters change nothing
  Status status = learned ? lora_.read(optimizer_, state_, &matrices) : lora_.initial(config_.seed, &matrices);
  if (status == Status::Ok) status = optimizer_.load(speaking_, heed::train::host_tensors(matrices), log_);
  std::vector<int32_t> ids, answer;
  if (status == Status::Ok) status = speech_.prompt(said, &ids);
  if (status == Status::Ok && std::cmp_greater(ids.size(), kMostTokens)) status = Status::InvalidArgument;
  int64_t past = 0;
  while (status == Status::Ok && std::cmp_less(answer.size(), std::min(most, kLongestAnswer))) {
    int32_t next = -1;
    const heed::HostBuffer buffers[] = {{"ids", ids}, {"next", std::span(&next, 1)}};
    const auto count = static_cast<int64_t>(ids.size());
    const heed::ExtentValue extents[] = {{"past", past}, {"tokens", count}};
    status = speaks_.run(buffers, extents, {.state = speaking_});
    if (status != Status::Ok || speech_.ends(next)) break;
    past += count;
    answer.push_back(next);
    ids.assign(1, next);
  }
  *text = speech_.text_of(answer);
  return status;
}

}  // namespace learn
