#include "text/bpe/byte_alphabet.hpp"

#include <cstdint>

#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

constexpr std::array<char16_t, 256> kLetters = byte_letters();
constexpr size_t kEnd = 0x100 + 68;  // 68 bytes do not stand for themselves
static_assert(kLetters[0xAD] == kEnd - 1);

constexpr std::array<int16_t, kEnd> bytes_of_letters() {
  std::array<int16_t, kEnd> bytes = {};
  for (int16_t& byte : bytes) byte = -1;
  for (size_t byte = 0; byte < kLetters.size(); ++byte) bytes[kLetters[byte]] = static_cast<int16_t>(byte);
  return bytes;
}
constexpr std::array<int16_t, kEnd> kBytes = bytes_of_letters();

}  // namespace

int byte_of_letter(char32_t letter) { return letter < kEnd ? kBytes[letter] : -1; }

std::string letter_of_byte(unsigned char byte) {
  std::string letter;
  append_utf8(kLetters[byte], &letter);
  return letter;
}

void append_bytes_of(std::string_view token, std::string* bytes) {
  for (size_t at = 0; at < token.size();) {
    const size_t begin = at;
    const int byte = byte_of_letter(next_code_point(token, &at));
    if (byte >= 0)
      bytes->push_back(static_cast<char>(byte));
    else
      bytes->append(token.substr(begin, at - begin));
  }
}

}  // namespace heed
