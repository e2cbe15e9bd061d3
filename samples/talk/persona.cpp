#include "persona.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace talk {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 64u << 20;

bool is_plain(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") == std::string::npos;
}

void add_line(std::string* text, const std::string& line) {
  if (!text->empty()) *text += '\n';
  *text += line;
}

class PersonaReader {
 public:
  explicit PersonaReader(Persona* persona) : persona_(*persona) {}

  void line(const std::string& text) {
    if (text == "---") {
      ++section_;
    } else if (section_ == 0) {
      setting(text);
    } else if (section_ == 1) {
      add_line(&persona_.system, text);
    } else if (text.starts_with("> ")) {
      persona_.examples.emplace_back(text.substr(2), "");
    } else if (!persona_.examples.empty()) {
      add_line(&persona_.examples.back().second, text);
    } else if (!text.empty()) {
      wrong("an answer comes before anything was said");
    }
  }

  std::string problem() const {
    if (!problem_.empty()) return problem_;
    if (persona_.system.empty()) return "it does not say who the character is, between two lines of '---'";
    const auto unanswered = [](const auto& example) { return example.second.empty(); };
    if (std::any_of(persona_.examples.begin(), persona_.examples.end(), unanswered)) return "an example has no answer";
    return {};
  }

 private:
  void setting(const std::string& text) {
    if (text.empty()) return;
    const size_t colon = text.find(": ");
    const std::string key = text.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : text.substr(colon + 2);
    if (key == "name" && !value.empty())
      persona_.name = value;
    else if (key == "color")
      persona_.color = std::clamp(std::atoi(value.c_str()), 0, 255);
    else
      wrong("'" + text + "' is neither a name nor a color");
  }
  void wrong(const std::string& what) {
    if (problem_.empty()) problem_ = what;
  }

  Persona& persona_;
  int section_ = 0;
  std::string problem_;
};

}  // namespace

bool read_file(const std::string& path, std::string* bytes, std::string* error) {
  std::error_code code;
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path, code)) {
    *error = path + " cannot be read";
    return false;
  }
  const auto too_large = [&] {
    *error = path + " has more than 64 MiB";
    return false;
  };
  // Checks the size first, so that nobody waits for a file that is refused, such as a model. Pipes do not report a size.
  const uintmax_t size = fs::file_size(path, code);
  if (!code && size > kMostBytes) return too_large();
  std::ostringstream all;
  all << file.rdbuf();
  *bytes = std::move(all).str();
  return bytes->size() <= kMostBytes || too_large();
}

bool read_persona(const std::string& persona, Persona* to, std::string* error) {
  std::error_code code;
  std::string path = persona;
  if (is_plain(persona) && !fs::is_regular_file(path, code))
    path = (fs::path(TALK_PERSONAS) / (persona + ".txt")).string();
  std::string bytes;
  if (!read_file(path, &bytes, error)) return false;
  Persona fresh;
  PersonaReader reader(&fresh);
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    reader.line(line);
  }
  if (!reader.problem().empty()) {
    *error = path + " is no persona: " + reader.problem();
    return false;
  }
  *to = std::move(fresh);
  return true;
}

}  // namespace talk
