// Files of whisper.cpp: valid, damaged, and of other networks.
#include "harness/files.hpp"
#include "io/ggml_whisper.hpp"
#include "speech/changed_files.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

const std::string kPolyglot = "tests/speech/polyglot-ggml.bin";

std::string number(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}
std::string counted(std::string_view text) { return number(static_cast<uint32_t>(text.size())) + std::string(text); }

constexpr uint32_t kMagic = 0x67676d6c;

// Magic, sizes that count up from 1, no filters, two tokens.
std::string start(uint32_t type = 0) {
  std::string bytes = number(kMagic);
  for (uint32_t i = 1; i <= 10; ++i) bytes += number(i);
  return bytes + number(type) + number(0) + number(0) + number(2) + counted("a") + counted("");
}
std::string tensor(const std::string& name, std::vector<uint32_t> sizes, uint32_t type, std::string_view data) {
  std::string bytes =
      number(static_cast<uint32_t>(sizes.size())) + number(static_cast<uint32_t>(name.size())) + number(type);
  for (const uint32_t size : sizes) bytes += number(size);
  return bytes + name + std::string(data);
}

std::vector<BadFile> bad_files() {
  const std::string four(4, '\1'), block(18, '\1');
  const auto with = [](const std::string& more) { return start() + more; };
  const std::string head = start().substr(0, 48);
  return {
      {"nothing", "", {"whisper.cpp"}},
      {"another magic", number(0x46554747) + start().substr(4), {"whisper.cpp"}},
      {"sizes cut off", start().substr(0, 40), {"sizes of its network"}},
      {"no filters", head + number(0), {"mel filters"}},
      {"filters behind the end", head + number(80) + number(201), {"[80, 201]", "0 bytes"}},
      {"filters that wrap", head + number(UINT32_MAX) + number(UINT32_MAX), {"mel filters"}},
      {"no words", head + number(0) + number(0), {"before its words"}},
      {"too many words", head + number(0) + number(0) + number(UINT32_MAX) + four, {"4294967295 words", "4 bytes"}},
      {"a word behind the end", head + number(0) + number(0) + number(1) + number(9) + "abc", {"word 0", "9 bytes"}},
      {"a tensor cut off", with(four), {"cut off"}},
      {"sizes of a tensor cut off", with(number(2) + number(1) + number(0) + number(3)), {"cut off"}},
      {"no dims", with(tensor("t", {}, 0, four)), {"0 dims"}},
      {"five dims", with(tensor("t", {1, 1, 1, 1, 1}, 0, four)), {"5 dims"}},
      {"no name", with(tensor("", {1}, 0, four)), {"0 bytes of name"}},
      {"a name behind the end", with(number(1) + number(99) + number(0) + number(1) + "t"), {"99 bytes of name"}},
      {"no elements", with(tensor("t", {3, 0}, 0, "")), {"'t'", "no elements"}},
      {"an unknown type", with(tensor("t", {1}, 99, four)), {"'t'", "type 99"}},
      {"half a block", with(tensor("t", {16}, 2, block)), {"'t'", "[16]", "Q4_0"}},
      {"a product of 2^64", with(tensor("t", {1u << 16, 1u << 16, 1u << 16, 1u << 16}, 0, "")), {"'t'"}},
      {"data behind the end", with(tensor("t", {2}, 0, four)), {"'t'", "[2]", "4 bytes left"}},
      {"a name twice", with(tensor("t", {1}, 0, four) + tensor("t", {1}, 0, four)), {"'t'", "twice"}},
      {"an old layout of blocks",
       start(1002) + tensor("t", {32}, 2, block),
       {"'t'", "Q4_0", "version 1"},
       Status::Unsupported},
      {"the oldest layout",
       start(8) + tensor("t", {32}, 6, std::string(22, '\1')),
       {"Q5_0", "version 0"},
       Status::Unsupported},
  };
}

// The file of a tiny model with one number of its header changed. `place`: 1 tokens, 2 to 5 and 6 to 9 positions, width, heads and layers
// of encoder and decoder, 10 mel bands, 11 the type, 12 bands and 13 bins of the filters, 14 the first filter.
std::string with_number(std::string bytes, size_t place, uint32_t value) {
  return bytes.replace(place * 4, 4, number(value));
}

struct GgmlFile {
  explicit GgmlFile(const std::string& bytes) { folder.write("ggml.bin", bytes); }
  Status open(const Log& log) const {
    models::WhisperModel model;
    return model.open((folder / "ggml.bin").string(), log);
  }
  ScratchFolder folder;
};

}  // namespace

TEST_CASE("ggml: a sound file", "[io][speech]") {
  const std::string half(12, '\2'), q5(22, '\3');
  const std::vector<std::byte> bytes =
      exact(start(1008) + tensor("b", {3, 2}, 1, half) + tensor("a", {32}, 6, q5) + tensor("c", {1, 1, 1, 1}, 24, "x"));
  Messages messages;
  GgmlWhisper file;
  REQUIRE(file.parse(bytes, "memory", messages.log()) == Status::Ok);
  CHECK(messages.text.empty());
  const GgmlWhisper::Sizes& s = file.sizes();
  CHECK((s.vocabulary == 1 && s.encoder.positions == 2 && s.encoder.width == 3 && s.encoder.heads == 4));
  CHECK((s.encoder.layers == 5 && s.decoder.positions == 6 && s.decoder.layers == 9 && s.bands == 10));
  CHECK(std::vector(file.words().begin(), file.words().end()) == std::vector<std::string_view>{"a", ""});
  REQUIRE(file.entries().size() == 3);
  CHECK(file.entries()[0].name == "a");
  CHECK(file.entries()[0].type->storage == DType::Q5_0);
  CHECK(file.entries()[1].shape == std::vector<int64_t>{2, 3});
  CHECK(file.entries()[1].data.size() == 12);
  CHECK_FALSE(file.entries()[2].type->storage);                             // known, but not supported
  CHECK(file.entries()[2].data.data() == bytes.data() + bytes.size() - 1);  // mapped, not copied
}

TEST_CASE("ggml: damaged and hostile files", "[io][speech][hostile]") {
  check_refused<GgmlWhisper>(bad_files());
  // Truncated at every place. Between two tensors the file is valid, and the network lacks the rest.
  const std::string sound = read_file(source_path(kPolyglot));
  size_t whole = 0;
  for (size_t size = 0; size < sound.size(); size += size < 500 || size > sound.size() - 2000 ? 1 : 97) {
    Messages messages;
    GgmlWhisper file;
    const Status status = file.parse(exact(sound.substr(0, size)), "memory", messages.log());
    whole += status == Status::Ok ? 1 : 0;
    CHECK((status == Status::Ok || status == Status::InvalidFile));
  }
  CHECK(whole < 20);
}

TEST_CASE("ggml: files that mean another network are refused", "[speech]") {
  const std::string sound = read_file(source_path(kPolyglot));
  Messages messages;
  CHECK(GgmlFile(sound).open(messages.log()) == Status::Ok);
  struct Number {
    size_t place;
    uint32_t value;
    Status status;
    const char* said;
  };
  const Number numbers[] = {{1, 0, Status::InvalidFile, "number of words is 0"},
                            {1, 50, Status::ShapeMismatch, "decoder.token_embedding.weight"},
                            {2, 1u << 20, Status::InvalidFile, "positions of the encoder is 1048576"},
                            {2, 17, Status::ShapeMismatch, "encoder.positional_embedding"},
                            {3, 32, Status::InvalidFile, "rows of 32 and 16"},
                            {4, 3, Status::InvalidFile, "3 and 4 heads"},
                            {5, 100000, Status::InvalidFile, "layers of the encoder"},
                            {5, 2, Status::MissingWeight, "encoder.blocks.1."},
                            {9, 2, Status::Unsupported, "decoder.blocks.2."},
                            {8, 0, Status::InvalidFile, "heads of the decoder is 0"},
                            {10, 9, Status::Unsupported, "mel filters"},
                            {13, 200, Status::InvalidFile, ""},
                            {14, 0x7fc00000, Status::Unsupported, "mel filters"},
                            {14, 0x3f800000, Status::Unsupported, "mel filters"}};
  for (const Number& change : numbers) {
    INFO("number " << change.place << " is " << change.value);
    messages.refused(GgmlFile(with_number(sound, change.place, change.value)).open(messages.log()), change.status,
                     change.said);
  }
  struct Change {
    const char *from, *to;
    Status status;
    const char* said;
  };
  const Change changes[] = {
      {"encoder.conv1.bias", "encoder.conv3.bias", Status::MissingWeight, "encoder.conv1.bias"},
      {"decoder.blocks.0.attn.query.bias", "decoder.blocks.0.attn.quern.bias", Status::MissingWeight,
       "attn.query.bias"},
      {"decoder.ln.weight", "decoder.lm.weight", Status::MissingWeight, "decoder.ln.weight"},
      {"encoder.ln_post.weight", "encoder.ln_post.weighu", Status::MissingWeight, "encoder.ln_post.weight"}};
  for (const Change& change : changes) {
    INFO(change.said);
    std::string bytes = sound;
    const size_t at = bytes.find(change.from);
    REQUIRE(at != std::string::npos);
    bytes.replace(at, std::string_view(change.from).size(), change.to);
    messages.refused(GgmlFile(bytes).open(messages.log()), change.status, change.said);
  }
  // One of several joined tensors has another type with the same number of bytes: bf16 instead of f16.
  std::string bytes = sound;
  const std::string name = "encoder.blocks.0.attn.key.weight";
  bytes.replace(bytes.find(name) - 12, 4, number(30));
  messages.refused(GgmlFile(bytes).open(messages.log()), Status::Unsupported, name.c_str());
  messages.refused(GgmlFile(sound + tensor("more", {1}, 0, "1234")).open(messages.log()), Status::Unsupported, "more");
  messages.refused(GgmlFile("not a model").open(messages.log()), Status::InvalidFile, "whisper.cpp");
}

TEST_CASE("ggml: tokens follow from the number of words", "[speech]") {
  const TinyWhisper tiny("polyglot-ggml.bin"), folder("polyglot");
  const models::WhisperTokens &got = tiny.model.tokens(), &want = folder.model.tokens();
  CHECK((got.end == want.end && got.start == want.start && got.translate == want.translate));
  CHECK((got.transcribe == want.transcribe && got.previous == want.previous && got.no_speech == want.no_speech));
  CHECK((got.no_times == want.no_times && got.first_time == want.first_time && got.multilingual && want.multilingual));
  const auto sorted = [](std::vector<int32_t> ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  CHECK(sorted(got.suppressed) == sorted(want.suppressed));
  CHECK(sorted(got.at_first) == sorted(want.at_first));
  models::WhisperModel one, other;
  REQUIRE(one.open(tiny.path, stderr_log()) == Status::Ok);
  REQUIRE(other.open(folder.path, stderr_log()) == Status::Ok);
  CHECK(one.take_vocabulary() == other.take_vocabulary());
  // Without the empty token text the same file is English-only.
  std::string bytes = read_file(tiny.path);
  const std::string last = counted("l") + counted("");
  const size_t at = bytes.find(last);
  REQUIRE(at != std::string::npos);
  bytes.replace(at, last.size(), counted("") + counted("l"));
  const GgmlFile english(bytes);
  models::WhisperModel model;
  REQUIRE(model.open((english.folder / "ggml.bin").string(), stderr_log()) == Status::Ok);
  CHECK_FALSE(model.tokens().multilingual);
}

}  // namespace heed::test
