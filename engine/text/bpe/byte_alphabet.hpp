// GPT-2 writes each byte as one letter, so that tokens are text without spaces and control characters. Printable Latin-1 characters stand
// for themselves; the other bytes become the code points from U+100 on, in order.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace heed {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The letter of each byte.
constexpr std::array<char16_t, 256> byte_letters() {
  std::array<char16_t, 256> letters = {};
  char16_t next = 0x100;
  for (unsigned byte = 0; byte < letters.size(); ++byte)
    letters[byte] = stands_for_itself(byte) ? static_cast<char16_t>(byte) : next++;
  return letters;
}

// The byte that a letter stands for, or -1.
int byte_of_letter(char32_t letter);
std::string letter_of_byte(unsigned char byte);
// Appends the bytes of a token. Characters outside this alphabet are copied as they are.
void append_bytes_of(std::string_view token, std::string* bytes);

}  // namespace heed
