#include "base/utf8.hpp"

#include <algorithm>

namespace heed {
namespace {

// The number of bytes that follow a lead byte, and the range of the second byte, which excludes overlong forms, surrogates and values above
// U+10FFFF.
struct Lead {
  int follow = -1;
  unsigned char low = 0x80, high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {0};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {1};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t* at) {
  const auto byte = static_cast<unsigned char>(text[(*at)++]);
  const Lead lead = lead_of(byte);
  if (lead.follow == 0) return byte;
  if (lead.follow < 0) return kReplacement;
  char32_t c = byte & (0x3Fu >> lead.follow);
  for (int i = 0; i < lead.follow; ++i, ++*at) {
    const unsigned char low = i == 0 ? lead.low : 0x80, high = i == 0 ? lead.high : 0xBF;
    if (*at == text.size()) return kReplacement;
    const auto next = static_cast<unsigned char>(text[*at]);
    if (next < low || next > high) return kReplacement;
    c = c << 6 | (next & 0x3Fu);
  }
  return c;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (next_code_point(text, &at) == kReplacement && text.substr(begin, at - begin) != "\xEF\xBF\xBD") return false;
  }
  return true;
}

size_t whole_characters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(text.size(), 3); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // a continuation byte: the lead byte is before it
    const Lead lead = lead_of(byte);
    if (lead.follow < static_cast<int>(back)) break;
    if (back > 1) {
      const auto second = static_cast<unsigned char>(text[text.size() - back + 1]);
      if (second < lead.low || second > lead.high) break;
    }
    return text.size() - back;
  }
  return text.size();
}

}  // namespace heed
