// The examples of the pages are the files beside this one, word for word, and do what they say; links lead somewhere.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <heed/heed.hpp>

#include "harness/catch.hpp"
#include "harness/files.hpp"
#include "harness/source_path.hpp"
#include "readme/policy.hpp"

heed::Status attend(std::vector<float>* y);
bool agrees_with_cpu(std::string_view name, const heed::Graph& g, std::span<const heed::HostTensor> tensors,
                     const std::vector<float>& x, size_t y_size);
heed::Status steer(std::string_view file, const std::vector<float>& agents, std::vector<float>* velocity);
heed::Status speak(std::string_view device_name, const heed::DecoderConfig& config,
                   std::span<const heed::HostTensor> tensors, std::span<const int32_t> prompt, size_t count,
                   std::vector<int32_t>* said);
heed::Status fit(std::string_view device_name, const std::vector<float>& x, const std::vector<float>& y, int steps,
                 float* slope, std::vector<float>* losses);

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
  std::vector<std::filesystem::path> found = {"README.md"};
  for (const char* folder : {"engine", "include", "samples", "shaders", "tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") found.push_back(std::filesystem::relative(entry.path(), kRoot));
  std::sort(found.begin(), found.end());
  return found;
}

// The text as it stands in a function's body.
std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result, line;
  while (std::getline(lines, line)) result += (line.empty() ? "" : "  ") + line + "\n";
  return result;
}

// Whether a page has a heading that such a link names: in lower case, spaces as hyphens, other punctuation left out.
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

TEST_CASE("README: the examples are the compiled files", "[readme]") {
  struct Example {
    std::filesystem::path page;
    const char* file;
    bool whole;  // else it is a part of a function
  };
  const Example examples[] = {{"README.md", "engine_short.cpp", false},
                              {"include/heed/README.md", "engine_developer.cpp", true},
                              {"include/heed/README.md", "any_device.cpp", true},
                              {"include/heed/README.md", "validator.cpp", true},
                              {"include/heed/README.md", "speaker.cpp", true},
                              {"include/heed/README.md", "learner.cpp", true},
                              {"include/heed/from_pytorch.md", "engine_policy.cpp", true},
                              {"include/heed/from_pytorch.md", "policy.cpp", true}};
  size_t next = 0;
  for (const std::filesystem::path& page : pages()) {
    for (const std::string& block : cpp_blocks(read(kRoot / page))) {
      INFO(page);
      REQUIRE(next < std::size(examples));
      const Example& example = examples[next++];
      CHECK(page == example.page);
      const std::string file = read(kRoot / "tests" / "readme" / example.file);
      INFO(example.file);
      if (example.whole)
        CHECK(block == file);
      else
        CHECK_THAT(file, holds(indented(block)));
    }
  }
  CHECK(next == std::size(examples));
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
    // Bytes that continue a character of UTF-8 do not count.
    CHECK(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 140);
  }
  CHECK(lines <= 110);
}

TEST_CASE("README: from PyTorch to C++ in 60 lines, and to Godot in 20", "[readme]") {
  const std::string page = read(kRoot / "include/heed/from_pytorch.md");
  const auto lines_of = [&](const char* language) {
    const std::vector<std::string> blocks = blocks_of(page, language);
    REQUIRE_FALSE(blocks.empty());
    return std::count(blocks[0].begin(), blocks[0].end(), '\n');
  };
  CHECK(lines_of("python") + lines_of("cpp") <= 60);
  CHECK(lines_of("gdscript") <= 20);
}

TEST_CASE("README: a policy that PyTorch exported", "[readme][onnx]") {
  const heed::test::Crowd crowd = heed::test::read_crowd();
  std::vector<float> velocity(crowd.velocity.size());
  REQUIRE(steer(heed::test::kPolicy, crowd.agents, &velocity) == heed::Status::Ok);
  CHECK(crowd.largest_difference(velocity.data()) < 2e-5f);
}

TEST_CASE("README: attention on any device", "[readme]") {
  std::vector<float> y;
  REQUIRE(attend(&y) == heed::Status::Ok);
  REQUIRE(y.size() == 3 * 8);
  // Equal tokens: every value is 8 * 0.5 * 0.01, whatever the weights, and the output 8 * 0.04 * 0.02.
  for (const float value : y) CHECK(std::fabs(value - 0.0064f) < 1e-6f);
}

TEST_CASE("README: comparing a device with the CPU", "[readme]") {
  heed::Graph g;
  g.output("y", g.softmax(g.input("x", {2, 5})));
  const std::vector<float> x = {1, 2, 3, 4, 5, -1, 0, 1, 0, -1};
  std::vector<heed::DeviceInfo> devices;
  REQUIRE(heed::Device::list({}, &devices) == heed::Status::Ok);
  for (const heed::DeviceInfo& device : devices) {
    INFO(device.word);
    if (device.usable) CHECK(agrees_with_cpu(device.word, g, {}, x, x.size()));
  }
  const float nan = std::nanf("");
  CHECK_FALSE(agrees_with_cpu("cpu", g, {}, {nan, nan, nan, nan, nan, 0, 0, 0, 0, 0}, x.size()));
}

TEST_CASE("README: a decoder that speaks", "[readme]") {
  heed::SafeTensors file;
  REQUIRE(heed::SafeTensors::open(heed::test::source_path("tests/decoders/qwen2.safetensors"), heed::stderr_log(),
                                  &file) == heed::Status::Ok);
  std::vector<int32_t> prompt, tokens, said;
  REQUIRE(read_i32(*file.find("prompt"), heed::stderr_log(), &prompt) == heed::Status::Ok);
  REQUIRE(read_i32(*file.find("tokens"), heed::stderr_log(), &tokens) == heed::Status::Ok);
  const heed::DecoderConfig config = {.family = "qwen2",
                                      .layers = 2,
                                      .width = 32,
                                      .heads = 4,
                                      .kv_heads = 1,
                                      .hidden = 48,
                                      .vocabulary = 53,
                                      .eps = 1e-6f,
                                      .rotary = {.base = 1e6f}};
  REQUIRE(speak("cpu", config, file.host_tensors(), prompt, 20, &said) == heed::Status::Ok);
  CHECK(std::equal(said.begin(), said.end(), tokens.begin()));
}

TEST_CASE("README: a graph that learns", "[readme]") {
  std::vector<float> x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(static_cast<float>(i) * 0.1f - 1.0f);
    y.push_back(3.0f * x.back() - 2.0f);
  }
  std::vector<heed::DeviceInfo> devices;
  REQUIRE(heed::Device::list({}, &devices) == heed::Status::Ok);
  for (const heed::DeviceInfo& device : devices) {
    INFO(device.word);
    if (!device.usable) continue;
    float slope = 0.0f;
    std::vector<float> losses;
    REQUIRE(fit(device.word, x, y, 300, &slope, &losses) == heed::Status::Ok);
    CHECK(std::fabs(slope - 3.0f) < 1e-3f);
    CHECK(losses.front() > 5.0f);
    CHECK(losses.back() < 1e-5f);
  }
}
