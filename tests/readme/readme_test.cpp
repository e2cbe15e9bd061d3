// The examples of README.md are the files beside this one, word for word, and do what they say.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <heed/heed.hpp>

#include "catch.hpp"

heed::Status attend(std::vector<float>* y);
bool agrees_with_cpu(std::string_view name, const heed::Graph& g, std::span<const heed::HostTensor> tensors,
                     const std::vector<float>& x, size_t y_size);

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The contents of the fenced blocks marked as C++.
std::vector<std::string> cpp_blocks(const std::string& markdown) {
  static const std::string kBegin = "```cpp\n", kEnd = "```";
  std::vector<std::string> blocks;
  for (size_t at = markdown.find(kBegin); at != std::string::npos; at = markdown.find(kBegin, at)) {
    at += kBegin.size();
    const size_t end = markdown.find(kEnd, at);
    blocks.push_back(markdown.substr(at, end - at));
    at = end;
  }
  return blocks;
}

}  // namespace

TEST_CASE("README: the examples are the compiled files", "[readme]") {
  const std::filesystem::path root = HEED_SOURCE_DIR;
  const std::vector<std::string> blocks = cpp_blocks(read(root / "README.md"));
  const char* files[] = {"engine_developer.cpp", "any_device.cpp", "validator.cpp"};
  REQUIRE(blocks.size() == std::size(files));
  for (size_t i = 0; i < blocks.size(); ++i) {
    INFO(files[i]);
    CHECK(blocks[i] == read(root / "tests" / "readme" / files[i]));
  }
}

TEST_CASE("README: every relative link leads somewhere", "[readme]") {
  const std::filesystem::path root = HEED_SOURCE_DIR;
  std::string text = read(root / "README.md");
  for (const std::string& block : cpp_blocks(text)) text.erase(text.find(block), block.size());
  int links = 0;
  for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
    if (target.find("://") != std::string::npos) continue;
    INFO(target);
    CHECK(std::filesystem::exists(root / target));
    ++links;
  }
  CHECK(links > 0);
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
