#include "base/philox.hpp"

#include <fstream>
#include <sstream>

#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "harness/source_path.hpp"

namespace heed {

TEST_CASE("Philox4x32-10 gives the published known answers", "[base]") {
  std::ifstream file(test::source_path("tests/goldens/philox4x32-10.txt"));
  REQUIRE(file.good());
  int answers = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    words >> std::hex;
    std::array<uint32_t, 4> counter, expected;
    std::array<uint32_t, 2> key;
    for (uint32_t& word : counter) words >> word;
    for (uint32_t& word : key) words >> word;
    for (uint32_t& word : expected) words >> word;
    INFO(line);
    REQUIRE_FALSE(words.fail());
    CHECK(philox4x32_10(counter, key) == expected);
    ++answers;
  }
  CHECK(answers == 3);
}

TEST_CASE("dropout takes the word of its element", "[base]") {
  for (const uint64_t index :
       {0ull, 1ull, 2ull, 3ull, 4ull, 4095ull, 0x3ffffffffull, 0x400000000ull, 0x123456789abcdull}) {
    INFO(index);
    CHECK(dropout_bits(7, 11, index) == ops::random_word(7, 11, index));
    const auto block =
        philox4x32_10({static_cast<uint32_t>(index / 4), static_cast<uint32_t>(index / 4 >> 32), 0, 0}, {7, 11});
    CHECK(dropout_bits(7, 11, index) == block[index % 4]);
  }
}

TEST_CASE("dropout's threshold and scale follow from p", "[base]") {
  CHECK(dropout_words(0.0f).threshold == 0);
  CHECK(dropout_words(0.0f).keep_scale == 1.0f);
  CHECK(dropout_words(0.5f).threshold == 0x80000000u);
  CHECK(dropout_words(0.5f).keep_scale == 2.0f);
  CHECK(dropout_words(0.25f).threshold == 0x40000000u);
  CHECK(dropout_words(0x0.ffffffp0f).threshold == 0xffffff00u);  // the largest p below 1
}

}  // namespace heed
