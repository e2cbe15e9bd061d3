// Runs the program of include/heed/c/README.md on the CPU device.
#include <fstream>
#include <sstream>

#include "harness/catch.hpp"
#include "harness/source_path.hpp"

#if !defined(_WIN32)
namespace {

struct Ran {
  std::string output;
  int code = 0;
};

Ran run(const std::string& arguments) {
  Ran ran;
  std::FILE* pipe = popen((std::string("\"") + HEED_C_PROGRAM + "\" " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char some[256];
  for (size_t n = 0; (n = std::fread(some, 1, sizeof(some), pipe)) > 0;) ran.output.append(some, n);
  ran.code = pclose(pipe);
  return ran;
}

}  // namespace

TEST_CASE("C: the page's program computes attention", "[c][readme]") {
  const Ran ran = run("cpu");
  CHECK(ran.code == 0);
  // Equal tokens: every value is 8 * 0.5 * 0.01, whatever the weights, and the output 8 * 0.04 * 0.02.
  CHECK(ran.output == "token 0: 0.0064\ntoken 1: 0.0064\ntoken 2: 0.0064\n");
}

TEST_CASE("C: the page's program says what went wrong", "[c][readme]") {
  const Ran ran = run("nothing-of-this-name");
  CHECK(ran.code != 0);
  CHECK_THAT(ran.output, holds("device: NotFound: "));
  CHECK_THAT(ran.output, holds("nothing-of-this-name"));
}
#endif

TEST_CASE("C: the page's program has 64 lines at most", "[c][readme]") {
  std::ifstream page(heed::test::source_path("include/heed/c/README.md"), std::ios::binary);
  size_t lines = 0;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```c" || (inside && line == "```"))
      inside = !inside;
    else if (inside)
      ++lines;
  }
  CHECK(lines > 0);
  CHECK(lines <= 64);
}
