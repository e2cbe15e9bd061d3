#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace tour {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t N>
bool in_any(const Range (&ranges)[N], char32_t c) {
  for (const Range& range : ranges)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

constexpr Range kSpaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                             {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
// Combining marks, which occupy no column. These are the common blocks, not all of Unicode.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},  {0x064B, 0x065F}, {0x0900, 0x0902},
    {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D}, {0x0E31, 0x0E31},  {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},  {0x2060, 0x2064}, {0x20D0, 0x20F0},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};
// Unicode's East Asian Width W and F, and emoji, by block.
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0x33FF}, {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                           {0xFE30, 0xFE4F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
                           {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
// Scripts written without spaces: each character is a word.
constexpr Range kIdeographs[] = {
    {0x3041, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0x20000, 0x3FFFD}};
// Punctuation around words, which is dropped.
constexpr Range kPunctuation[] = {{0x21, 0x2F},     {0x3A, 0x40},     {0x5B, 0x60},     {0x7B, 0x7E},
                                  {0xA1, 0xA1},     {0xA7, 0xA7},     {0xAB, 0xAB},     {0xB6, 0xB7},
                                  {0xBB, 0xBB},     {0xBF, 0xBF},     {0x2010, 0x2027}, {0x2030, 0x205E},
                                  {0x3001, 0x3003}, {0x3008, 0x3011}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF1F}};

// Length of the UTF-8 sequence at `at`, or 0 if it is not one (overlong forms and surrogates included).
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                   (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

// Rejects bytes that are no text, and control characters, which would affect the terminal.
bool check_text(std::string_view text, const std::string& origin, std::string* error) {
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    char message[160];
    if (sequence_length(text, at) == 0) {
      std::snprintf(message, sizeof message, " is not UTF-8 text: byte 0x%02X at offset %zu",
                    static_cast<unsigned char>(text[at]), at);
      *error = origin + message;
      return false;
    }
    const char32_t c = next_code_point(text, &at);
    if ((c < 0x20 || (c >= 0x7F && c < 0xA0)) && !in_any(kSpaces, c)) {
      std::snprintf(message, sizeof message, " is not plain text: control character U+%04X at offset %zu",
                    static_cast<unsigned>(c), start);
      *error = origin + message;
      return false;
    }
  }
  return true;
}

// `word` without leading and trailing punctuation.
std::string_view trim_punctuation(std::string_view word) {
  size_t begin = word.size(), end = 0;
  for (size_t at = 0; at < word.size();) {
    const size_t start = at;
    if (in_any(kPunctuation, next_code_point(word, &at))) continue;
    if (begin > start) begin = start;
    end = at;
  }
  return begin < end ? word.substr(begin, end - begin) : std::string_view{};
}

std::string fold(std::string_view word) {
  std::string folded(word);
  for (char& c : folded)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return folded;
}

// Returns false when there is no room left.
bool add_word(std::string_view piece, Words* words) {
  const std::string_view word = trim_punctuation(piece);
  if (word.empty()) return true;
  if (words->shown.size() == static_cast<size_t>(kMaxWords)) {
    words->truncated = true;
    return false;
  }
  words->shown.emplace_back(word);
  words->folded.push_back(fold(word));
  return true;
}

void split(std::string_view text, Words* words) {
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t before = at;
    const char32_t c = next_code_point(text, &at);
    const bool ideograph = in_any(kIdeographs, c);
    if (!ideograph && !in_any(kSpaces, c)) continue;
    if (!add_word(text.substr(start, before - start), words)) return;
    if (ideograph && !add_word(text.substr(before, at - before), words)) return;
    start = at;
  }
  add_word(text.substr(start), words);
}

// A sentence has spaces; a single word with a slash or a file extension must be a path.
bool looks_like_path(const std::string& argument) {
  if (argument.find_first_of(" \t\n") != std::string::npos) return false;
  if (argument.find_first_of("/\\") != std::string::npos) return true;
  const size_t dot = argument.rfind('.');
  const size_t extension = dot == std::string::npos ? 0 : argument.size() - dot - 1;
  return dot != 0 && extension >= 2 && extension <= 4;
}

// "cannot read NAME: " and the reason, from errno.
std::string cannot(const char* verb, const std::string& name) {
  std::string text = "cannot ";
  return text.append(verb).append(" ").append(name).append(": ").append(std::strerror(errno));
}

bool read_stream(std::FILE* file, const std::string& origin, std::string* text, bool* truncated, std::string* error) {
  text->resize(kMaxBytes + 1);
  errno = 0;
  const size_t count = std::fread(text->data(), 1, text->size(), file);
  text->erase(std::min(count, text->size()));
  if (std::ferror(file)) {
    *error = cannot("read", origin);
    return false;
  }
  *truncated = text->size() > kMaxBytes;
  if (!*truncated) return true;
  text->erase(kMaxBytes);
  // The cut may have split a character; at most three bytes of it are left.
  for (size_t back = 1; back <= 3; ++back) {
    const size_t at = text->size() - back;
    if ((static_cast<unsigned char>((*text)[at]) & 0xC0) == 0x80) continue;
    if (sequence_length(*text, at) == 0) text->erase(at);
    break;
  }
  return true;
}

bool read_file(const std::string& path, std::string* text, bool* truncated, std::string* error) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    *error = path + " is a folder, not a text file";
    return false;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) {
    *error = cannot("open", path);
    return false;
  }
  return read_stream(file.get(), path, text, truncated, error);
}

// Fills `text` from the source that the argument names.
bool fetch(const std::string& argument, std::string* text, Words* words, std::string* error) {
  if (argument == "-") {
    words->origin = "standard input";
    return read_stream(stdin, words->origin, text, &words->truncated, error);
  }
  // Longer arguments cannot be paths, and on some systems exists() would report an error for them.
  std::error_code ignored;
  const bool exists = argument.size() < 4096 && !argument.empty() && std::filesystem::exists(argument, ignored);
  if (exists || looks_like_path(argument)) {
    words->origin = argument;
    return read_file(argument, text, &words->truncated, error);
  }
  words->origin = "the sentence";
  *text = argument;
  return true;
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t* at) {
  const size_t length = sequence_length(text, *at);
  const auto lead = static_cast<unsigned char>(text[*at]);
  if (length < 2) {
    ++*at;
    return lead;
  }
  char32_t c = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) c = (c << 6) | (static_cast<unsigned char>(text[*at + i]) & 0x3Fu);
  *at += length;
  return c;
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, &at);
    width += in_any(kZeroWidth, c) ? 0 : in_any(kWide, c) ? 2 : 1;
  }
  return width;
}

std::string shorten(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    next_code_point(text, &at);
    if (display_width(text.substr(0, at)) > columns - 1) break;
    end = at;
  }
  return std::string(text.substr(0, end)) + "…";
}

bool read_words(const std::string& argument, Words* words, std::string* error) {
  *words = {};
  std::string text;
  if (!fetch(argument, &text, words, error)) return false;
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (!check_text(text, words->origin, error)) return false;
  split(text, words);
  if (!words->shown.empty()) return true;
  *error = words->origin + " has no words";
  return false;
}

}  // namespace tour
