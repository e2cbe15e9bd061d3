// Whisper's files: a folder as Hugging Face has it.
#include <algorithm>
#include <cstring>

#include <heed/bpe.hpp>
#include <heed/nn.hpp>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"
#include "models/family.hpp"
#include "models/whisper_loader.hpp"

namespace heed::models {

namespace {

// A module of a layer, and those of the file whose rows it has, one behind the other.
struct Module {
  std::string_view name, parts[3];
};
constexpr Module kModules[] = {
    {"self_attention.layer_norm", {"self_attn_layer_norm"}},
    {"self_attention.linear_0", {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
    {"self_attention.linear_1", {"self_attn.out_proj"}},
    {"attention.layer_norm", {"encoder_attn_layer_norm"}},
    {"attention.linear_0", {"encoder_attn.q_proj"}},
    {"attention.linear_1", {"encoder_attn.k_proj", "encoder_attn.v_proj"}},
    {"attention.linear_2", {"encoder_attn.out_proj"}},
    {"ffn.layer_norm", {"final_layer_norm"}},
    {"ffn.linear_0", {"fc1"}},
    {"ffn.linear_1", {"fc2"}},
};

// The names in the file of what a weight of the graph, such as "decoder.layer_0.attention.linear_1.weight", is made of.
std::vector<std::string> parts_of(std::string_view weight) {
  if (weight == "decoder.embeddings.weight") return {"decoder.embed_tokens.weight"};
  const std::string side(weight.substr(0, weight.find('.')));
  if (weight.ends_with(".position_encodings.encodings")) return {side + ".embed_positions.weight"};
  const std::string layer = side + ".layer_";
  if (!weight.starts_with(layer) || weight.starts_with(side + ".layer_norm")) return {std::string(weight)};
  const size_t begin = layer.size(), dot = weight.find('.', begin), end = weight.rfind('.');
  const std::string front = side + ".layers." + std::string(weight.substr(begin, dot + 1 - begin));
  std::vector<std::string> parts;
  for (const Module& module : kModules)
    for (const std::string_view part : module.parts)
      if (module.name == weight.substr(dot + 1, end - dot - 1) && !part.empty())
        parts.push_back(front + std::string(part) + std::string(weight.substr(end)));
  return parts;
}

class HuggingFaceLoader : WhisperLoader {
 public:
  using WhisperLoader::WhisperLoader;

  Status run() {
    Status status = read_config();
    if (status == Status::Ok) status = Checkpoint::open(path_.string(), log_, &checkpoint_);
    if (status == Status::Ok) status = find_weights();
    if (status == Status::Ok) status = read_vocabulary();
    if (status == Status::Ok) status = find_tokens();
    if (status == Status::Ok) status = read_rules();
    return status;
  }

 private:
  Status read_config() {
    const std::string path = (path_ / "config.json").string();
    JsonFile object;
    const Status status = read_object(path, kMaxConfigBytes, log_, &object);
    if (status != Status::Ok) return status;
    Fields fields(object.root(), path, log_);
    if (fields.text("model_type") != "whisper")
      fields.fail("model_type", "'whisper' is read here", Status::Unsupported);
    if (fields.text("activation_function", "gelu") != "gelu")
      fields.fail("activation_function", "only 'gelu' is supported", Status::Unsupported);
    if (fields.boolean("scale_embedding", false))
      fields.fail("scale_embedding", "is not supported", Status::Unsupported);
    const auto size = [&](const std::string& name) { return fields.integer(name.c_str(), 1, kMaxDecoderSize); };
    config_.width = size("d_model");
    config_.bands = size("num_mel_bins");
    config_.vocabulary = size("vocab_size");
    const auto read_side = [&](const std::string& name, const char* positions, WhisperSide* side) {
      side->layers = static_cast<int>(fields.integer((name + "_layers").c_str(), 1, nn::kMaxLayers));
      side->heads = size(name + "_attention_heads");
      side->hidden = size(name + "_ffn_dim");
      side->positions = fields.integer(positions, 1, kMostPositions);
      if (fields.status() == Status::Ok && config_.width % side->heads != 0)
        fields.fail((name + "_attention_heads").c_str(),
                    format("must divide d_model %lld", static_cast<long long>(config_.width)));
    };
    read_side("encoder", "max_source_positions", &config_.encoder);
    read_side("decoder", "max_target_positions", &config_.decoder);
    return fields.status();
  }

  // --- Weights

  Status find_weights() {
    const std::vector<Stored> stored = all_stored(checkpoint_.entries());
    WeightFinder finder(stored, "the checkpoint", log_);
    const std::string wrapper = finder.has("encoder.conv1.weight") ? "" : "model.";
    Graph g;
    if (const Status status = build(&g); status != Status::Ok)
      return fail(log_, status, path_.string() + ": " + std::string(g.error()));
    const std::vector<WeightInfo> weights = g.weights();
    names_.reserve(weights.size());
    for (const WeightInfo& weight : weights) take(weight, wrapper, &finder);
    // Logits are products with the table of tokens, which some files have a second time.
    return tell(finder, [](std::string_view name) { return name == "proj_out.weight"; });
  }

  void take(const WeightInfo& weight, const std::string& wrapper, WeightFinder* finder) {
    const std::vector<std::string> names = parts_of(weight.name);
    Shape shape = weight.shape;
    if (shape.rank == 3) std::swap(shape[1], shape[2]);
    shape[0] = Dim(shape[0].value / static_cast<int64_t>(names.size()));
    std::vector<const Stored*> parts;
    const Stored* first = nullptr;
    for (const std::string& name : names) {
      // Keys have no bias, which would add the same to all scores of a query.
      const bool is_zero = name.ends_with("k_proj.bias") && !finder->has(wrapper + name);
      const Stored* part =
          is_zero ? nullptr : finder->take(wrapper + name, shape, names.size() == 1 && may_be_quantized(weight));
      parts.push_back(part);
      if (part != nullptr && first == nullptr) first = part;
      if (!is_zero && (part == nullptr || !part->dtype || !fit(*first, *part))) return;
    }
    Stored whole = *first;
    whole.name = names_.emplace_back(weight.name);
    if (parts.size() > 1) join(parts, weight, &whole);
    // tell() refuses tensors of another rank.
    if (weight.shape.rank == 3 && whole.shape.size() == 3) put_channels_last(&whole);
    add(whole);
  }

  // The finder tells of other shapes and types at its end.
  static bool fit(const Stored& first, const Stored& part) {
    return is_float(*part.dtype) && part.dtype == first.dtype && part.data.size() == first.data.size();
  }

  void join(const std::vector<const Stored*>& parts, const WeightInfo& weight, Stored* whole) {
    const size_t bytes = whole->data.size();
    std::vector<std::byte>& made = make(bytes * parts.size());  // zeros
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i] != nullptr) std::memcpy(&made[i * bytes], parts[i]->data.data(), bytes);
    std::vector<int64_t>& shape = shapes_.emplace_back();
    for (int i = 0; i < weight.shape.rank; ++i) shape.push_back(weight.shape[i].value);
    whole->shape = shape;
    whole->data = made;
  }

  // --- Tokens

  Status place(const std::string& token, Json id) {
    const uint64_t* at = id.natural();
    if (at == nullptr || *at >= vocabulary_.size())
      return fail(log_, Status::InvalidFile,
                  format("%s: the id of token '%s' is %s, must be less than %zu", vocabulary_file_.c_str(),
                         printable(token).c_str(), id.shown().c_str(), vocabulary_.size()));
    vocabulary_[static_cast<size_t>(*at)] = token;
    return Status::Ok;
  }

  Status read_vocabulary() {
    vocabulary_file_ = (path_ / "tokenizer.json").string();
    JsonFile object;
    Status status = read_object(vocabulary_file_, Bpe::kMaxFileBytes, log_, &object);
    if (status != Status::Ok) return status;
    vocabulary_.resize(static_cast<size_t>(config_.vocabulary));
    object.root().field("model").field("vocab").each(
        [&](const std::string& token, Json id) { return (status = place(token, id)) == Status::Ok; });
    object.root().field("added_tokens").each([&](const std::string&, Json token) {
      const std::string* text = token.field("content").text();
      return text == nullptr || (status = place(*text, token.field("id"))) == Status::Ok;
    });
    if (status == Status::Ok) name_times();
    return status;
  }

  // Older files end before the tokens of times, which follow the last one.
  void name_times() {
    size_t last = vocabulary_.size();
    while (last > 0 && vocabulary_[last - 1].empty()) --last;
    if (last == 0 || vocabulary_[last - 1] != "<|notimestamps|>") return;
    for (size_t i = last; i < vocabulary_.size(); ++i)
      vocabulary_[i] = format("<|%zu.%02zu|>", (i - last) / 50, (i - last) % 50 * 2);
  }

  // Tokens that are never drawn: newer folders have them in a file of their own.
  Status read_rules() {
    const std::filesystem::path newer = path_ / "generation_config.json";
    const std::string path = (is_there(newer) ? newer : path_ / "config.json").string();
    JsonFile object;
    const Status status = read_object(path, kMaxConfigBytes, log_, &object);
    if (status != Status::Ok) return status;
    Fields fields(object.root(), path, log_);
    read_ids(&fields, "suppress_tokens", &tokens_.suppressed);
    read_ids(&fields, "begin_suppress_tokens", &tokens_.at_first);
    tokens_.multilingual = fields.boolean("is_multilingual", seems_multilingual());
    for (size_t i = 0; i < vocabulary_.size(); ++i)  // rows that pad the table
      if (vocabulary_[i].empty()) tokens_.suppressed.push_back(static_cast<int32_t>(i));
    return fields.status();
  }
};

}  // namespace

Status load_hugging_face(const std::string& path, const Log& log, WhisperModel* model) {
  return HuggingFaceLoader(path, log, model).run();
}

}  // namespace heed::models
