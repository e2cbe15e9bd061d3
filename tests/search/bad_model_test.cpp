// Model folders that are incomplete, damaged or inconsistent.

#include "search/support.hpp"

namespace heed::test {
namespace {

using Damage = std::function<void(ModelCopy&)>;

Damage change(std::string file, std::string from, std::string to) {
  return [=](ModelCopy& m) { m.change(file, from, to); };
}
Damage written(std::string file, std::string text) {
  return [=](ModelCopy& m) { write_file(m / file, text); };
}
Damage without(std::string file) {
  return [=](ModelCopy& m) { std::filesystem::remove(m / file); };
}

}  // namespace

TEST_CASE("Model directories with a fault are refused with a message that names it", "[bert]") {
  namespace fs = std::filesystem;
  Device device = open_cpu({.threads = 1});
  const auto refuses = [&](const char* what, const Damage& damage, Status wanted, std::vector<const char*> mentions) {
    ModelCopy copy;
    damage(copy);
    Messages messages;
    TextEncoder encoder;
    INFO(what);
    const Status status = TextEncoder::open(device, copy.path(), {.log = messages.log()}, &encoder);
    INFO(messages.text);
    CHECK(to_string(status) == std::string(to_string(wanted)));
    for (const char* part : mentions) CHECK(messages.mention(part));
    CHECK_FALSE(encoder.valid());
  };
  refuses("no config", without("config.json"), Status::NotFound, {"config.json"});
  refuses("no weights", without("model.safetensors.index.json"), Status::NotFound, {"model.safetensors"});
  refuses("no shard", without("model-00002-of-00002.safetensors"), Status::NotFound,
          {"model-00002-of-00002.safetensors"});
  refuses("no tokenizer", [](ModelCopy& m) { fs::remove(m / "tokenizer.json"), fs::remove(m / "vocab.txt"); },
          Status::NotFound, {"vocab.txt"});
  refuses("other width", change("config.json", R"("hidden_size": 24)", R"("hidden_size": 48)"), Status::ShapeMismatch,
          {"embeddings.word_embeddings.weight is [1800, 24], must be [1800, 48]"});
  refuses("more layers", change("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": 3)"),
          Status::MissingWeight, {"encoder.layer.2.attention.self.query.weight"});
  refuses("heads that do not divide",
          change("config.json", R"("num_attention_heads": 3)", R"("num_attention_heads": 5)"), Status::InvalidFile,
          {"num_attention_heads", "5", "24"});
  refuses("small table", change("config.json", R"("vocab_size": 1800)", R"("vocab_size": 1799)"), Status::ShapeMismatch,
          {"1800 tokens", "1799 rows"});
  refuses("text for a number", change("config.json", R"("hidden_size": 24)", R"("hidden_size": "24")"),
          Status::InvalidFile, {"'hidden_size' is \"24\""});
  refuses("huge number", change("config.json", R"("hidden_size": 24)", R"("hidden_size": 1e300)"), Status::InvalidFile,
          {"hidden_size"});
  refuses("no heads", change("config.json", R"("num_attention_heads")", R"("n")"), Status::InvalidFile,
          {"'num_attention_heads': is missing"});
  refuses("zero layers", change("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": 0)"),
          Status::InvalidFile, {"num_hidden_layers", "is 0"});
  refuses("one position", change("config.json", R"(_embeddings": 64)", R"(_embeddings": 1)"), Status::Unsupported,
          {"1 positions"});
  refuses("another architecture", change("config.json", R"("model_type": "bert")", R"("model_type": "t5")"),
          Status::Unsupported, {"model_type", "t5"});
  refuses("relative positions", change("config.json", R"("absolute")", R"("relative_key")"), Status::Unsupported,
          {"relative_key"});
  refuses("unknown activation", change("config.json", R"("gelu")", R"("mish")"), Status::Unsupported, {"mish"});
  refuses("config is no JSON", written("config.json", R"({"model_type": "bert")"), Status::InvalidFile,
          {"config.json", "not valid JSON"});
  refuses("config is an array", written("config.json", "[]"), Status::InvalidFile, {"no JSON object"});
  refuses("index is empty", written("model.safetensors.index.json", "{}"), Status::InvalidFile, {"weight_map"});
  refuses("index with a path",
          change("model.safetensors.index.json", R"("model-00001-of-00002.safetensors")", R"("../secret.safetensors")"),
          Status::InvalidFile, {"../secret.safetensors", "beside the index"});
  refuses("index with a number for a file",
          change("model.safetensors.index.json", R"("model-00001-of-00002.safetensors")", "7"), Status::InvalidFile,
          {"is 7"});
  refuses("tensor in the other shard",
          change("model.safetensors.index.json", R"("embeddings.LayerNorm.bias": "model-00001)",
                 R"("embeddings.LayerNorm.bias": "model-00002)"),
          Status::InvalidFile, {"embeddings.LayerNorm.bias", "model-00002-of-00002.safetensors"});
  refuses("tensor that no shard has",
          change("model.safetensors.index.json", R"("weight_map": {)",
                 "\"weight_map\": {\n  \"zzz\": \"model-00002-of-00002.safetensors\","),
          Status::InvalidFile, {"'zzz' is not in model-00002-of-00002.safetensors"});
  refuses("tensor that the index lacks",
          change("model.safetensors.index.json", R"("pooler.dense.bias")", R"("pooler.dense.other")"),
          Status::InvalidFile, {"pooler.dense.bias"});
  refuses("truncated shard",
          [](ModelCopy& m) {
            const std::string name = "model-00002-of-00002.safetensors";
            const std::string bytes = read_file(m / name);
            write_file(m / name, bytes.substr(0, bytes.size() - 3));
          },
          Status::InvalidFile, {"model-00002-of-00002.safetensors"});
  refuses("missing tensor",
          [](ModelCopy& m) {
            for (const char* file : {"model.safetensors.index.json", "model-00001-of-00002.safetensors"})
              m.change(file, "embeddings.LayerNorm.bias", "embeddings.LayerNorm.bia_");
          },
          Status::MissingWeight, {"lacks tensors: embeddings.LayerNorm.bias", "embeddings.LayerNorm.bia_"});
  refuses("other pooling",
          [](ModelCopy& m) {
            fs::create_directory(m / "1_Pooling");
            write_file(m / "1_Pooling/config.json",
                       R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})");
          },
          Status::Unsupported, {"pooling_mode_cls_token"});
  refuses("impossible length", written("sentence_bert_config.json", R"({"max_seq_length": 65})"), Status::InvalidFile,
          {"max_seq_length", "65"});
  refuses("lower case before a tokenizer that keeps case",
          [](ModelCopy& m) {
            write_file(m / "sentence_bert_config.json", R"({"do_lower_case": true})");
            m.change("tokenizer.json", R"("lowercase":true)", R"("lowercase":false)");
          },
          Status::Unsupported, {"sentence_bert_config.json", "do_lower_case"});
}

TEST_CASE("Harmless differences of a checkpoint are accepted", "[bert]") {
  Device device = open_cpu({.threads = 1});
  Messages messages;
  TextEncoder plain, other;
  REQUIRE(TextEncoder::open(device, tiny_folder(), {.log = messages.log()}, &plain) == Status::Ok);
  CHECK(messages.text.empty());
  ModelCopy copy;
  // A warning names a tensor that the network does not use. A file sets the sequence length.
  for (const char* file : {"model.safetensors.index.json", "model-00002-of-00002.safetensors"}) {
    copy.change(file, "pooler.dense.weight", "closer.dense.weight");
    copy.change(file, "pooler.dense.bias", "closer.dense.bias");
  }
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
  Device device = open_cpu({.threads = 1});
  const auto fingerprint = [&](const Damage& damage) {
    ModelCopy copy;
    damage(copy);
    TextEncoder encoder = opened(device, copy.path(), {.log = stderr_log()});
    return encoder.fingerprint();
  };
  const Damage changes[] = {[](ModelCopy&) {},
                            change("config.json", R"("layer_norm_eps": 1e-12)", R"("layer_norm_eps": 1e-05)"),
                            change("tokenizer.json", R"("lowercase":true)", R"("lowercase":false)"),
                            change("tokenizer.json", R"("strip_accents":null)", R"("strip_accents":false)"),
                            change("tokenizer.json", R"(_chars_per_word":100)", R"(_chars_per_word":9)"),
                            change("tokenizer.json", R"("unk_token":"[UNK]")", R"("unk_token":"[PAD]")")};
  std::set<uint64_t> seen;
  for (const auto& change : changes) seen.insert(fingerprint(change));
  CHECK(seen.size() == std::size(changes));
  CHECK(fingerprint(changes[0]) == fingerprint([](ModelCopy& m) {
          m.change("tokenizer.json", "\"strip_accents\":null", "\"strip_accents\":true");  // the default of lowercase
        }));
}

TEST_CASE("Options outside their range are refused", "[bert]") {
  Device device = open_cpu({.threads = 1});
  TextEncoder encoder;
  Messages messages;
  const std::string folder = tiny_folder();
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
  CHECK_THAT(std::string(g.error()), holds("65"));
}

}  // namespace heed::test
