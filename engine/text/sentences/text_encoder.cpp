#include <heed/text_encoder.hpp>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>

#include <heed/nn.hpp>

#include "base/fingerprint.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"
#include "text/sentences/sentence_modules.hpp"
#include "text/wordpiece/tokenizer_data.hpp"

namespace heed {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kMaxAttention = int64_t{1} << 28;  // weights of one text: 1 GiB

void add_rules(const WordPiece::Data& tokenizer, Fingerprint* print) {
  const WordPieceOptions& options = tokenizer.options;
  for (const bool rule : {options.clean, options.cjk_spacing, options.lowercase, tokenizer.strips_accents})
    print->add(uint64_t{rule});
  print->add(static_cast<uint64_t>(options.max_word));
  print->add(options.prefix);
  for (const int32_t id : {tokenizer.unknown, tokenizer.cls, tokenizer.sep, tokenizer.pad})
    print->add(static_cast<uint64_t>(id));
  std::vector<int32_t> special = tokenizer.special;
  std::sort(special.begin(), special.end());  // files of the same tokenizer may list them in another order
  print->add(special.size());
  for (const int32_t id : special) print->add(static_cast<uint64_t>(id));
}

uint64_t fingerprint_of(const BertConfig& c, const WordPiece& tokenizer, const Checkpoint& checkpoint,
                        int64_t max_tokens) {
  Fingerprint print;
  for (int64_t value : {c.vocabulary, c.width, c.layers, c.heads, c.hidden, c.positions, c.types, max_tokens})
    print.add(static_cast<uint64_t>(value));
  print.add(static_cast<uint64_t>(c.activation));
  print.add(std::bit_cast<uint32_t>(c.eps));
  add_rules(tokenizer.data(), &print);
  for (size_t i = 0; i < tokenizer.size(); ++i) print.add(tokenizer.token(static_cast<int32_t>(i)));
  for (const SafeTensors::Entry& entry : checkpoint.entries()) {
    print.add(entry.name);
    print.add(entry.data);
  }
  return print.value();
}

// Checks the caller's longest input, or sets it to the number of positions.
Status choose_max_tokens(const BertConfig& config, int64_t asked, const Log& log, int64_t* max_tokens) {
  if (config.positions < 2)  // [CLS] and [SEP]
    return fail(
        log, Status::Unsupported,
        format("the model has %lld positions; at least 2 are needed", static_cast<long long>(config.positions)));
  if (asked < 0 || asked == 1 || asked > config.positions)
    return fail(log, Status::InvalidArgument,
                format("max_tokens is %lld; it must be 2 to %lld, or 0", static_cast<long long>(asked),
                       static_cast<long long>(config.positions)));
  *max_tokens = asked > 0 ? asked : config.positions;
  return Status::Ok;
}

// Reads sentence_bert_config.json, if it is there: the longest input, unless the caller asks for one, and do_lower_case, which is accepted
// only if the tokenizer lower-cases texts itself.
Status read_sentence_config(const fs::path& path, const WordPiece& tokenizer, int64_t asked, const Log& log,
                            int64_t* max_tokens) {
  if (!is_there(path)) return Status::Ok;
  JsonFile object;
  const Status status = read_object(path.string(), kMaxConfigBytes, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), path.string(), log);
  if (asked == 0) *max_tokens = fields.integer("max_seq_length", 2, *max_tokens, *max_tokens);
  if (fields.boolean("do_lower_case", false) && !tokenizer.data().options.lowercase)
    fields.fail("do_lower_case", "the tokenizer tells upper and lower case apart", Status::Unsupported);
  return fields.status();
}

Status check_vocabulary(const BertConfig& config, const WordPiece& tokenizer, const std::string& directory,
                        const Log& log) {
  if (static_cast<int64_t>(tokenizer.size()) <= config.vocabulary) return Status::Ok;
  return fail(log, Status::ShapeMismatch,
              format("%s: the tokenizer has %zu tokens, the model's table only %lld rows", directory.c_str(),
                     tokenizer.size(), static_cast<long long>(config.vocabulary)));
}

// Chooses the type of matrices and tables on the device.
Status choose_weight_dtype(const BertWeights& loaded, const TextEncoderOptions& options, DType* chosen) {
  const DType asked = options.keep_weight_dtype ? loaded.dtype() : options.weight_dtype.value_or(options.dtype);
  *chosen = asked;
  if (asked == options.dtype) return Status::Ok;
  if (options.dtype != DType::F32 || (asked != DType::F16 && asked != DType::BF16))
    return fail(options.log, Status::InvalidArgument,
                format("weights of %s beside a dtype of %s; the same, or f16 or bf16 beside f32, are needed",
                       to_string(asked), to_string(options.dtype)));
  return Status::Ok;
}

Graph sentence_graph(const BertConfig& config, DType dtype, DType weight_dtype, int64_t max_batch, int64_t max_tokens) {
  Graph g;
  const Dim batch = g.extent("batch", max_batch), tokens = g.extent("tokens", max_tokens);
  const Tensor ids = g.input("ids", {batch, tokens}, DType::I32);
  const Mask padding = keep(g.input("keep", {batch, tokens}, DType::U8));
  BertOptions options;
  options.dtype = dtype;
  options.weight_dtype = weight_dtype;
  const BertResult result = nn::bert(g, ids, padding, config, options);
  const Tensor sentence = nn::mean_sentence(g, result.tokens, padding);
  g.output("sentence", dtype == DType::F32 ? sentence : g.cast(sentence, DType::F32));
  return g;
}

}  // namespace

Status TextEncoder::open(Device& device, std::string_view directory, const TextEncoderOptions& options,
                         TextEncoder* encoder) {
  const Log& log = options.log;
  if (!device.valid() || encoder == nullptr) return refuse("TextEncoder::open: device is empty, or encoder is null");
  if (!is_float(options.dtype))
    return fail(log, Status::InvalidArgument,
                format("dtype is %s; it must be f32, f16 or bf16", to_string(options.dtype)));
  const fs::path folder(directory);
  const std::string name = folder.string();
  TextEncoder fresh;
  fresh.device_ = device;
  fresh.dtype_ = options.dtype;
  fresh.max_batch_ = options.max_batch;

  Checkpoint checkpoint;
  BertWeights loaded;
  Status status = read_bert_config((folder / "config.json").string(), log, &fresh.config_);
  if (status == Status::Ok) status = check_sentence_modules(folder, log);
  if (status == Status::Ok) status = choose_max_tokens(fresh.config_, options.max_tokens, log, &fresh.max_tokens_);
  if (status == Status::Ok) status = WordPiece::open(name, log, &fresh.tokenizer_);
  if (status == Status::Ok)
    status = read_sentence_config(folder / "sentence_bert_config.json", fresh.tokenizer_, options.max_tokens, log,
                                  &fresh.max_tokens_);
  if (status == Status::Ok) status = check_vocabulary(fresh.config_, fresh.tokenizer_, name, log);
  if (status == Status::Ok) status = Checkpoint::open(name, log, &checkpoint);
  if (status == Status::Ok) status = BertWeights::load(checkpoint, fresh.config_, log, &loaded);
  if (status == Status::Ok) status = choose_weight_dtype(loaded, options, &fresh.weight_dtype_);
  if (status != Status::Ok) return status;
  fresh.fingerprint_ = fingerprint_of(fresh.config_, fresh.tokenizer_, checkpoint, fresh.max_tokens_);

  UploadOptions upload;
  upload.keep_dtype = false;
  upload.dtype = fresh.weight_dtype_;
  upload.only_matrices = fresh.weight_dtype_ != options.dtype;  // all other weights are F32, like activations
  upload.progress = options.progress;
  const Graph graph =
      sentence_graph(fresh.config_, options.dtype, fresh.weight_dtype_, options.max_batch, fresh.max_tokens_);
  std::vector<HostTensor> read;  // weights that the graph reads; a pooler, for example, is not among them
  for (const HostTensor& tensor : loaded.tensors())
    if (graph.find_weight(tensor.name).valid()) read.push_back(tensor);
  status = fresh.device_.upload(read, &fresh.weights_, upload);
  CompileOptions compile;
  compile.timestamps = options.timestamps;
  compile.reproducible = options.reproducible;
  if (status == Status::Ok) status = fresh.device_.compile(graph, fresh.weights_, &fresh.plan_, compile);
  if (status == Status::Ok) *encoder = std::move(fresh);
  return status;
}

TokenBatch make_batch(std::span<const std::span<const int32_t>> lists, int32_t pad) {
  TokenBatch batch;
  batch.count = static_cast<int64_t>(lists.size());
  size_t longest = 0;
  for (const std::span<const int32_t> list : lists) longest = std::max(longest, list.size());
  batch.tokens = static_cast<int64_t>(longest);
  batch.ids.assign(lists.size() * longest, pad);
  batch.keep.assign(lists.size() * longest, 0);
  for (size_t i = 0; i < lists.size(); ++i) {
    std::copy(lists[i].begin(), lists[i].end(), batch.ids.begin() + static_cast<long>(i * longest));
    std::fill_n(batch.keep.begin() + static_cast<long>(i * longest), lists[i].size(), uint8_t{1});
  }
  return batch;
}

Status TextEncoder::encode(const TokenBatch& batch, std::span<float> vectors) {
  return plan_.run({{"ids", batch.ids}, {"keep", batch.keep}, {"sentence", vectors}},
                   {{"batch", batch.count}, {"tokens", batch.tokens}});
}

Status TextEncoder::encode(std::span<const std::string_view> texts, std::span<float> vectors, size_t* truncated,
                           EncodeProgress progress, size_t* done) {
  const size_t width = static_cast<size_t>(config_.width);
  if (!valid()) return refuse("TextEncoder::encode: the TextEncoder is empty");
  if (vectors.size() / width < texts.size())
    return refuse(format("TextEncoder::encode: %zu texts need %zu numbers; there is room for %zu", texts.size(),
                         texts.size() * width, vectors.size())
                      .c_str());
  size_t cut = 0, finished = 0;
  std::vector<std::vector<int32_t>> ids(texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    if (!tokenizer_.encode(texts[i], static_cast<size_t>(max_tokens_), &ids[i])) ++cut;
  // The longest texts come first, so that memory use and time per batch are known from the start.
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a].size() > ids[b].size(); });

  std::vector<float> out;
  Status status = Status::Ok;
  while (finished < texts.size() && status == Status::Ok) {
    const size_t count = std::min(static_cast<size_t>(max_batch_), texts.size() - finished);
    std::vector<std::span<const int32_t>> lists;
    for (size_t i = 0; i < count; ++i) lists.emplace_back(ids[order[finished + i]]);
    out.resize(count * width);
    status = encode(make_batch(lists, tokenizer_.pad_id()), out);
    for (size_t i = 0; i < count && status == Status::Ok; ++i)
      std::copy_n(out.begin() + static_cast<long>(i * width), width,
                  vectors.begin() + static_cast<long>(order[finished + i] * width));
    if (status == Status::Ok) finished += count;
    if (progress.callback != nullptr && !progress.callback(progress.user, finished, texts.size())) break;
  }
  if (truncated != nullptr) *truncated = cut;
  if (done != nullptr) *done = finished;
  return status;
}

Status TextEncoder::attention(std::string_view text, TextAttention* attention) {
  if (!valid() || attention == nullptr)
    return refuse("TextEncoder::attention: the TextEncoder is empty, or attention is null");
  std::vector<int32_t> ids;
  tokenizer_.encode(text, static_cast<size_t>(max_tokens_), &ids);
  const int64_t tokens = static_cast<int64_t>(ids.size());
  const std::vector<uint8_t> kept(ids.size(), 1);

  Graph g;
  if (tokens * tokens > kMaxAttention / (config_.layers * config_.heads))
    g.fail(Status::OutOfMemory,
           format("the attention of %lld tokens in %lld layers of %lld heads takes more than 1 GiB",
                  static_cast<long long>(tokens), static_cast<long long>(config_.layers),
                  static_cast<long long>(config_.heads)));
  const Tensor input = g.input("ids", {1, tokens}, DType::I32);
  const Mask padding = keep(g.input("keep", {1, tokens}, DType::U8));
  BertOptions options;
  options.dtype = dtype_;
  options.weight_dtype = weight_dtype_;
  options.attention = true;
  const BertResult result = nn::bert(g, input, padding, config_, options);
  for (size_t layer = 0; layer < result.attention.size(); ++layer) {
    const Tensor weights = result.attention[layer];
    g.output("attention." + std::to_string(layer), dtype_ == DType::F32 ? weights : g.cast(weights, DType::F32));
  }
  Plan plan;
  Status status = device_.compile(g, weights_, &plan);
  if (status != Status::Ok) return status;

  const size_t cells = static_cast<size_t>(config_.heads * tokens * tokens);
  TextAttention fresh;
  fresh.layers = config_.layers;
  fresh.heads = config_.heads;
  fresh.weights.resize(static_cast<size_t>(config_.layers) * cells);
  std::vector<std::string> names;
  names.reserve(result.attention.size());
  std::vector<HostBuffer> buffers = {{"ids", ids}, {"keep", kept}};
  for (size_t layer = 0; layer < result.attention.size(); ++layer)
    buffers.emplace_back(names.emplace_back("attention." + std::to_string(layer)),
                         std::span(fresh.weights).subspan(layer * cells, cells));
  status = plan.run(buffers);
  if (status != Status::Ok) return status;
  for (int32_t id : ids) fresh.tokens.emplace_back(tokenizer_.token(id));
  *attention = std::move(fresh);
  return Status::Ok;
}

}  // namespace heed
