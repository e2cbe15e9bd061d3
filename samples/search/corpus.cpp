#include "corpus.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "text.hpp"

namespace search {
namespace {

constexpr size_t kPiece = 1 << 20;

// Length of the UTF-8 sequence at `at`, or 0.
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(at), second = byte(at + 1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                   (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

bool is_valid(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

// FNV-1a, 64 bits.
uint64_t hash_of(uint64_t hash, std::string_view bytes) {
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return (hash ^ '\n') * 0x100000001B3u;
}

bool read_file(const std::string& path, std::string* text, std::string* error) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    *error = path + " is a folder, not a text file";
    return false;
  }
  const uint64_t bytes = std::filesystem::file_size(path, code);
  if (!code && bytes > kMaxBytes) {
    *error = path + " has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(kMaxBytes);
    return false;
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // Reads the file in pieces, since the size of a device or a pipe is unknown and may be infinite.
  for (size_t read = 0; file && read <= kMaxBytes; read += static_cast<size_t>(file.gcount())) {
    text->resize(read + kPiece);
    file.read(text->data() + read, kPiece);
    text->resize(read + static_cast<size_t>(file.gcount()));
  }
  if (text->size() > kMaxBytes) {
    *error = path + " exceeds the limit of " + std::to_string(kMaxBytes) + " bytes";
    return false;
  }
  if (file.eof() && !file.bad()) return true;
  *error = "cannot read " + path + ": " + (errno != 0 ? std::strerror(errno) : "unknown error");
  return false;
}

}  // namespace

bool read_corpus(const std::string& path, Corpus* corpus, std::string* error) {
  corpus->path = path;
  if (!read_file(path, &corpus->text, error)) return false;
  std::string_view rest = corpus->text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // byte order mark
  corpus->hash = 0xCBF29CE484222325u;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\v\f\r") == std::string_view::npos) {
      ++corpus->blank;
      continue;
    }
    if (corpus->lines.size() == kMaxLines) {
      *error = path + " exceeds the limit of " + std::to_string(kMaxLines) + " lines";
      return false;
    }
    if (!is_valid(line)) ++corpus->broken;
    corpus->lines.push_back(line);
    corpus->numbers.push_back(number);
    corpus->hash = hash_of(corpus->hash, line);
  }
  if (!corpus->lines.empty()) return true;
  *error = path + " has no line with text in it";
  return false;
}

bool read_line(std::istream& input, std::string* line) {
  line->clear();
  for (int c; (c = input.get()) != std::char_traits<char>::eof();) {
    if (c == '\n') return true;
    if (line->size() < kMaxQuery) line->push_back(static_cast<char>(c));
  }
  return !line->empty();
}

std::string printable(std::string_view line, int columns) {
  std::string clean;
  // A character takes at most 4 bytes. The bound also leaves room for two combining marks per column.
  for (size_t at = 0; at < line.size() && clean.size() < static_cast<size_t>(columns) * 12;) {
    const size_t length = sequence_length(line, at);
    const auto lead = static_cast<unsigned char>(line[at]);
    const bool c1 = length == 2 && lead == 0xC2 && static_cast<unsigned char>(line[at + 1]) < 0xA0;
    if (length == 0)
      clean += "\xEF\xBF\xBD";
    else if (lead < 0x20 || lead == 0x7F || c1)
      clean += ' ';
    else
      clean.append(line.substr(at, length));
    at += std::max<size_t>(length, 1);
  }
  return tour::shorten(clean, columns);
}

}  // namespace search
