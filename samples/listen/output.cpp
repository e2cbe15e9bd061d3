#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace listen {
namespace {

std::string time_text(double seconds, const char* pattern) {
  const auto all = static_cast<long>(std::lround(seconds * 1000.0));
  char text[48];
  std::snprintf(text, sizeof text, pattern, all / 3600000, all / 60000 % 60, all / 1000 % 60, all % 1000);
  return text;
}

std::string without_space(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first);
}

// One line: a line feed would end a subtitle, and terminals obey other control characters.
std::string line_of(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return without_space(text);
}

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string json_ids(const heed::SpeechSegment& segment) {
  std::string list = "[";
  for (const int32_t id : segment.ids) list += (list.size() > 1 ? ", " : "") + std::to_string(id);
  return list + "]";
}

std::string json_words(const heed::SpeechSegment& segment) {
  std::string list = ",\n  \"words\": [";
  for (const heed::SpeechWord& word : segment.words) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers,
                  "{\"begin\": %.2f, \"end\": %.2f, \"probability\": %.4f, \"text\": ", word.begin, word.end,
                  static_cast<double>(word.probability));
    list += (list.back() == '[' ? "" : ", ") + std::string(numbers) + json_text(without_space(word.text)) + "}";
  }
  return list + "]";
}

}  // namespace

void Printer::print_line(double begin, double end, const std::string& text) {
  const char* clock = form_ == Form::Text ? "%02ld:%02ld:%02ld.%03ld" : "%02ld:%02ld:%02ld,%03ld";
  const std::string from = time_text(begin, clock), to = time_text(end, clock), shown = line_of(text);
  if (form_ == Form::Text)
    std::printf("[%s - %s] %s\n", from.c_str(), to.c_str(), shown.c_str());
  else
    std::printf("%d\n%s --> %s\n%s\n\n", ++count_, from.c_str(), to.c_str(), shown.c_str());
}

void Printer::print(const heed::SpeechSegment& segment) {
  switch (form_) {
    case Form::Text:
    case Form::Subtitles:
      if (!words_) print_line(segment.begin, segment.end, segment.text);
      for (const heed::SpeechWord& word : segment.words)
        if (words_) print_line(word.begin, word.end, word.text);
      break;
    case Form::Json:
      std::printf(
          "%s{\"begin\": %.2f, \"end\": %.2f, \"text\": %s, \"language\": %s, \"log_probability\": %.4f, "
          "\"no_speech\": %.4f, \"temperature\": %.1f, \"ids\": %s%s}",
          count_++ == 0 ? "[" : ",\n ", segment.begin, segment.end, json_text(without_space(segment.text)).c_str(),
          json_text(segment.language).c_str(), static_cast<double>(segment.log_probability),
          static_cast<double>(segment.no_speech), static_cast<double>(segment.temperature), json_ids(segment).c_str(),
          words_ ? json_words(segment).c_str() : "");
      break;
    case Form::Ids: std::printf("%s\n", json_ids(segment).c_str()); break;
  }
  std::fflush(stdout);
}

void Printer::finish() {
  if (form_ == Form::Json) std::printf("%s]\n", count_ == 0 ? "[" : "");
  count_ = 0;
}

}  // namespace listen
