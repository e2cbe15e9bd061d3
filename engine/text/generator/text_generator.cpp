#include <heed/text_generator.hpp>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"
#include "models/family.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kDefaultContext = 4096, kMostContext = int64_t{1} << 20, kMostRead = 4096, kMostTogether = 64;

Status read_bpe(const DecoderModel& model, const std::string& path, const Log& log, Bpe* bpe) {
  return model.gguf() != nullptr ? Bpe::from_gguf(*model.gguf(), log, bpe) : Bpe::open(path, log, bpe);
}

// The template's text, or "" if there is none: from a key of the GGUF file, or a file in the folder.
Status read_template(const DecoderModel& model, const fs::path& path, const Log& log, std::string* jinja) {
  if (model.gguf() != nullptr) {
    *jinja = model.gguf()->value("tokenizer.chat_template").text().value_or("");
    return Status::Ok;
  }
  const fs::path file = path / "chat_template.jinja", config = path / "tokenizer_config.json";
  if (is_there(file)) return read_text(file.string(), ChatTemplate::kMaxBytes, log, jinja);
  if (!is_there(config)) return Status::Ok;
  JsonFile object;
  const Status status = read_object(config.string(), Bpe::kMaxFileBytes, log, &object);
  if (status == Status::Ok)
    if (const std::string* text = object.root().field("chat_template").text()) *jinja = *text;
  return status;
}

// A log that stores messages in *text, for failures that may not be reported.
Log kept_in(std::string* text) {
  return {[](void* user, LogLevel, const char* message) {
            auto& all = *static_cast<std::string*>(user);
            all.append(all.empty() ? "" : "; ").append(message);
          },
          text, LogLevel::Error};
}

Status find_chat(const DecoderModel& model, const TextGeneratorOptions& options, TextGenerator::Shared* shared) {
  if (options.chat) {
    shared->chat = options.chat;
    return options.chat->valid() ? Status::Ok
                                 : fail(shared->log, Status::InvalidArgument, "the chat template is of no family");
  }
  std::string jinja;
  const Status status = read_template(model, shared->path, shared->log, &jinja);
  if (status != Status::Ok) return status;
  if (jinja.empty()) {
    shared->chat_problem = shared->path + ": the model has no chat template";
    return Status::Ok;
  }
  ChatTemplate chat;
  if (ChatTemplate::recognize(jinja, shared->path, kept_in(&shared->chat_problem), &chat) == Status::Ok)
    shared->chat = chat;
  return Status::Ok;
}

// Files name one token that ends a text. Models also end answers with others, which have these names.
void find_ends(const DecoderModel& model, TextGenerator::Shared* shared) {
  const Bpe& bpe = shared->bpe;
  std::vector<int32_t>& ends = shared->ends;
  const auto add = [&](int64_t id) {
    if (id >= 0 && id < static_cast<int64_t>(bpe.size())) ends.push_back(static_cast<int32_t>(id));
  };
  add(bpe.vocabulary().eos);
  if (model.gguf() != nullptr)
    for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
      add(model.gguf()->value(key).integer().value_or(-1));
  if (shared->chat && !shared->chat->answer_end().empty()) add(bpe.id(shared->chat->answer_end()));
  for (const char* name :
       {"<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "</s>"}) {
    const int32_t id = bpe.id(name);
    if (id >= 0 && bpe.type(id) == TokenType::Control) add(id);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

Status check_options(const DecoderConfig& config, const TextGeneratorOptions& options, TextGenerator::Shared* shared) {
  const Log& log = shared->log;
  if (!is_float(options.dtype) || (options.weight_dtype && !is_float(*options.weight_dtype)) ||
      (options.cache_dtype && !is_float(*options.cache_dtype)))
    return fail(log, Status::InvalidArgument, "types of values, weights and caches must be f32, f16 or bf16");
  if (options.read < 1 || options.read > kMostRead)
    return fail(log, Status::InvalidArgument,
                format("a step of %lld tokens; it must be 1 to %lld", static_cast<long long>(options.read),
                       static_cast<long long>(kMostRead)));
  if (options.together < 1 || options.together > kMostTogether)
    return fail(log, Status::InvalidArgument,
                format("%lld conversations together; it must be 1 to %lld", static_cast<long long>(options.together),
                       static_cast<long long>(kMostTogether)));
  const bool has_table = !models::find_family(config.family)->names.positions.empty();
  const int64_t most = has_table ? std::min(config.positions, kMostContext) : kMostContext;
  if (options.context < 0 || options.context > most)
    return fail(log, Status::InvalidArgument,
                format("a context of %lld tokens; it must be 1 to %lld, or 0 for what the model was trained with",
                       static_cast<long long>(options.context), static_cast<long long>(most)));
  const int64_t trained = config.positions > 0 ? config.positions : kDefaultContext;
  shared->context = options.context > 0 ? options.context : std::min(trained, kDefaultContext);
  shared->read = std::min(options.read, shared->context);
  shared->together = options.together;
  shared->network.dtype = options.dtype;
  shared->network.weight_dtype = options.weight_dtype;
  shared->network.cache.dtype = options.cache_dtype;
  shared->compiling.round_rows = options.round_rows;
  shared->compiling.reproducible = options.reproducible;
  if (static_cast<int64_t>(shared->bpe.size()) <= config.vocabulary) return Status::Ok;
  return fail(log, Status::ShapeMismatch,
              format("%s: the tokenizer has %zu tokens, the model's table only %lld rows", shared->path.c_str(),
                     shared->bpe.size(), static_cast<long long>(config.vocabulary)));
}

Status compile(UploadProgress progress, TextGenerator::Shared* shared) {
  shared->weights = {};
  Status status = shared->model.upload(shared->device, shared->network, &shared->weights, progress);
  for (const auto& [what, plan] :
       {std::pair(StepKind::Prefill, &shared->prefill), std::pair(StepKind::Decode, &shared->decode),
        std::pair(StepKind::BatchDecode, &shared->batch_decode)})
    if (status == Status::Ok && (what != StepKind::BatchDecode || shared->together > 1))
      status = shared->device.compile(step_graph(*shared, what), shared->weights, plan, shared->compiling);
  return status;
}

// Uploads the weights in the file's types by default, or converted if the device cannot compute with them.
Status prepare(const TextGeneratorOptions& options, TextGenerator::Shared* shared) {
  const Status status = compile(options.progress, shared);
  const std::span<const HostTensor> tensors = shared->model.tensors();
  const bool quantized =
      std::any_of(tensors.begin(), tensors.end(), [](const HostTensor& t) { return is_quantized(t.dtype); });
  if (status != Status::Unsupported || !quantized || options.weight_dtype || options.dtype != DType::F32) return status;
  log(shared->log, LogLevel::Warning,
      shared->path + ": its quantized weights become f16, since the device does not compute with them");
  shared->network.weight_dtype = DType::F16;
  return compile(options.progress, shared);
}

// The type of most bytes.
DType usual_dtype(const DecoderModel& model) {
  std::array<size_t, kDTypes> bytes = {};
  for (const HostTensor& tensor : model.tensors()) bytes[static_cast<size_t>(tensor.dtype)] += tensor.data.size();
  return static_cast<DType>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

}  // namespace

Status TextGenerator::Shared::compile_later(Graph (*graph)(const Shared& shared), Plan* plan) {
  return plan->valid() ? Status::Ok : device.compile(graph(*this), weights, plan, compiling);
}

Status TextGenerator::Shared::check_ids(std::span<const int32_t> ids, const char* what) const {
  for (const int32_t id : ids)
    if (id < 0 || static_cast<size_t>(id) >= bpe.size())
      return fail(log, Status::InvalidArgument, format("%s with token %d, which the model has not", what, id));
  return Status::Ok;
}

DecoderOptions TextGenerator::Shared::with_cache(Dim past) const {
  DecoderOptions options = network;
  options.cache = {.capacity = context, .past = past, .dtype = network.cache.dtype};
  return options;
}

Status TextGenerator::open(Device& device, std::string_view path, const TextGeneratorOptions& options,
                           TextGenerator* generator) {
  if (!device.valid() || generator == nullptr)
    return refuse("TextGenerator::open: device is empty, or generator is null");
  auto shared = std::make_shared<Shared>();
  shared->device = device;
  shared->path = std::string(path);
  shared->log = options.log;
  const DecoderModel& model = shared->model;
  Status status = DecoderModel::open(path, options.log, &shared->model);
  if (status == Status::Ok) status = read_bpe(model, shared->path, options.log, &shared->bpe);
  if (status == Status::Ok) status = check_options(model.config(), options, shared.get());
  if (status == Status::Ok) status = find_chat(model, options, shared.get());
  if (status == Status::Ok) {
    find_ends(model, shared.get());
    status = prepare(options, shared.get());
  }
  if (status != Status::Ok) return status;
  const DType stored = options.dtype == DType::F32 ? usual_dtype(model) : options.dtype;
  shared->weight_dtype = shared->network.weight_dtype.value_or(stored);
  generator->shared_ = std::move(shared);
  return Status::Ok;
}

const DecoderConfig& TextGenerator::config() const { return shared_->model.config(); }
const Bpe& TextGenerator::tokenizer() const { return shared_->bpe; }
const ChatTemplate* TextGenerator::chat() const { return shared_->chat ? &*shared_->chat : nullptr; }
int64_t TextGenerator::context() const { return shared_->context; }
DType TextGenerator::weight_dtype() const { return shared_->weight_dtype; }
uint64_t TextGenerator::conversation_bytes() const {
  return shared_->prefill.state_bytes() / static_cast<uint64_t>(shared_->together);
}
const Weights& TextGenerator::weights() const { return shared_->weights; }
const Plan& TextGenerator::plan() const { return shared_->decode; }
bool TextGenerator::ends_answer(int32_t id) const {
  return std::binary_search(shared_->ends.begin(), shared_->ends.end(), id);
}

const char* to_string(TextEnd end) {
  switch (end) {
    case TextEnd::None: return "None";
    case TextEnd::EndOfTurn: return "EndOfTurn";
    case TextEnd::StopString: return "StopString";
    case TextEnd::MostTokens: return "MostTokens";
    case TextEnd::ContextFull: return "ContextFull";
    case TextEnd::Cancelled: return "Cancelled";
    case TextEnd::Complete: return "Complete";
    case TextEnd::NoToken: return "NoToken";
  }
  return "?";
}

}  // namespace heed
