// Compares byte pair tokenizers with llama.cpp's llama-tokenize, whose ids data/make_data.py stores.
#include <nlohmann/json.hpp>

#include "ops/random.hpp"

#include "text/support.hpp"

namespace heed::test {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

const json& expected() {
  static const json all = json::parse(read_file(text_data() / "ids.json"));
  return all;
}

std::string shown(const Bpe& bpe, const Ids& ids) {
  std::string text;
  for (const int32_t id : ids) text.append(std::to_string(id)).append(" '").append(bpe.token(id)).append("' ");
  return text;
}

// Counts texts whose ids differ, and prints the first few.
class Comparison {
 public:
  explicit Comparison(const Bpe& bpe) : bpe_(bpe) {}
  void check(const std::string& text, const Ids& wanted, const BpeOptions& options) {
    const Ids ids = ids_of(bpe_, text, options);
    if (ids == wanted || ++different_ > 5) return;
    UNSCOPED_INFO("text '" << text << "'\n  is   " << shown(bpe_, ids) << "\n  want " << shown(bpe_, wanted));
  }
  void add(int count) { different_ += count; }
  int different() const { return different_; }

 private:
  const Bpe& bpe_;
  int different_ = 0;
};

std::vector<std::string> search_lines() {
  const SafeTensors file = opened<SafeTensors>((data_folder() / "lines.safetensors").string(), stderr_log());
  const std::vector<int32_t> ends = ints_of(file, "text.end");
  const auto bytes = file.find("text")->data;
  std::vector<std::string> lines;
  size_t begin = 0;
  for (const int32_t end : ends) {
    lines.emplace_back(reinterpret_cast<const char*>(bytes.data()) + begin, static_cast<size_t>(end) - begin);
    begin = static_cast<size_t>(end);
  }
  return lines;
}

std::string hash_of(const Ids& ids) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (static_cast<uint32_t>(id) >> shift & 0xFFu)) * 0x100000001B3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

void check_groups(const Bpe& bpe, const json& groups, const std::vector<std::string>& lines) {
  const auto valid = expected().at("valid_lines").get<std::vector<size_t>>();
  const auto group = expected().at("group").get<size_t>();
  REQUIRE(groups.size() == (valid.size() + group - 1) / group);
  REQUIRE(valid.size() > 2000);
  int different = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    std::string text;
    for (size_t k = i * group; k < std::min(valid.size(), (i + 1) * group); ++k)
      text += (k == i * group ? "" : "\n") + lines[valid[k]];
    const Ids ids = ids_of(bpe, text, {.read_special = true});
    if (ids.size() == groups[i][0].get<size_t>() && hash_of(ids) == groups[i][1].get<std::string>()) continue;
    if (++different > 3) continue;
    UNSCOPED_INFO("lines " << valid[i * group] << " and behind: " << ids.size() << " ids, not " << groups[i][0] << ": "
                           << text);
  }
  CHECK(different == 0);
}

void compare(const std::string& name, const Bpe& bpe) {
  INFO(name);
  const json& wanted = expected().at("vocabularies").at(name);
  const auto texts = expected().at("texts").get<std::vector<std::string>>();
  const auto special = expected().at("special_texts").get<std::vector<std::string>>();
  const std::vector<std::string> lines = search_lines();
  REQUIRE(texts.size() == wanted.at("special").size());
  Comparison comparison(bpe);
  for (size_t i = 0; i < texts.size(); ++i) comparison.check(texts[i], wanted["special"][i], {.read_special = true});
  for (size_t i = 0; i < special.size(); ++i) comparison.check(special[i], wanted["plain"][i], {});
  comparison.check("Hello", wanted["with_bos"], {.read_special = true, .add_special = true});
  for (size_t i = 0; i < wanted["lines"].size(); ++i)
    comparison.check(lines[expected()["valid_lines"][i]], wanted["lines"][i], {.read_special = true});
  CHECK(comparison.different() == 0);
  check_groups(bpe, wanted["groups"], lines);
}

// Decoding returns the original texts, lines and random bytes.
void check_round_trip(const Bpe& bpe, bool every_byte) {
  std::vector<std::string> all = search_lines();
  for (const json& text : expected().at("texts")) all.push_back(text);
  ops::Random random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(static_cast<size_t>(random.below(60)), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.one_in(3) ? random.below(256) : random.pick({' ', 'a', '\n'}));
    all.push_back(bytes);
  }
  const bool sentence_piece = bpe.vocabulary().kind == BpeKind::SentencePiece;
  int different = 0;
  for (const std::string& text : all) {
    if (sentence_piece && text.find("\xE2\x96\x81") != std::string::npos) continue;  // decodes as a space
    for (const bool read : {false, true}) {
      Ids ids;
      size_t lost = 0;
      REQUIRE(bpe.encode(text, {.read_special = read}, &ids, &lost) == Status::Ok);
      if (every_byte) CHECK(lost == 0);
      const std::string back = text_of(bpe, ids, {.show_special = true});
      if (lost > 0 ? back.size() + lost == text.size() : back == text) continue;
      if (++different <= 5) UNSCOPED_INFO("'" << text << "' comes back as '" << back << "', " << lost << " lost");
    }
  }
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("Bpe gives the ids of llama-tokenize with small vocabularies", "[bpe]") {
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "llama"}) compare(name, small_bpe(name));
}

TEST_CASE("Bpe gives the ids of llama-tokenize with SmolLM2's vocabulary", "[bpe][language_model]") {
  const std::string file = smollm2_file();
  if (file.empty()) return;
  const Bpe bpe = bpe_of(file);
  CHECK(bpe.size() == 49152);
  CHECK(bpe.vocabulary().pre == "smollm");
  compare("smollm", bpe);
  check_round_trip(bpe, false);
}

TEST_CASE("Bpe gives the ids of llama.cpp with Gemma 3's vocabulary", "[bpe][language_model][gemma3]") {
  const std::string file = gemma3_file();
  if (file.empty()) return;
  const Bpe bpe = bpe_of(file);
  CHECK(bpe.size() == 262144);
  Comparison comparison(bpe);
  const json lines = json::parse(read_file(text_data() / "gemma3-tokens.json"));
  REQUIRE(lines.size() == 40);
  for (const json& line : lines) comparison.check(line["text"], line["ids"], {.read_special = line["parse_control"]});
  CHECK(comparison.different() == 0);
  check_round_trip(bpe, true);
}

TEST_CASE("Bpe gives all bytes back", "[bpe]") {
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "llama"}) {
    INFO(name);
    check_round_trip(small_bpe(name), true);
  }
}

}  // namespace heed::test
