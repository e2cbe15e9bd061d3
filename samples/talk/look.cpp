// Draws the attention of a prompt's last word.
#include <cstdio>
#include <filesystem>

#include "attention_picture.hpp"
#include "modes.hpp"

namespace talk {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Words begin with a space, a punctuation mark, or a character of a script without spaces.
bool begins_word(std::string_view bytes) {
  if (bytes.empty()) return true;  // special tokens stand for themselves
  constexpr unsigned char kFirstOfEastAsia = 0xE3;
  const auto first = static_cast<unsigned char>(bytes[0]);
  const bool is_letter = (first | 0x20) >= 'a' && (first | 0x20) <= 'z';
  const bool is_digit = first >= '0' && first <= '9';
  return first < 0x80 ? !is_letter && !is_digit : first >= kFirstOfEastAsia;
}

// Text for a picture: control characters and invalid UTF-8 are replaced by visible characters.
std::string shown(std::string_view word) {
  constexpr size_t kMostBytes = 40;
  if (word.starts_with(' ') && word.size() > 1) word.remove_prefix(1);
  std::string text;
  for (size_t at = 0; at < word.size();) {
    const auto byte = static_cast<unsigned char>(word[at]);
    const size_t size = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    size_t there = 1;
    while (there < size && at + there < word.size() && is_continuation(word[at + there])) ++there;
    char code[8];
    std::snprintf(code, sizeof code, "<%02X>", static_cast<unsigned>(byte));
    if (text.size() > kMostBytes) return text + "…";
    if (byte == '\n')
      text += "↵";
    else if (byte == ' ' && word.size() == 1)
      text += "␣";
    else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && (byte < 0xC2 || byte > 0xF4 || there < size)))
      text += code;
    else
      text += word.substr(at, size);
    at += byte >= 0x80 && (byte < 0xC2 || byte > 0xF4 || there < size) ? 1 : size;
  }
  return text;
}

// Tokens of a word become one column, with the sum of their weights.
AttentionPicture picture_of(const heed::Bpe& bpe, const std::vector<int32_t>& ids, const heed::TokenAttention& seen) {
  AttentionPicture picture;
  std::vector<size_t> word_of;
  std::vector<std::string> words;
  bool behind_special = true;
  for (const int32_t id : ids) {
    const std::string_view bytes = bpe.bytes(id);
    if (behind_special || words.back().ends_with('\n') || begins_word(bytes)) words.emplace_back();
    words.back() += bytes.empty() ? bpe.token(id) : bytes;
    word_of.push_back(words.size() - 1);
    behind_special = bytes.empty();
  }
  for (const std::string& word : words) picture.words.push_back(shown(word));
  picture.layers = static_cast<size_t>(seen.layers);
  picture.heads = static_cast<size_t>(seen.heads);
  picture.weights.resize(picture.layers * picture.heads * words.size());
  for (size_t row = 0; row < picture.layers * picture.heads; ++row)
    for (size_t i = 0; i < ids.size(); ++i)
      picture.weights[row * words.size() + word_of[i]] += seen.weights[row * ids.size() + i];
  return picture;
}

}  // namespace

int look(const Options& options, Session& session) {
  const heed::Bpe& bpe = session.model.tokenizer();
  std::vector<int32_t> ids;
  heed::TokenAttention seen;
  heed::Status status = bpe.encode(options.prompt, {.read_special = true, .add_special = true}, &ids);
  if (status == heed::Status::Ok) status = session.model.attention(ids, &seen);
  if (status != heed::Status::Ok) return failed("the prompt", status);
  AttentionPicture picture = picture_of(bpe, ids, seen);
  if (picture.words.size() > kMostPictureWords)
    return bad_input("the prompt has " + std::to_string(picture.words.size()) + " words; a picture has room for " +
                     std::to_string(kMostPictureWords));
  picture.title = "What “" + picture.words.back() + "” looks at";
  picture.subtitle = shown(std::filesystem::path(options.model).filename().string()) + ", " +
                     std::to_string(picture.layers) + " layers of " + std::to_string(picture.heads) +
                     " heads. Below each word: the mean of all heads, and the layer.head that looks at it most";
  std::string error;
  if (!draw_attention(picture, options.attention, &error)) return bad_input(error);
  std::printf("%s: %zu layers, %zu heads, %zu words\n", options.attention.c_str(), picture.layers, picture.heads,
              picture.words.size());
  return kOk;
}

}  // namespace talk
