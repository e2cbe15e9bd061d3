// Reads Whisper from a folder of Hugging Face.
#include <algorithm>

#include <heed/bpe.hpp>
#include <heed/nn.hpp>

#include "base/logging.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"
#include "models/family.hpp"
#include "models/whisper_loader.hpp"

namespace heed::models {

namespace {

constexpr PartModule kHuggingFaceModules[] = {
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

constexpr PartNames kHuggingFaceNames = {.tokens = "decoder.embed_tokens.weight",
                                         .positions = ".embed_positions.weight",
                                         .encoder_norm = "encoder.layer_norm",
                                         .decoder_norm = "decoder.layer_norm",
                                         .layers = ".layers.",
                                         .modules = kHuggingFaceModules};

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
    const auto is_bare = [](const Stored& one) { return one.name == "encoder.conv1.weight"; };
    const char* wrapper = std::any_of(stored.begin(), stored.end(), is_bare) ? "" : "model.";
    // Logits are matmuls with the token table, which some files contain twice.
    return find_parts(stored, "the checkpoint", kHuggingFaceNames, wrapper,
                      [](std::string_view name) { return name == "proj_out.weight"; });
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
    if (status == Status::Ok) name_times();  // older files lack the names of times
    return status;
  }

  // Tokens that are never drawn: newer folders have them in a separate file.
  Status read_rules() {
    const std::filesystem::path newer = path_ / "generation_config.json";
    const std::string path = (is_there(newer) ? newer : path_ / "config.json").string();
    const Status status = WhisperLoader::read_rules(path, "suppress_tokens", "begin_suppress_tokens");
    for (size_t i = 0; i < vocabulary_.size(); ++i)  // includes rows that only pad the vocabulary
      if (vocabulary_[i].empty()) tokens_.suppressed.push_back(static_cast<int32_t>(i));
    return status;
  }
};

}  // namespace

Status load_hugging_face(const std::string& path, const Log& log, WhisperModel* model) {
  return HuggingFaceLoader(path, log, model).run();
}

}  // namespace heed::models
