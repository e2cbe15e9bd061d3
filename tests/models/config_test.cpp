// Configuration values in GGUF metadata and config.json: which are read, and how others are refused.
#include "io/gguf_writer.hpp"
#include "models/rope_factors.hpp"
#include "models/support.hpp"

#include <functional>
#include <numbers>
#include <set>

namespace heed::test {
namespace {

using ValueType = Gguf::ValueType;
using Write = std::function<void(GgufWriter&, const std::string& key)>;

// A Llama of one layer: 16 wide, 4 heads of 4, 2 key heads, 24 hidden, 11 tokens, F32 matrices. Tests replace, omit or add keys and
// tensors.
struct LlamaFile {
  std::map<std::string, Write> keys;
  std::map<std::string, std::vector<uint64_t>> tensors;
  std::string architecture = "llama";

  LlamaFile() {
    u32("block_count", 1).u32("embedding_length", 16).u32("feed_forward_length", 24).u32("context_length", 512);
    u32("attention.head_count", 4).u32("attention.head_count_kv", 2);
    f32("attention.layer_norm_rms_epsilon", 1e-5f);
    tensors = {
        {"token_embd.weight", {11, 16}},   {"output_norm.weight", {16}},           {"blk.0.attn_norm.weight", {16}},
        {"blk.0.ffn_norm.weight", {16}},   {"blk.0.attn_q.weight", {16, 16}},      {"blk.0.attn_k.weight", {8, 16}},
        {"blk.0.attn_v.weight", {8, 16}},  {"blk.0.attn_output.weight", {16, 16}}, {"blk.0.ffn_gate.weight", {24, 16}},
        {"blk.0.ffn_up.weight", {24, 16}}, {"blk.0.ffn_down.weight", {16, 24}}};
  }
  LlamaFile& u32(const std::string& key, uint32_t value) {
    keys[key] = [=](GgufWriter& w, const std::string& name) { w.u32(name, value); };
    return *this;
  }
  LlamaFile& f32(const std::string& key, float value) {
    keys[key] = [=](GgufWriter& w, const std::string& name) { w.f32(name, value); };
    return *this;
  }
  LlamaFile& text(const std::string& key, const std::string& value) {
    keys[key] = [=](GgufWriter& w, const std::string& name) { w.text(name, value); };
    return *this;
  }
  LlamaFile& flag(const std::string& key, bool value) {
    keys[key] = [=](GgufWriter& w, const std::string& name) { w.flag(name, value); };
    return *this;
  }
  LlamaFile& list(const std::string& key, const std::vector<uint32_t>& values) {
    keys[key] = [=](GgufWriter& w, const std::string& name) { w.numbers(name, ValueType::U32, values); };
    return *this;
  }
  LlamaFile& tensor(const std::string& name, const std::vector<uint64_t>& shape) {
    tensors[name] = shape;
    return *this;
  }
  LlamaFile& without(const std::string& name) {
    keys.erase(name);
    tensors.erase(name);
    return *this;
  }

  LlamaFile& in_parts(uint32_t count) {
    parts = count;
    return *this;
  }
  std::string types_of = {};                         // a tensor with another type ...
  uint32_t type = 0;                                 // ... this one,
  uint64_t block = 1, bytes = 4;                     // which has blocks of so many elements and bytes
  std::map<std::string, std::vector<float>> values;  // of tensors that are not all zeros
  uint32_t parts = 0;                                // if not 0, the stated number of files of a split model

  std::string file() const {
    GgufWriter w;
    if (!architecture.empty()) w.text("general.architecture", architecture);
    if (parts > 0) w.u32("split.count", parts);
    for (const auto& [key, write] : keys) write(w, architecture + "." + key);
    for (const auto& [name, shape] : tensors) {
      uint64_t elements = 1;
      for (const uint64_t size : shape) elements *= size;
      std::string data(elements * 4, '\0');
      if (const auto found = values.find(name); found != values.end())
        std::memcpy(data.data(), found->second.data(), data.size());
      if (name == types_of)
        w.tensor(name, type, shape, std::string(elements / block * bytes, '\0'));
      else
        w.tensor(name, 0, shape, data);
    }
    return w.file();
  }
};

struct ModelRead {
  std::string bytes;
  DecoderModel model;
  Status status = Status::Ok;
  Messages messages;
};

std::unique_ptr<ModelRead> read_model(const std::string& bytes) {
  auto r = std::make_unique<ModelRead>();
  r->bytes = bytes;
  Gguf file;
  r->status = Gguf::parse(std::as_bytes(std::span(r->bytes)), "memory", r->messages.log(), &file);
  REQUIRE(r->status == Status::Ok);
  r->status = DecoderModel::open(std::move(file), r->messages.log(), &r->model);
  return r;
}

DecoderConfig config_of(const LlamaFile& file) {
  const std::unique_ptr<ModelRead> r = read_model(file.file());
  INFO(r->messages.text);
  REQUIRE(r->status == Status::Ok);
  return r->model.config();
}

// Llama 3's frequency factors, by the published rule.
std::vector<float> llama3_factors(double base, int64_t width, double factor, double low, double high, double trained) {
  std::vector<float> factors;
  for (int64_t i = 0; i < width / 2; ++i) {
    const double wave =
        2 * std::numbers::pi * std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(width));
    double f = factor;
    if (wave < trained / high) {
      f = 1;
    } else if (wave <= trained / low) {
      const double smooth = (trained / wave - low) / (high - low);
      f = 1 / ((1 - smooth) / factor + smooth);
    }
    factors.push_back(static_cast<float>(f));
  }
  return factors;
}

}  // namespace

TEST_CASE("gguf models: the numbers of a llama", "[model_files]") {
  LlamaFile file;
  DecoderConfig c = config_of(file);
  CHECK(c.family == "llama");
  CHECK(c.layers == 1);
  CHECK(c.width == 16);
  CHECK(c.heads == 4);
  CHECK(c.kv_heads == 2);
  CHECK(c.head_width == 4);
  CHECK(c.hidden == 24);
  CHECK(c.vocabulary == 11);
  CHECK(c.positions == 512);
  CHECK(c.window == 0);
  CHECK(c.eps == 1e-5f);
  CHECK(c.tied);
  CHECK(c.rotary.pairs == RotaryPairs::Adjacent);
  CHECK(c.rotary.width == 4);
  CHECK(c.rotary.base == 10000.0f);
  CHECK(c.rotary.scaling.kind == RotaryScaling::Kind::None);

  file.f32("rope.freq_base", 500000.0f).u32("rope.dimension_count", 2).u32("attention.sliding_window", 64);
  file.text("rope.scaling.type", "linear").f32("rope.scaling.factor", 4.0f).u32("vocab_size", 11);
  file.tensor("output.weight", {11, 16}).u32("expert_count", 0).f32("logit_scale", 1.0f);
  c = config_of(file);
  CHECK(c.rotary.base == 500000.0f);
  CHECK(c.rotary.width == 2);
  CHECK(c.rotary.scaling.kind == RotaryScaling::Kind::Linear);
  CHECK(c.rotary.scaling.factor == 4.0f);
  CHECK(c.window == 64);
  CHECK_FALSE(c.tied);

  LlamaFile old;
  CHECK(config_of(old.f32("rope.scale_linear", 2.0f)).rotary.scaling.factor == 2.0f);
  LlamaFile without_kv;
  without_kv.without("attention.head_count_kv").tensor("blk.0.attn_k.weight", {16, 16});
  CHECK(config_of(without_kv.tensor("blk.0.attn_v.weight", {16, 16})).kv_heads == 4);
}

TEST_CASE("gguf models: factors of the rotation", "[model_files]") {
  struct Case {
    double base;
    int64_t width;
    double factor, low, high, trained;
  };
  // Llama 3.1 and 3.2, and others.
  for (const Case& k : {Case{500000, 128, 8, 1, 4, 8192}, Case{500000, 64, 32, 1, 4, 8192},
                        Case{1000000, 128, 4, 2, 8, 4096}, Case{10000, 64, 16, 1, 2, 512}}) {
    const std::vector<float> factors = llama3_factors(k.base, k.width, k.factor, k.low, k.high, k.trained);
    const std::optional<RotaryScaling> found = scaling_of(factors, k.base, static_cast<int64_t>(k.trained));
    INFO(k.factor << " " << k.trained);
    REQUIRE(found);
    CHECK(found->kind == RotaryScaling::Kind::Llama3);
    CHECK(found->factor == static_cast<float>(k.factor));
    CHECK(std::fabs(static_cast<double>(found->low) - k.low) < 1e-3 * k.low);
    CHECK(std::fabs(static_cast<double>(found->high) - k.high) < 1e-3 * k.high);
    // At another length the same frequencies have other bounds.
    const std::optional<RotaryScaling> other = scaling_of(factors, k.base, static_cast<int64_t>(2 * k.trained));
    REQUIRE(other);
    CHECK(std::fabs(static_cast<double>(other->low) - 2 * k.low) < 2e-3 * k.low);
    std::vector<float> wrong = factors;
    wrong[wrong.size() / 2] *= 1.01f;
    CHECK_FALSE(scaling_of(wrong, k.base, static_cast<int64_t>(k.trained)));
  }
  CHECK(scaling_of(std::vector<float>{1, 1, 1}, 10000, 8192)->kind == RotaryScaling::Kind::None);
  CHECK(scaling_of(std::vector<float>{2, 2}, 10000, 8192)->kind == RotaryScaling::Kind::Linear);
  for (const std::vector<float>& bad :
       {std::vector<float>{1, NAN}, {1, 0}, {1, -1}, {INFINITY, 1}, {4, 1}, {1, 2, 3, 4}})
    CHECK_FALSE(scaling_of(bad, 10000, 8192));
}

TEST_CASE("gguf models: networks that are not understood are refused by the key's name", "[model_files]") {
  using enum Status;
  struct Bad {
    LlamaFile file;
    Status status;
    std::vector<const char*> words;
  };
  LlamaFile other_architecture, no_architecture, norm_of_integers, factors;
  other_architecture.architecture = "mamba";
  no_architecture.architecture = "";
  norm_of_integers.types_of = "blk.0.ffn_norm.weight";
  norm_of_integers.type = 24;  // I8
  norm_of_integers.bytes = 1;
  factors.tensor("rope_freqs.weight", {2});
  factors.values["rope_freqs.weight"] = {3.0f, 1.0f};
  const std::vector<Bad> all = {
      {other_architecture, Unsupported, {"general.architecture", "'mamba'", "qwen3"}},
      {no_architecture, InvalidFile, {"general.architecture", "missing"}},
      {LlamaFile().in_parts(3), Unsupported, {"split.count", "3"}},
      {LlamaFile().u32("expert_count", 8), Unsupported, {"llama.expert_count", "8"}},
      {LlamaFile().text("rope.scaling.type", "yarn"), Unsupported, {"llama.rope.scaling.type", "'yarn'"}},
      {LlamaFile().f32("final_logit_softcapping", 30), Unsupported, {"llama.final_logit_softcapping", "30"}},
      {LlamaFile().u32("attention.sliding_window_pattern", 6), Unsupported, {"sliding_window_pattern", "6"}},
      {LlamaFile().flag("use_parallel_residual", true), Unsupported, {"use_parallel_residual", "true"}},
      {LlamaFile().flag("attention.causal", false), Unsupported, {"attention.causal", "false"}},
      {LlamaFile().list("attention.head_count_kv", {2, 2}),
       Unsupported,
       {"attention.head_count_kv", "an array of 2 u32"}},
      {LlamaFile().u32("attention.value_length", 8), Unsupported, {"attention.value_length", "8"}},
      {LlamaFile().without("block_count"), InvalidFile, {"llama.block_count", "missing"}},
      {LlamaFile().u32("block_count", 4000000000u), InvalidFile, {"llama.block_count", "4000000000"}},
      {LlamaFile().text("block_count", "1"), InvalidFile, {"llama.block_count", "'1'"}},
      {LlamaFile().u32("attention.head_count", 0), InvalidFile, {"attention.head_count", "0"}},
      {LlamaFile().u32("attention.head_count", 3), InvalidFile, {"attention.head_count", "3"}},
      {LlamaFile().without("attention.layer_norm_rms_epsilon"), InvalidFile, {"layer_norm_rms_epsilon", "missing"}},
      {LlamaFile().f32("attention.layer_norm_rms_epsilon", NAN), InvalidFile, {"layer_norm_rms_epsilon", "nan"}},
      {LlamaFile().u32("rope.dimension_count", 3), InvalidFile, {"rope.dimension_count", "3"}},
      {LlamaFile().u32("rope.dimension_count", 6), InvalidFile, {"rope.dimension_count", "6", "4"}},
      {factors, Unsupported, {"rope_freqs.weight", "Llama 3"}},
      {LlamaFile().tensor("rope_freqs.weight", {3}), ShapeMismatch, {"rope_freqs.weight", "[3]", "[2]"}},
      {LlamaFile().without("token_embd.weight"), MissingWeight, {"token_embd.weight"}},
      {LlamaFile().u32("vocab_size", 12), ShapeMismatch, {"token_embd.weight is [11, 16]", "[12, 16]"}},
      {LlamaFile().without("blk.0.ffn_up.weight"), MissingWeight, {"lacks", "blk.0.ffn_up.weight"}},
      {LlamaFile().u32("block_count", 2), MissingWeight, {"blk.1.attn_norm.weight"}},
      {LlamaFile().tensor("blk.0.attn_k.weight", {16, 8}),
       ShapeMismatch,
       {"blk.0.attn_k.weight is [16, 8]", "[8, 16]"}},
      {LlamaFile().tensor("blk.0.attn_q.bias", {16}), Unsupported, {"does not use", "blk.0.attn_q.bias"}},
      {norm_of_integers, Unsupported, {"blk.0.ffn_norm.weight is I8"}},
  };
  for (const Bad& bad : all) {
    const std::unique_ptr<ModelRead> r = read_model(bad.file.file());
    INFO(bad.words[0] << ": " << r->messages.text);
    CHECK(r->status == bad.status);
    CHECK_FALSE(r->model.valid());
    CHECK_THAT(r->messages.text, holds("memory: "));
    for (const char* word : bad.words) CHECK_THAT(r->messages.text, holds(word));
  }
}

TEST_CASE("gguf models: the numbers of a Gemma 3, most of which files leave out", "[model_files]") {
  const auto read = [](LlamaFile file, Status status = Status::Ok) {
    file.architecture = "gemma3";
    const std::string bytes = file.file();
    Messages messages;
    Gguf gguf;
    REQUIRE(Gguf::parse(std::as_bytes(std::span(bytes)), "memory", messages.log(), &gguf) == Status::Ok);
    DecoderConfig config;
    CHECK(read_decoder_config(gguf, messages.log(), &config) == status);
    INFO(messages.text);
    CHECK(messages.text.empty() == (status == Status::Ok));
    return config;
  };
  const LlamaFile plain = LlamaFile().f32("rope.freq_base", 1e6f).u32("attention.sliding_window", 512);
  DecoderConfig c = read(plain);
  CHECK(c.rotary.pairs == RotaryPairs::Halves);
  CHECK(c.rotary.base == 1e6f);
  CHECK(c.window_base == 10000.0f);
  CHECK(c.window == 512);
  CHECK(c.full_every == 6);
  CHECK(c.score_width == 0);
  c = read(LlamaFile(plain).f32("rope.freq_base_swa", 20000.0f).u32("attention.sliding_window_pattern", 3));
  CHECK(c.window_base == 20000.0f);
  CHECK(c.full_every == 3);
  // The model of 27B, whose heads are narrower than its width divided by their number.
  c = read(LlamaFile(plain).u32("block_count", 62).u32("attention.key_length", 8).u32("attention.value_length", 8));
  CHECK(c.head_width == 8);
  CHECK(c.score_width == 4);
  read(LlamaFile(plain).u32("attention.sliding_window_pattern", 0), Status::InvalidFile);
  read(LlamaFile(plain).f32("final_logit_softcapping", 30), Status::Unsupported);
}

TEST_CASE("gguf models: keys that are not known are named, and do not count", "[model_files]") {
  LlamaFile file;
  const std::unique_ptr<ModelRead> r = read_model(file.u32("something.new", 3).file());
  CHECK(r->status == Status::Ok);
  CHECK(r->messages.count() == 1);
  CHECK_THAT(r->messages.text, holds("llama.something.new"));
}

TEST_CASE("decoders' config.json: what is read and what is refused", "[model_files]") {
  const std::string sound =
      R"({"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,)"
      R"("intermediate_size":96,"vocab_size":100,"max_position_embeddings":2048,"rms_norm_eps":1e-5)";
  const auto parsed = [&](const std::string& more, Messages* messages, DecoderConfig* config) {
    return parse_decoder_config(sound + more + "}", "config.json", messages->log(), config);
  };
  Messages messages;
  DecoderConfig c;
  REQUIRE(parsed("", &messages, &c) == Status::Ok);
  CHECK(c.head_width == 16);
  CHECK_FALSE(c.tied);
  CHECK(c.rotary.pairs == RotaryPairs::Halves);
  CHECK(c.rotary.base == 10000.0f);
  REQUIRE(parsed(R"(,"head_dim":32,"sliding_window":128,"rope_parameters":{"rope_theta":5e5,"rope_type":"default"})",
                 &messages, &c) == Status::Ok);
  CHECK(c.head_width == 32);
  CHECK(c.window == 128);
  CHECK(c.rotary.base == 5e5f);
  REQUIRE(parsed(R"(,"rope_theta":1e6,"rope_scaling":{"type":"linear","factor":2.5},"sliding_window":null)", &messages,
                 &c) == Status::Ok);
  CHECK(c.rotary.base == 1e6f);
  CHECK(c.rotary.scaling.kind == RotaryScaling::Kind::Linear);
  CHECK(c.rotary.scaling.factor == 2.5f);
  CHECK(messages.text.empty());
  struct Bad {
    const char* more;
    Status status;
    const char* word;
  };
  for (const Bad& bad : {
           Bad{R"(,"hidden_act":"gelu")", Status::Unsupported, "hidden_act"},
           Bad{R"(,"attention_bias":true)", Status::Unsupported, "attention_bias"},
           Bad{R"(,"mlp_bias":true)", Status::Unsupported, "mlp_bias"},
           Bad{R"(,"rope_scaling":{"rope_type":"yarn","factor":4})", Status::Unsupported, "yarn"},
           Bad{R"(,"rope_scaling":{"rope_type":"llama3","factor":4})", Status::InvalidFile, "low_freq_factor"},
           Bad{R"(,"rope_scaling":7)", Status::InvalidFile, "rope_scaling"},
           Bad{R"(,"partial_rotary_factor":0.5)", Status::Unsupported, "partial_rotary_factor"},
           Bad{R"(,"head_dim":7)", Status::InvalidFile, "head_dim"},
           Bad{R"(,"head_dim":"7")", Status::InvalidFile, "head_dim"},
       }) {
    Messages told;
    DecoderConfig kept = c;
    INFO(bad.more);
    CHECK(parsed(bad.more, &told, &kept) == bad.status);
    CHECK_THAT(told.text, holds(bad.word));
    CHECK(kept.head_width == c.head_width);
  }
  CHECK(parse_decoder_config(R"({"model_type":"t5"})", "config.json", messages.log(), &c) == Status::Unsupported);
  const std::string smollm3 = "{\"model_type\":\"smollm3\"" + sound.substr(sound.find(','));
  CHECK(parse_decoder_config(smollm3 + R"(,"no_rope_layers":[1,1]})", "config.json", messages.log(), &c) == Status::Ok);
  CHECK(parse_decoder_config(smollm3 + R"(,"no_rope_layers":[1,0]})", "config.json", messages.log(), &c) ==
        Status::Unsupported);
  CHECK_THAT(messages.text, holds("no_rope_layers"));
  const std::string gemma = "{\"model_type\":\"gemma3_text\"" + sound.substr(sound.find(','));
  REQUIRE(parse_decoder_config(gemma + R"(,"head_dim":256,"sliding_window":512})", "config.json", messages.log(), &c) ==
          Status::Ok);
  CHECK((c.family == "gemma3" && c.tied && c.window == 512 && c.full_every == 6 && c.score_width == 256));
  CHECK((c.rotary.base == 1e6f && c.window_base == 1e4f));
  const char* const kinds =
      R"(,"query_pre_attn_scalar":168,"layer_types":["sliding_attention","full_attention"],"sliding_window_pattern":2,)"
      R"("rope_parameters":{"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":5e5},)"
      R"("sliding_attention":{"rope_type":"default","rope_theta":3e4}}})";
  REQUIRE(parse_decoder_config(gemma + kinds, "config.json", messages.log(), &c) == Status::Ok);
  CHECK((c.score_width == 168 && c.full_every == 2));
  CHECK((c.rotary.base == 5e5f && c.rotary.scaling.factor == 8.0f && c.window_base == 3e4f));
  for (const char* bad :
       {R"("layer_types":["full_attention"])", R"("hidden_activation":"gelu")", R"("attn_logit_softcapping":50.0)",
        R"("use_bidirectional_attention":true)", R"("text_config":{})",
        R"("rope_parameters":{"full_attention":{},"sliding_attention":)"
        R"({"rope_theta":1e4,"rope_type":"linear"}})"}) {
    INFO(bad);
    Messages told;
    CHECK(parse_decoder_config(gemma + "," + bad + "}", "config.json", told.log(), &c) == Status::Unsupported);
    CHECK(c.score_width == 168);
  }
  CHECK(parse_decoder_config("[]", "config.json", messages.log(), &c) == Status::InvalidFile);
  CHECK(
      parse_decoder_config(R"({"model_type":"gpt2","n_layer":1,"n_embd":6,"n_head":4,"vocab_size":9,"n_positions":8})",
                           "config.json", messages.log(), &c) == Status::InvalidFile);
}

}  // namespace heed::test
