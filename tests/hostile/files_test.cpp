// Valid files with random changes: every reader of files and blobs either reads them or refuses them with a message.
#include <iterator>
#include <sstream>

#include "golden/run.hpp"
#include "harness/source_path.hpp"
#include "hostile/hostile.hpp"
#include "search/support.hpp"

namespace heed::test {
namespace {

using ops::Random;

size_t place(Random& r, size_t size) { return static_cast<size_t>(r.below(static_cast<int64_t>(size) + 1)); }

const std::vector<std::string> kNumbers = [] {
  std::istringstream words(
      "0 -1 1 4 2147483648 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 1e999 "
      "-1e999 0.5 1e2 99999999999999999999999999 00 16777215 16777216 NaN");
  return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
}();
const char* const kWords[] = {
    "\"",  "\\",   "\\u0000", "\\ud800",      "\xff", "\xc0\x80", "\xed\xa0\x80", "{",  "}",  "[",     "]",     ",",
    ":",   "null", "true",    "\n",           "",     "\"\"",     "[]",           "{}", "##", "[UNK]", "[SEP]", "F32",
    "F16", "I64",  "BOOL",    "\xef\xbb\xbf", "//"};

// Replaces a run of digits by another number.
void edit_number(Random& r, std::string* text) {
  const size_t begin = text->find_first_of("0123456789", place(r, text->size()));
  if (begin == std::string::npos) return;
  const size_t end = std::min(text->find_first_not_of("0123456789", begin), text->size());
  text->replace(begin, end - begin, kNumbers[r.below(kNumbers.size())]);
}

// Swaps two ranges of text between quotes, brackets or line breaks, or duplicates one.
void move_piece(Random& r, std::string* text) {
  const auto piece = [&](size_t from) {
    const size_t begin = std::min(text->find_first_of("\"[]{},:\n", from), text->size());
    const size_t end = std::min(text->find_first_of("\"[]{},:\n", begin + 1), text->size());
    return std::pair(begin, end - begin);
  };
  const auto [a, a_size] = piece(place(r, text->size()));
  const auto [b, b_size] = piece(place(r, text->size()));
  const std::string first = text->substr(a, a_size), second = text->substr(b, b_size);
  if (r.coin())
    text->replace(a, a_size, second);
  else
    text->insert(b, first);
}

void nest(Random& r, std::string* text) {
  const char* open[] = {"[", "{\"a\":", "[[{\"b\":["};
  std::string deep;
  const int64_t depth = r.pick({2, 60, 70, 1000, 100000});
  for (int64_t i = 0; i < depth; ++i) deep += open[static_cast<size_t>(depth) % 3];
  text->insert(place(r, text->size()), deep);
}

std::string mutated(Random& r, std::string text) {
  for (int64_t edits = 1 + r.below(3); edits > 0; --edits) {
    switch (r.below(8)) {
      case 0:
        if (!text.empty()) text[place(r, text.size() - 1)] = static_cast<char>(r.next());
        break;
      case 1: text.resize(place(r, text.size())); break;
      case 2: text.insert(place(r, text.size()), kWords[r.below(std::size(kWords))]); break;
      case 3:
        if (r.one_in(4)) nest(r, &text);
        break;
      case 4: move_piece(r, &text); break;
      case 5: text.erase(place(r, text.size()), static_cast<size_t>(r.below(20))); break;
      default: edit_number(r, &text);
    }
  }
  return text;
}

// Changes the header of a safetensors file or the data, and mostly keeps the header's length right.
std::string mutated_safetensors(Random& r, const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const std::string header = mutated(r, file.substr(8, length));
  length = r.one_in(20) ? r.next() >> r.below(64) : header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  out += header + file.substr(std::min<size_t>(8 + header.size(), file.size()));
  if (r.one_in(20)) out.resize(place(r, out.size()));
  return out;
}

// Changes a GGUF file in its header and metadata, which come before the tensors.
std::string mutated_gguf(Random& r, std::string bytes) {
  constexpr size_t kHeader = 4096;
  const auto spot = [&] { return place(r, std::min(bytes.size(), kHeader)); };
  for (int64_t edits = 1 + r.below(3); edits > 0; --edits) {
    const size_t at = spot();
    switch (r.below(6)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(r.next());
        break;
      case 1: {  // a number, at any alignment
        const uint64_t number =
            r.coin() ? r.next() >> r.below(64) : static_cast<uint64_t>(r.pick({0, 1, -1, INT64_MIN}));
        const size_t size = r.coin() ? 4 : 8;
        if (bytes.size() - at >= size) std::memcpy(bytes.data() + at, &number, size);
        break;
      }
      case 2: bytes.resize(r.coin() ? place(r, bytes.size()) : at); break;
      case 3: bytes.erase(at, static_cast<size_t>(r.below(20))); break;
      case 4: bytes.insert(at, static_cast<size_t>(r.below(40)), static_cast<char>(r.next())); break;
      default:  // one bit, like a memory fault
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << r.below(8)));
    }
  }
  return bytes;
}

// A heap copy of exact size, so that a sanitizer detects every read past the end.
std::vector<std::byte> exact(const std::string& text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string random_text(Random& r) {
  std::string text;
  const int64_t most = r.one_in(30) ? 200000 : 200;
  const std::string repeated = kWords[r.below(std::size(kWords))];
  for (int64_t n = r.below(most); n > 0; --n) switch (r.below(4)) {
      case 0: text += static_cast<char>(r.next()); break;
      case 1: text += repeated; break;
      case 2: text += static_cast<char>('a' + r.below(26)); break;
      default: text += kWords[r.below(std::size(kWords))];
    }
  return text;
}

struct Sound {
  std::string name, text;
};
Sound tiny(const char* name) { return {name, read_file(data_folder() / "tiny" / name)}; }

// Checks what a reader logged: a failure must have a message, and a success nothing above a warning.
void check_told(Status status, const Messages& messages) {
  INFO(messages.text.substr(0, 300));
  if (status != Status::Ok) {
    CHECK_FALSE(messages.text.empty());
    CHECK(messages.text.size() < 100000);
  }
}

}  // namespace

TEST_CASE("hostile: changed safetensors files", "[hostile][io]") {
  const std::string sound = tiny("model-00002-of-00002.safetensors").text;
  int64_t taken = 0;
  const int64_t cases = hostile_cases("safetensors", 400, [&](Random& r) {
    Messages messages;
    SafeTensors file;
    const std::vector<std::byte> bytes = exact(mutated_safetensors(r, sound));
    const Status status = SafeTensors::parse(bytes, "memory", messages.log(), &file);
    check_told(status, messages);
    if (status != Status::Ok) return;
    ++taken;
    for (const SafeTensors::Entry& entry : file.entries()) {
      std::vector<float> floats;
      std::vector<int32_t> integers;
      (void)read_f32(entry, {}, &floats);
      (void)read_i32(entry, {}, &integers);
    }
    Weights weights;
    Device cpu = open_cpu({.threads = 1});
    (void)cpu.upload(file.host_tensors(), &weights, {.keep_dtype = r.coin(), .dtype = DType::F16});
  });
  tell_sound(taken, cases);
}

TEST_CASE("hostile: changed GGUF files", "[hostile][io][gguf]") {
  const std::string sound[] = {read_file(source_path("tests/io/witness.gguf")),
                               read_file(source_path("tests/models/qwen2.gguf")),
                               read_file(source_path("tests/models/llama.gguf"))};
  Device cpu = open_cpu({.threads = 1});
  int64_t taken = 0;
  const int64_t cases = hostile_cases("gguf", 600, [&](Random& r) {
    Messages messages;
    Gguf file;
    const std::vector<std::byte> bytes = exact(mutated_gguf(r, sound[r.below(std::size(sound))]));
    Status status = Gguf::parse(bytes, "memory", messages.log(), &file);
    check_told(status, messages);
    if (status != Status::Ok) return;
    for (const Gguf::Field& field : file.fields()) {
      std::vector<std::string_view> texts;
      std::vector<int32_t> integers;
      std::vector<float> floats;
      CHECK_FALSE(field.value.shown().empty());
      (void)field.value.read(&texts);
      (void)field.value.read(&integers);
      (void)field.value.read(&floats);
    }
    Weights weights;
    (void)cpu.upload(file.host_tensors(), &weights, {.keep_dtype = r.coin(), .dtype = DType::F16});
    messages.text.clear();
    DecoderModel model;
    status = DecoderModel::open(std::move(file), messages.log(), &model);
    check_told(status, messages);
    if (status != Status::Ok) return;
    ++taken;
    Graph g;
    g.output("logits", model.build(g, g.input("ids", {1, 3}, DType::I32)).logits);
    if (model.upload(cpu, {}, &weights) != Status::Ok) return;
    Plan plan;
    if (cpu.compile(g, weights, &plan) != Status::Ok) return;
    std::vector<float> logits(static_cast<size_t>(model.config().vocabulary));
    const std::vector<int32_t> ids(3, 1);
    CHECK(plan.run({{"ids", ids}, {"logits", logits}}) == Status::Ok);
  });
  tell_sound(taken, cases);
}

TEST_CASE("hostile: changed configurations of decoders", "[hostile][io]") {
  const std::string sound[] = {
      R"({"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,)"
      R"("intermediate_size":96,"vocab_size":100,"max_position_embeddings":2048,"rms_norm_eps":1e-5,"head_dim":16,)"
      R"("rope_theta":500000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,)"
      R"("high_freq_factor":4.0,"original_max_position_embeddings":8192}})",
      R"({"model_type":"gpt2","n_layer":2,"n_embd":36,"n_head":3,"n_inner":null,"n_positions":72,"vocab_size":50})"};
  int64_t taken = 0;
  const int64_t cases = hostile_cases("decoder configurations", 300, [&](Random& r) {
    Messages messages;
    DecoderConfig config;
    const Status status =
        parse_decoder_config(mutated(r, sound[r.below(std::size(sound))]), "memory", messages.log(), &config);
    check_told(status, messages);
    if (status != Status::Ok) return;
    ++taken;
    // The graph refuses impossible sizes, or they have no effect without weights.
    if (config.layers > 4) config.layers = 4;
    Graph g;
    g.output("logits", nn::decoder(g, g.input("ids", {1, 3}, DType::I32), config).logits);
    Plan plan;
    CHECK(open_cpu({.log = {}, .threads = 1}).compile(g, {}, &plan) != Status::Ok);
  });
  tell_sound(taken, cases);
}

TEST_CASE("hostile: changed tokenizers and text", "[hostile][bert]") {
  const Sound sound[] = {tiny("tokenizer.json"), tiny("vocab.txt")};
  WordPiece known;
  REQUIRE(WordPiece::open(tiny_folder(), {}, &known) == Status::Ok);
  int64_t taken = 0;
  const int64_t cases = hostile_cases("tokenizers", 100, [&](Random& r) {
    Messages messages;
    WordPiece tokenizer;
    const bool json = r.coin();
    const std::string text = mutated(r, sound[json ? 0 : 1].text);
    const Status status = json ? WordPiece::from_json(text, "memory", messages.log(), &tokenizer)
                               : WordPiece::from_vocabulary(text, "memory", messages.log(), &tokenizer);
    check_told(status, messages);
    if (status == Status::Ok) ++taken;
    std::vector<int32_t> ids;
    const std::vector<std::byte> input = exact(random_text(r));
    const size_t most = static_cast<size_t>(r.pick({0, 1, 2, 3, 64, 512, 100000}));
    const WordPiece& used = status == Status::Ok ? tokenizer : known;
    used.encode({reinterpret_cast<const char*>(input.data()), input.size()}, most, &ids);
    CHECK(ids.size() >= 2);
    CHECK(ids.size() <= std::max<size_t>(most, 2));
    for (int32_t id : ids) CHECK((id >= 0 && id < static_cast<int32_t>(used.size())));
  });
  tell_sound(taken, cases);
}

TEST_CASE("hostile: changed golden files", "[hostile][goldens]") {
  std::vector<std::string> sound;
  for (const auto& file : std::filesystem::directory_iterator(source_path("tests/goldens")))
    if (file.path().extension() == ".safetensors" && file.file_size() < 5000) sound.push_back(file.path());
  std::sort(sound.begin(), sound.end());
  goldens::Messages messages;
  Device cpu = open_cpu({.log = messages.log(), .threads = 1});
  hostile_cases("goldens", 300, [&](Random& r) {
    const std::string& path = sound[static_cast<size_t>(r.below(static_cast<int64_t>(sound.size())))];
    const std::vector<std::byte> bytes = exact(mutated_safetensors(r, read_file(path)));
    SafeTensors file;
    if (SafeTensors::parse(bytes, "memory", {}, &file) != Status::Ok) return;
    const goldens::Result result = goldens::verify(cpu, messages, file, path, r.coin());
    CHECK((result.verdict == goldens::Verdict::Ok || !result.detail.empty()));
  });
}

TEST_CASE("hostile: changed model folders", "[hostile][bert]") {
  const Sound sound[] = {tiny("config.json"), tiny("model.safetensors.index.json"),
                         tiny("model-00001-of-00002.safetensors"), tiny("model-00002-of-00002.safetensors"),
                         tiny("tokenizer.json")};
  Messages messages;
  Device cpu = open_cpu({.log = messages.log(), .threads = 1});
  int64_t taken = 0;
  ModelCopy model;
  const int64_t cases = hostile_cases("models", 60, [&](Random& r) {
    const Sound& file = sound[r.one_in(3) ? r.below(5) : r.below(2)];
    const bool tensors = file.name.ends_with("safetensors");
    write_file(model / file.name, tensors ? mutated_safetensors(r, file.text) : mutated(r, file.text));
    messages.text.clear();
    TextEncoder encoder;
    const Status status = TextEncoder::open(cpu, model.path(),
                                            {.max_batch = r.one_in(10) ? r.pick({0, -1, INT64_MAX}) : 2,
                                             .max_tokens = r.one_in(10) ? r.pick({-1, 1, INT64_MAX}) : 0,
                                             .log = messages.log()},
                                            &encoder);
    check_told(status, messages);
    if (status == Status::Ok) {
      ++taken;
      const std::string text = random_text(r);
      const std::string_view view = text;
      std::vector<float> vector(static_cast<size_t>(encoder.width()));
      CHECK(encoder.encode(std::span(&view, 1), vector) == Status::Ok);
      TextAttention attention;
      CHECK(encoder.attention("two words", &attention) == Status::Ok);
      CHECK(encoder.encode(std::span<const std::string_view>(), vector) == Status::Ok);
      CHECK(encoder.encode(std::vector<std::string_view>(2, "a"), vector) == Status::InvalidArgument);
      TokenBatch batch = make_batch({}, 0);
      CHECK(encoder.encode(batch, vector) != Status::Ok);
      batch.count = batch.tokens = r.pick({1, 2, INT64_MAX, INT64_MIN});
      CHECK(encoder.encode(batch, vector) != Status::Ok);
    }
    write_file(model / file.name, file.text);
  });
  tell_sound(taken, cases);
}

}  // namespace heed::test
