// Model directories that are incomplete, damaged or do not fit together.
#include <heed/bert.hpp>
#include <heed/text_encoder.hpp>

#include <functional>
#include <set>

#include "search/support.hpp"

namespace heed::test {
namespace {

Device cpu() {
  Device device;
  REQUIRE(Device::open({.select = "cpu", .threads = 1}, &device) == Status::Ok);
  return device;
}

}  // namespace

TEST_CASE("Model directories with a fault are refused with a message that names it", "[bert]") {
  struct Case {
    const char* what;
    std::function<void(ModelCopy&)> damage;
    Status status;
    std::vector<const char*> mentions;
  };
  namespace fs = std::filesystem;
  const Case cases[] = {
      {"no config", [](ModelCopy& m) { fs::remove(m / "config.json"); }, Status::NotFound, {"config.json"}},
      {"no weights",
       [](ModelCopy& m) { fs::remove(m / "model.safetensors.index.json"); },
       Status::NotFound,
       {"model.safetensors"}},
      {"no shard",
       [](ModelCopy& m) { fs::remove(m / "model-00002-of-00002.safetensors"); },
       Status::NotFound,
       {"model-00002-of-00002.safetensors"}},
      {"no tokenizer",
       [](ModelCopy& m) { fs::remove(m / "tokenizer.json"), fs::remove(m / "vocab.txt"); },
       Status::NotFound,
       {"vocab.txt"}},
      {"other width",
       [](ModelCopy& m) { m.change("config.json", "\"hidden_size\": 24", "\"hidden_size\": 48"); },
       Status::ShapeMismatch,
       {"embeddings.word_embeddings.weight is [1800, 24], must be [1800, 48]"}},
      {"more layers",
       [](ModelCopy& m) { m.change("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"); },
       Status::MissingWeight,
       {"encoder.layer.2.attention.self.query.weight"}},
      {"heads that do not divide",
       [](ModelCopy& m) { m.change("config.json", "\"num_attention_heads\": 3", "\"num_attention_heads\": 5"); },
       Status::InvalidFile,
       {"num_attention_heads", "5", "24"}},
      {"small table",
       [](ModelCopy& m) { m.change("config.json", "\"vocab_size\": 1800", "\"vocab_size\": 1799"); },
       Status::ShapeMismatch,
       {"1800 tokens", "1799 rows"}},
      {"text for a number",
       [](ModelCopy& m) { m.change("config.json", "\"hidden_size\": 24", "\"hidden_size\": \"24\""); },
       Status::InvalidFile,
       {"'hidden_size' is \"24\""}},
      {"huge number",
       [](ModelCopy& m) { m.change("config.json", "\"hidden_size\": 24", "\"hidden_size\": 1e300"); },
       Status::InvalidFile,
       {"hidden_size"}},
      {"no heads",
       [](ModelCopy& m) { m.change("config.json", "\"num_attention_heads\"", "\"n\""); },
       Status::InvalidFile,
       {"'num_attention_heads': is missing"}},
      {"zero layers",
       [](ModelCopy& m) { m.change("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0"); },
       Status::InvalidFile,
       {"num_hidden_layers", "is 0"}},
      {"one position",
       [](ModelCopy& m) { m.change("config.json", "_embeddings\": 64", "_embeddings\": 1"); },
       Status::Unsupported,
       {"1 positions"}},
      {"another architecture",
       [](ModelCopy& m) { m.change("config.json", "\"model_type\": \"bert\"", "\"model_type\": \"t5\""); },
       Status::Unsupported,
       {"model_type", "t5"}},
      {"relative positions",
       [](ModelCopy& m) { m.change("config.json", "\"absolute\"", "\"relative_key\""); },
       Status::Unsupported,
       {"relative_key"}},
      {"unknown activation",
       [](ModelCopy& m) { m.change("config.json", "\"gelu\"", "\"mish\""); },
       Status::Unsupported,
       {"mish"}},
      {"config is no JSON",
       [](ModelCopy& m) { write_file(m / "config.json", "{\"model_type\": \"bert\""); },
       Status::InvalidFile,
       {"config.json", "not valid JSON"}},
      {"config is an array",
       [](ModelCopy& m) { write_file(m / "config.json", "[]"); },
       Status::InvalidFile,
       {"no JSON object"}},
      {"index is empty",
       [](ModelCopy& m) { write_file(m / "model.safetensors.index.json", "{}"); },
       Status::InvalidFile,
       {"weight_map"}},
      {"index with a path",
       [](ModelCopy& m) {
         m.change("model.safetensors.index.json", "\"model-00001-of-00002.safetensors\"", "\"../secret.safetensors\"");
       },
       Status::InvalidFile,
       {"../secret.safetensors", "beside the index"}},
      {"index with a number for a file",
       [](ModelCopy& m) { m.change("model.safetensors.index.json", "\"model-00001-of-00002.safetensors\"", "7"); },
       Status::InvalidFile,
       {"is 7"}},
      {"tensor in the other shard",
       [](ModelCopy& m) {
         m.change("model.safetensors.index.json", "\"embeddings.LayerNorm.bias\": \"model-00001",
                  "\"embeddings.LayerNorm.bias\": \"model-00002");
       },
       Status::InvalidFile,
       {"embeddings.LayerNorm.bias", "model-00002-of-00002.safetensors"}},
      {"tensor that no shard has",
       [](ModelCopy& m) {
         m.change("model.safetensors.index.json", "\"weight_map\": {",
                  "\"weight_map\": {\n  \"zzz\": \"model-00002-of-00002.safetensors\",");
       },
       Status::InvalidFile,
       {"'zzz' is not in model-00002-of-00002.safetensors"}},
      {"tensor that the index lacks",
       [](ModelCopy& m) {
         m.change("model.safetensors.index.json", "\"pooler.dense.bias\"", "\"pooler.dense.other\"");
       },
       Status::InvalidFile,
       {"pooler.dense.bias"}},
      {"truncated shard",
       [](ModelCopy& m) {
         const std::string name = "model-00002-of-00002.safetensors";
         const std::string bytes = read_file(m / name);
         write_file(m / name, bytes.substr(0, bytes.size() - 3));
       },
       Status::InvalidFile,
       {"model-00002-of-00002.safetensors"}},
      {"missing tensor",
       [](ModelCopy& m) {
         m.change("model.safetensors.index.json", "embeddings.LayerNorm.bias", "embeddings.LayerNorm.bia_");
         m.change("model-00001-of-00002.safetensors", "embeddings.LayerNorm.bias", "embeddings.LayerNorm.bia_");
       },
       Status::MissingWeight,
       {"lacks tensors: embeddings.LayerNorm.bias", "embeddings.LayerNorm.bia_"}},
      {"other pooling",
       [](ModelCopy& m) {
         fs::create_directory(m / "1_Pooling");
         write_file(m / "1_Pooling/config.json",
                    R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})");
       },
       Status::Unsupported,
       {"pooling_mode_cls_token"}},
      {"impossible length",
       [](ModelCopy& m) { write_file(m / "sentence_bert_config.json", R"({"max_seq_length": 65})"); },
       Status::InvalidFile,
       {"max_seq_length", "65"}},
  };
  Device device = cpu();
  for (const Case& c : cases) {
    ModelCopy copy;
    c.damage(copy);
    Messages messages;
    TextEncoder encoder;
    INFO(c.what);
    const Status status = TextEncoder::open(device, copy.path(), {.log = messages.log()}, &encoder);
    INFO(messages.text);
    CHECK(to_string(status) == std::string(to_string(c.status)));
    for (const char* part : c.mentions) CHECK(messages.mention(part));
    CHECK_FALSE(encoder.valid());
  }
}

TEST_CASE("Harmless differences of a checkpoint are accepted", "[bert]") {
  Device device = cpu();
  Messages messages;
  TextEncoder plain, other;
  REQUIRE(TextEncoder::open(device, (data_folder() / "tiny").string(), {.log = messages.log()}, &plain) == Status::Ok);
  CHECK(messages.text.empty());
  ModelCopy copy;
  // A tensor that the network does not use is named in a warning; a sequence length is taken from its file.
  copy.change("model.safetensors.index.json", "pooler.dense.weight", "closer.dense.weight");
  copy.change("model.safetensors.index.json", "pooler.dense.bias", "closer.dense.bias");
  copy.change("model-00002-of-00002.safetensors", "pooler.dense.weight", "closer.dense.weight");
  copy.change("model-00002-of-00002.safetensors", "pooler.dense.bias", "closer.dense.bias");
  write_file(copy / "sentence_bert_config.json", R"({"max_seq_length": 33})");
  REQUIRE(TextEncoder::open(device, copy.path(), {.log = messages.log()}, &other) == Status::Ok);
  CHECK(messages.mention("does not use: closer.dense.bias, closer.dense.weight"));
  CHECK(other.max_tokens() == 33);
  CHECK(plain.max_tokens() == 64);
  CHECK(other.fingerprint() != plain.fingerprint());
  std::vector<float> a(24), b(24);
  const std::string_view text[] = {"the old lighthouse"};
  REQUIRE(plain.encode(text, a) == Status::Ok);
  REQUIRE(other.encode(text, b) == Status::Ok);
  CHECK(a == b);
}

TEST_CASE("A fingerprint tells apart whatever changes vectors", "[bert]") {
  Device device = cpu();
  const auto fingerprint = [&](const std::function<void(ModelCopy&)>& change) {
    ModelCopy copy;
    change(copy);
    TextEncoder encoder;
    REQUIRE(TextEncoder::open(device, copy.path(), {.log = stderr_log()}, &encoder) == Status::Ok);
    return encoder.fingerprint();
  };
  const std::function<void(ModelCopy&)> changes[] = {
      [](ModelCopy&) {},
      [](ModelCopy& m) { m.change("config.json", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": 1e-05"); },
      [](ModelCopy& m) { m.change("tokenizer.json", "\"lowercase\":true", "\"lowercase\":false"); },
      [](ModelCopy& m) { m.change("tokenizer.json", "\"strip_accents\":null", "\"strip_accents\":false"); },
      [](ModelCopy& m) { m.change("tokenizer.json", "_chars_per_word\":100", "_chars_per_word\":9"); },
      [](ModelCopy& m) { m.change("tokenizer.json", "\"unk_token\":\"[UNK]\"", "\"unk_token\":\"[PAD]\""); }};
  std::set<uint64_t> seen;
  for (const auto& change : changes) seen.insert(fingerprint(change));
  CHECK(seen.size() == std::size(changes));
  CHECK(fingerprint(changes[0]) == fingerprint([](ModelCopy& m) {
          m.change("tokenizer.json", "\"strip_accents\":null", "\"strip_accents\":true");  // as lowercase says
        }));
}

TEST_CASE("Options outside their range are refused", "[bert]") {
  Device device = cpu();
  TextEncoder encoder;
  Messages messages;
  const std::string folder = (data_folder() / "tiny").string();
  CHECK(TextEncoder::open(device, folder, {.max_tokens = 65, .log = messages.log()}, &encoder) ==
        Status::InvalidArgument);
  CHECK(messages.mention("max_tokens is 65; it must be 2 to 64"));
  CHECK(TextEncoder::open(device, folder, {.dtype = DType::I32}, &encoder) == Status::InvalidArgument);
  CHECK(TextEncoder::open(device, folder, {.max_batch = 0}, &encoder) != Status::Ok);
  CHECK(TextEncoder::open(device, folder + "/nothing", {}, &encoder) == Status::NotFound);
  Device none;
  CHECK(TextEncoder::open(none, folder, {}, &encoder) == Status::InvalidArgument);
  Graph g;
  const Tensor ids = g.input("ids", {1, 65}, DType::I32);
  BertConfig config;
  config.positions = 64;
  nn::bert(g, ids, {}, config);
  CHECK(g.status() == Status::ShapeMismatch);
  CHECK(std::string(g.error()).find("65") != std::string::npos);
}

}  // namespace heed::test
