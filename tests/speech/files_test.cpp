// Files of CTranslate2: valid, damaged, and of other networks.
#include "harness/files.hpp"
#include "hostile/hostile.hpp"
#include "io/ctranslate2.hpp"
#include "speech/changed_files.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
std::string named(std::string_view text) { return number(text.size() + 1, 2) + std::string(text) + '\0'; }

struct FileWriter {
  uint32_t version = 6, revision = 3;
  std::string network = "WhisperSpec", tensors, aliases;
  uint32_t count = 0, alias_count = 0;

  FileWriter& tensor(std::string_view name, std::vector<uint32_t> shape, uint8_t type, std::string_view data) {
    tensors += named(name) + number(shape.size(), 1);
    for (const uint32_t size : shape) tensors += number(size, 4);
    tensors += number(type, 1) + number(data.size(), 4);
    tensors += data;
    ++count;
    return *this;
  }
  FileWriter& alias(std::string_view name, std::string_view of) {
    aliases += named(name) + named(of);
    ++alias_count;
    return *this;
  }
  std::string file() const {
    return number(version, 4) + named(network) + number(revision, 4) + number(count, 4) + tensors +
           number(alias_count, 4) + aliases;
  }
};

std::vector<BadFile> bad_files() {
  const std::string four(4, '\1');
  const auto one = [&](std::vector<uint32_t> shape, uint8_t type, std::string_view data) {
    return FileWriter().tensor("t", std::move(shape), type, data).file();
  };
  const auto start = [](uint32_t count) { return number(6, 4) + named("W") + number(3, 4) + number(count, 4); };
  const std::string whole = FileWriter().tensor("t", {1}, 0, four).alias("a", "t").file();
  const std::string longer = FileWriter().tensor("t", {1}, 0, four).alias("alias", "t").file();
  return {
      {"nothing", "", {"0 bytes", "version"}},
      {"another version", number(5, 4) + named("W"), {"version 5"}, Status::Unsupported},
      {"no name", number(6, 4), {"network's name"}},
      {"a name behind the end", number(6, 4) + number(9, 2) + "Whisper", {"9 bytes", "ends before"}},
      {"a name without its end", number(6, 4) + number(3, 2) + "Whi", {"zero byte"}},
      {"a name with two ends", number(6, 4) + number(4, 2) + std::string("W\0i\0", 4), {"zero byte"}},
      {"an empty name", number(6, 4) + number(1, 2) + '\0', {"zero byte"}},
      {"a name of no bytes", number(6, 4) + number(0, 2), {"zero byte"}},
      {"no revision", number(6, 4) + named("W") + "ab", {"revision"}},
      {"no count", number(6, 4) + named("W") + number(3, 4), {"before its tensors"}},
      {"too many tensors", start(UINT32_MAX), {"4294967295 tensors", "0 bytes"}},
      {"more tensors than there are",
       start(2) + named("t") + number(0, 1) + number(1, 1) + number(1, 4) + "x",
       {"2 tensors"}},
      {"five dims", one({1, 1, 1, 1, 1}, 0, four), {"'t'", "5 dims"}},
      {"no elements", one({3, 0}, 0, ""), {"'t'", "no elements"}},
      {"an unknown type", one({1}, 6, four), {"'t'", "type 6"}},
      {"too few bytes", one({2}, 0, four), {"'t'", "4 bytes", "[2]", "f32"}},
      {"too many bytes", one({1}, 4, four), {"'t'", "4 bytes", "f16"}},
      {"a product that wraps", one({1u << 31, 1u << 31, 1u << 31, 4}, 1, four), {"'t'", "4 bytes"}},
      {"a product of 2^64", one({1u << 16, 1u << 16, 1u << 16, 1u << 16}, 1, ""), {"'t'", "0 bytes"}},
      {"data behind the end",
       start(1) + named("t") + number(1, 1) + number(1000, 4) + number(1, 1) + number(1000, 4) + "xyz",
       {"'t'", "1000 bytes", "3 left"}},
      {"a name twice", FileWriter().tensor("t", {1}, 0, four).tensor("t", {1}, 0, four).file(), {"'t'", "twice"}},
      {"no aliases", whole.substr(0, whole.size() - 12), {"before its aliases"}},
      {"too many aliases", FileWriter().file().substr(0, 26) + number(99, 4), {"99 aliases"}},
      {"an alias cut off", longer.substr(0, longer.size() - 1), {"name of an alias"}},
      {"an alias twice",
       FileWriter().tensor("t", {1}, 0, four).alias("a", "t").alias("a", "t").file(),
       {"'a'", "twice"}},
      {"an alias of nothing", FileWriter().alias("a", "t").file(), {"'a'", "no tensor"}},
      {"an alias of a tensor's name",
       FileWriter().tensor("t", {1}, 0, four).alias("t", "t").file(),
       {"'t'", "tensor's name"}},
      {"bytes behind the end", whole + "x", {"1 bytes", "behind its end"}},
  };
}

// A copy of a tiny model in a temporary folder, which tests change.
struct ChangedModel {
  explicit ChangedModel(const std::string& name,
                        std::initializer_list<const char*> files = {"model.bin", "config.json", "vocabulary.txt"}) {
    for (const char* file : files) folder.write(file, read_file(source_path("tests/speech/") + name + "/" + file));
  }
  Status open(const Log& log) const {
    models::WhisperModel model;
    return model.open(folder.path(), log);
  }
  void replace(const char* file, std::string_view from, std::string_view to) const {
    std::string text = read_file(folder / file);
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    folder.write(file, text.replace(at, from.size(), to));
  }
  ScratchFolder folder;
};

// The model opens, and does not after each change.
void check_changes(const std::string& name, std::initializer_list<const char*> files, std::span<const Change> changes) {
  for (const Change& change : changes) {
    INFO(change.said);
    const ChangedModel model(name, files);
    Messages messages;
    CHECK(model.open(messages.log()) == Status::Ok);
    model.replace(change.file, change.from, change.to);
    messages.refused(model.open(messages.log()), change.status, change.said);
  }
}

}  // namespace

TEST_CASE("ctranslate2: a sound file", "[io][speech]") {
  const std::string data = "\1\2\3\4\5\6";
  const std::vector<std::byte> bytes = exact(FileWriter()
                                                 .tensor("b/x", {3}, 4, data)
                                                 .tensor("a", {}, 2, "\1\2")
                                                 .tensor("b", {1, 1, 1, 6}, 1, data)
                                                 .alias("c", "b")
                                                 .file());
  Messages messages;
  CTranslate2 file;
  REQUIRE(file.parse(bytes, "memory", messages.log()) == Status::Ok);
  CHECK(messages.text.empty());
  CHECK(file.network() == "WhisperSpec");
  CHECK(file.revision() == 3);
  REQUIRE(file.entries().size() == 3);
  CHECK(file.entries()[0].name == "a");
  CHECK(file.entries()[0].shape.empty());
  CHECK(file.find("b/x")->shape == std::vector<int64_t>{3});
  CHECK(file.find("b/x")->type == CTranslate2::Type::F16);
  REQUIRE(file.find("c") != nullptr);
  CHECK(file.find("c") == file.find("b"));
  CHECK(file.find("d") == nullptr);
  const std::byte* begin = file.find("b")->data.data();
  CHECK((begin > bytes.data() && begin < bytes.data() + bytes.size()));  // mapped, not copied
}

TEST_CASE("ctranslate2: damaged and hostile files", "[io][speech][hostile]") {
  check_refused<CTranslate2>(bad_files());
  // Truncated at every place.
  const std::string sound = read_file(source_path("tests/speech/english/model.bin"));
  for (size_t size = 0; size < sound.size(); size += size < 2000 ? 1 : 997) {
    Messages messages;
    CTranslate2 file;
    CHECK(file.parse(exact(sound.substr(0, size)), "memory", messages.log()) == Status::InvalidFile);
  }
}

TEST_CASE("whisper: files that mean another network are refused", "[speech]") {
  const std::string width_of_one(1, '\1');
  const Change changes[] = {
      {"model.bin", "WhisperSpec", "WhisperSpek", Status::Unsupported, "'WhisperSpek'"},
      {"model.bin", "decoder/alibi", "decoder/alibj", Status::Unsupported, "'decoder/alibj'"},
      {"model.bin", "decoder/layer_1/ffn/linear_0/weight", "decoder/layer_2/ffn/linear_0/weight", Status::Unsupported,
       "decoder.layer_1"},
      {"model.bin", "encoder/conv1/bias", "encoder/conv3/bias", Status::MissingWeight, "encoder.conv1.bias"},
      {"model.bin", "encoder/num_heads", "encoder/num_headz", Status::Unsupported, "encoder/num_headz"},
      {"model.bin", "decoder/embeddings/weight", "decoder/embeddingz/weight", Status::InvalidFile,
       "decoder/embeddings/weight"},
      {"vocabulary.txt", "<|endoftext|>\n", "", Status::ShapeMismatch, "tokens"},
      {"vocabulary.txt", "<|endoftext|>", "<|end|>", Status::InvalidFile, "<|endoftext|>"},
      {"vocabulary.txt", "<|nospeech|>", "<|speech|>", Status::InvalidFile, "nospeech"},
      {"config.json", "[1, ", "[1000, ", Status::InvalidFile, "suppress_ids"},
      {"config.json", "[1, ", "[-1, ", Status::InvalidFile, "suppress_ids"},
      {"config.json", "{", "[", Status::InvalidFile, "config.json"},
      {"config.json", "{", "{\"alignment_heads\": [[0, 1], [1, 3]], ", Status::InvalidFile, "alignment_heads"},
      {"config.json", "{", "{\"alignment_heads\": [[0, 1, 1]], ", Status::InvalidFile, "alignment_heads"},
      {"config.json", "{", "{\"alignment_heads\": 1, ", Status::InvalidFile, "alignment_heads"},
  };
  check_changes("english", {"model.bin", "config.json", "vocabulary.txt"}, changes);
  for (const char* missing : {"model.bin", "config.json", "vocabulary.txt"}) {
    const ChangedModel model("english");
    Messages messages;
    std::filesystem::remove(model.folder / missing);
    messages.refused(model.open(messages.log()), Status::NotFound, missing);
  }
}

TEST_CASE("whisper: folders of Hugging Face that mean another network are refused", "[speech]") {
  const Change changes[] = {
      {"config.json", "\"whisper\"", "\"bart\"", Status::Unsupported, "model_type"},
      {"config.json", "\"gelu\"", "\"relu\"", Status::Unsupported, "activation_function"},
      {"config.json", "\"encoder_attention_heads\": 3", "\"encoder_attention_heads\": 5", Status::InvalidFile,
       "divide"},
      {"config.json", "\"d_model\": 24", "\"d_model\": 48", Status::ShapeMismatch, "encoder.conv1.weight"},
      {"config.json", "\"decoder_layers\": 2", "\"decoder_layers\": 1", Status::Unsupported, "decoder.layers.1"},
      {"config.json", "\"decoder_layers\": 2", "\"decoder_layers\": 3", Status::MissingWeight, "decoder.layers.2"},
      {"config.json", "\"max_target_positions\": 30", "\"max_target_positions\": 99999999", Status::InvalidFile,
       "99999999"},
      {"model.safetensors", "encoder_attn.k_proj.weight", "encoder_attn.x_proj.weight", Status::MissingWeight,
       "k_proj.weight"},
      {"model.safetensors", "[24,10,3]", "[720    ]", Status::ShapeMismatch, "encoder.conv1.weight"},
      {"model.safetensors", "\"F16\"", "\"I16\"", Status::InvalidFile, "I16"},
      {"tokenizer.json", "<|startoftranscript|>", "<|start|>", Status::InvalidFile, "<|startoftranscript|>"},
      {"tokenizer.json", "\"id\": 35", "\"id\": 3500", Status::InvalidFile, "3500"},
      {"generation_config.json", "[1, ", "[1.5, ", Status::InvalidFile, "suppress_tokens"},
  };
  check_changes("english-hf", {"model.safetensors", "config.json", "generation_config.json", "tokenizer.json"},
                changes);
}

TEST_CASE("whisper: a vocabulary as JSON", "[speech]") {
  const ChangedModel changed("multilingual");
  std::string json = "[", line;
  std::ifstream lines(changed.folder / "vocabulary.txt");
  while (std::getline(lines, line)) json += (json.size() > 1 ? ", \"" : "\"") + line + '"';
  lines.close();
  std::filesystem::remove(changed.folder / "vocabulary.txt");
  changed.folder.write("vocabulary.json", json + "]");
  models::WhisperModel json_model, model;
  REQUIRE(json_model.open(changed.folder.path(), stderr_log()) == Status::Ok);
  REQUIRE(model.open(source_path("tests/speech/multilingual"), stderr_log()) == Status::Ok);
  CHECK(json_model.take_vocabulary() == model.take_vocabulary());
  Messages messages;
  changed.folder.write("vocabulary.json", "[1]");
  messages.refused(changed.open(messages.log()), Status::ShapeMismatch, "0 tokens");
}

// Changes bytes near names, shapes and types, and sometimes a value.
TEST_CASE("hostile: changed files of Whisper", "[hostile][speech]") {
  struct Target {
    const char* name;
    std::initializer_list<const char*> files;
    const char* changed;
    const char* mark;       // changes are near one of these
    size_t reach;           // changes end before this byte
    const char* open = "";  // the file that is opened in the folder
  };
  const auto hf = {"model.safetensors", "config.json", "generation_config.json", "tokenizer.json"};
  const auto ct2 = {"model.bin", "config.json", "vocabulary.txt"};
  const Target targets[] = {{"english", ct2, "model.bin", "/", SIZE_MAX},
                            {"int8", ct2, "model.bin", "/", SIZE_MAX},
                            {"english-hf", hf, "model.safetensors", "\"", 8000},
                            {"english-hf", hf, "config.json", "\"", SIZE_MAX},
                            {"english-hf", hf, "tokenizer.json", "\"", SIZE_MAX},
                            {"", {"polyglot-ggml.bin"}, "polyglot-ggml.bin", "coder.", SIZE_MAX, "polyglot-ggml.bin"},
                            {"", {"polyglot-ggml.bin"}, "polyglot-ggml.bin", "", 100, "polyglot-ggml.bin"},
                            {"", {"int8-ggml.bin"}, "int8-ggml.bin", "coder.", SIZE_MAX, "int8-ggml.bin"}};
  Device cpu = open_cpu({.threads = 1});
  int64_t taken = 0;
  const int64_t cases = hostile_cases("whisper", 200, [&](ops::Random& r) {
    const Target& target = targets[static_cast<size_t>(r.below(std::ssize(targets)))];
    const ChangedModel model(target.name, target.files);
    std::string bytes = read_file(model.folder / target.changed);
    for (int64_t edits = 1 + r.below(2); edits > 0; --edits) {
      const size_t from = static_cast<size_t>(r.below(static_cast<int64_t>(std::min(target.reach, bytes.size()))));
      const size_t mark = bytes.find(target.mark, from), before = static_cast<size_t>(r.below(24));
      const size_t near = mark == std::string::npos ? 0 : mark - std::min(mark, before);
      const size_t at = std::min(bytes.size() - 1, near + static_cast<size_t>(r.below(60)));
      switch (r.below(4)) {
        case 0: bytes[at] = static_cast<char>(r.next()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << r.below(8))); break;
        case 2: bytes.insert(at, static_cast<size_t>(r.below(9)), static_cast<char>(r.next())); break;
        default: bytes.erase(at, static_cast<size_t>(r.below(9)));
      }
    }
    model.folder.write(target.changed, bytes);
    Messages messages;
    SpeechRecognizer recognizer;
    const std::string path = (model.folder / target.open).string();
    if (SpeechRecognizer::open(cpu, path, {.log = messages.log()}, &recognizer) != Status::Ok) {
      CHECK_FALSE(messages.text.empty());
      return;
    }
    ++taken;
    SpeechText text;
    const std::vector<float> samples = tiny_sound(2000);
    (void)recognizer.recognize(samples, {}, &text);  // the weights may be NaN
  });
  tell_sound(taken, cases);
}

}  // namespace heed::test
