// Every example of a page is in a test, and every link has a target.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/catch.hpp"
#include "harness/source_path.hpp"

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The contents of the fenced blocks marked as of this language.
std::vector<std::string> blocks_of(const std::string& markdown, const std::string& language) {
  const std::string begin = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (size_t at = markdown.find(begin); at != std::string::npos; at = markdown.find(begin, at)) {
    at += begin.size();
    const size_t end = markdown.find("```", at);
    blocks.push_back(markdown.substr(at, end - at));
    at = end;
  }
  return blocks;
}
std::vector<std::string> cpp_blocks(const std::string& markdown) { return blocks_of(markdown, "cpp"); }

const std::filesystem::path kRoot = heed::test::source_path("");

// All pages of the repository, relative to its root.
std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> found = {"CHANGELOG.md", "CONTRIBUTING.md", "README.md"};
  for (const char* folder : {"engine", "include", "samples", "shaders", "tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") found.push_back(std::filesystem::relative(entry.path(), kRoot));
  std::sort(found.begin(), found.end());
  return found;
}

// Whether a page has the heading that a link names: in lower case, with spaces as hyphens and without other punctuation.
bool has_heading(const std::string& markdown, const std::string& name) {
  std::istringstream lines(markdown);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with('#')) continue;
    std::string heading;
    for (const char c : line.substr(std::min(line.find(' ') + 1, line.size()))) {
      const auto letter = static_cast<unsigned char>(c);
      if (c == ' ' || c == '-') heading += '-';
      if (std::isalnum(letter) != 0 || c == '_') heading += static_cast<char>(std::tolower(letter));
    }
    if (heading == name) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("README: each example of C++ and C on a page is included by a test", "[readme]") {
  std::string tests = read(kRoot / "tests/c/CMakeLists.txt");
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "tests/readme"))
    if (entry.path().extension() == ".cpp") tests += read(entry.path());
  size_t examples = 0;
  for (const std::filesystem::path& page : pages())
    for (const char* language : {"cpp", "c"}) {
      // The names that readme/pages.cmake uses.
      const std::string name = page == "README.md"                  ? "readme"
                               : page == "include/heed/README.md"   ? "using"
                               : page == "include/heed/c/README.md" ? "c"
                                                                    : page.stem().string();
      const size_t blocks = blocks_of(read(kRoot / page), language).size();
      for (size_t i = 1; i <= blocks; ++i, ++examples) {
        INFO(page << ": example " << i << " in " << language);
        CHECK_THAT(tests, holds("pages/" + name + "." + std::to_string(i) + "." + language));
      }
    }
  CHECK(examples > 10);
}

TEST_CASE("README: every relative link of every page leads somewhere", "[readme]") {
  int links = 0;
  for (const std::filesystem::path& page : pages()) {
    std::string text = read(kRoot / page);
    for (const std::string& block : cpp_blocks(text)) text.erase(text.find(block), block.size());
    for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.find("://") != std::string::npos) continue;
      INFO(page << ": " << target);
      const size_t mark = target.find('#');
      const std::filesystem::path to = mark == 0 ? kRoot / page : kRoot / page.parent_path() / target.substr(0, mark);
      CHECK(std::filesystem::exists(to));
      if (mark != std::string::npos) CHECK(has_heading(read(to), target.substr(mark + 1)));
      ++links;
    }
  }
  CHECK(links > 50);
}

TEST_CASE("README: the first page has 110 lines of 140 characters at most", "[readme]") {
  std::istringstream text(read(kRoot / "README.md"));
  size_t lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    INFO(line);
    // Continuation bytes of UTF-8 do not count.
    CHECK(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 140);
  }
  CHECK(lines <= 110);
}

TEST_CASE("README: from PyTorch to C++ in 60 lines, and to Godot in 20", "[readme]") {
  const std::string page = read(kRoot / "include/heed/guide/from_onnx.md");
  const auto lines_of = [&](const char* language) {
    const std::vector<std::string> blocks = blocks_of(page, language);
    REQUIRE_FALSE(blocks.empty());
    return std::count(blocks[0].begin(), blocks[0].end(), '\n');
  };
  CHECK(lines_of("python") + lines_of("cpp") <= 60);
  CHECK(lines_of("gdscript") <= 20);
}
