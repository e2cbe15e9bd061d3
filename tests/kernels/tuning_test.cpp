// Choices by measured times, and the blob that stores them. Needs no device.

#include "base/sealed_blob.hpp"
#include "harness/catch.hpp"
#include "kernels/choose/tuning_choice.hpp"
#include "kernels/lowered.hpp"
#include "kernels/matmul/matmul.hpp"

using namespace heed;
using namespace heed::kernel_tests;

TEST_CASE("tuning: the fastest wins if it is clearly faster than what estimates choose", "[kernels][tuning]") {
  struct Row {
    std::vector<double> ms;
    size_t fastest;
  };
  const Row rows[] = {{{1.0}, 0},      {{1.0, 2.0}, 0},      {{1.0, 0.96}, 0},
                      {{1.0, 0.9}, 1}, {{3.0, 2.0, 1.0}, 2}, {{2.0, 1.0, 1.5}, 1}};
  for (const Row& row : rows) {
    std::vector<Measurement> measured;
    for (const double ms : row.ms) measured.push_back({std::to_string(measured.size()), ms});
    CHECK(fastest_of(measured) == row.fastest);
  }
}

TEST_CASE("tuning: every class of sizes has a bit of its own", "[kernels][tuning]") {
  uint64_t seen = 0;
  for (const int64_t m : {1, 4, 8, 16, 32, 64, 256, 1024})
    for (const int64_t n : {512, 2048})
      for (const int64_t k : {512, 2048})
        for (const bool k_fast : {false, true}) {
          const uint32_t bit = product_class(m, n, k, k_fast);
          REQUIRE(bit < 64);
          CHECK((seen >> bit & 1) == 0);
          seen |= uint64_t{1} << bit;
        }
  CHECK(seen == UINT64_MAX);
  seen = 0;
  for (const int64_t queries : {1, 16, 128, 129})
    for (const int64_t keys : {64, 512, 2048, 4096})
      for (const int64_t heads : {16, 17})
        for (const int64_t head_size : {64, 128}) {
          const uint32_t bit = attention_class(queries, keys, heads, head_size);
          REQUIRE(bit < 64);
          CHECK((seen >> bit & 1) == 0);
          seen |= uint64_t{1} << bit;
        }
  CHECK(seen == UINT64_MAX);
  CHECK(attention_class(1, 1, 1, 1) == 0);
  CHECK(product_class(3, 600, 100, true) == product_class(4, 512, 512, true));
}

TEST_CASE("tuning: a blob is read again, and refused when damaged or foreign", "[kernels][tuning]") {
  Tuning tuning;
  choose(&tuning, "matmul_f32 16x64", 3);
  choose(&tuning, "matmul_f32 64x64", 63);
  choose(&tuning, "matmul_f32 16x64", 0);
  REQUIRE(tuning.choices.size() == 2);
  CHECK(tuning.choices[0].classes == 9);
  const std::vector<std::byte> blob = write_tuning(77, tuning);
  Tuning read;
  std::string why;
  REQUIRE(read_tuning(blob, 77, &read, &why) == Status::Ok);
  REQUIRE(read.choices.size() == 2);
  CHECK(read.choices[1].variant == "matmul_f32 64x64");
  CHECK(read.choices[1].classes == uint64_t{1} << 63);

  read.choices.resize(1);
  CHECK(read_tuning(blob, 78, &read, &why) == Status::Unsupported);
  CHECK_THAT(why, holds("another device"));
  CHECK(read_tuning(BlobWriter("heedtu01", 77, 0).seal(), 77, &read, &why) == Status::Unsupported);
  CHECK_THAT(why, holds("another version"));
  CHECK(read_tuning({}, 77, &read, &why) == Status::InvalidFile);
  for (size_t bytes = 0; bytes < blob.size(); ++bytes)
    CHECK(read_tuning(std::span(blob).first(bytes), 77, &read, &why) == Status::InvalidFile);
  for (size_t at = 0; at < blob.size(); ++at) {
    std::vector<std::byte> damaged = blob;
    damaged[at] ^= std::byte{0x10};
    CHECK(read_tuning(damaged, 77, &read, &why) == Status::InvalidFile);
  }
  CHECK(read.choices.size() == 1);  // unchanged
}

TEST_CASE("tuning: a choice decides where the plan has that kernel, and nowhere else", "[kernels][tuning]") {
  Graph g;
  g.output("y", g.linear(g.input("x", {g.extent("m", 200), 64}), g.weight("w", {96, 64})));
  Lowered lowered(g);
  const auto used = [&](int64_t m) {
    lowered.set_extent("m", m);
    const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
    return variant_name(kernels.uses[dispatches.dispatches[0].kernel].key);
  };
  const std::string usual = used(200), other = usual == "matmul_f32 64x64" ? "matmul_f32 16x64" : "matmul_f32 64x64";
  Tuning tuning;
  choose(&tuning, other, product_class(200, 96, 64, true));
  choose(&tuning, "matmul_f32 1x1", product_class(20, 96, 64, true));
  const std::string usual_20 = used(20);
  lowered.device.tuning = std::make_shared<Tuning>(tuning);
  CHECK(used(200) == other);
  CHECK(used(20) == usual_20);
}

TEST_CASE("tuning: a choice decides which kernel makes an attention, also one that rules do not ask for",
          "[kernels][tuning]") {
  Graph g;
  const auto input = [&](const char* name, Dim tokens) { return g.input(name, {1, 8, tokens, 64}, DType::F16); };
  const Dim queries = g.extent("queries", 600), keys = g.extent("keys", 900);
  g.output("y", g.attention(input("q", queries), input("k", keys), input("v", keys)).output);
  Capabilities device = device_with_units();
  device.cores = 64;  // tiles of 128 queries would leave some cores idle, and are not chosen

  // The variant for a run in a plan compiled with this tuning.
  const auto used = [&](const Tuning& tuning, int64_t m, int64_t n) {
    device.tuning = std::make_shared<Tuning>(tuning);
    Lowered lowered(g, false, device);
    lowered.set_extents({{"queries", m}, {"keys", n}});
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    CHECK(kernels.count <= kMaxKernelsPerPass);
    return variant_name(kernels.uses[dispatches.dispatches[0].kernel].key);
  };
  const std::string few = used({}, 3, 900), many = used({}, 500, 900);
  REQUIRE(few == "attention_f16_vector 128x1");
  REQUIRE(many == "attention_f16_matrix 128x64");

  device.tuning = std::make_shared<Tuning>(Tuning{{}, true});
  Lowered all(g, false, device);
  const KernelList kernels = all.selected(Op::Attention);
  CHECK(kernels.count <= kMaxKernelsPerPass);
  std::set<std::string> variants;
  for (uint32_t i = 0; i < kernels.count; ++i) variants.insert(variant_name(kernels.uses[i].key));
  CHECK(variants.count("attention_f16 128x64") == 1);  // the rules choose it only without matrix units
  for (const std::string& variant : variants) {
    if (variant.find("combine") != std::string::npos) continue;
    INFO(variant);
    Tuning tuning;
    choose(&tuning, variant, attention_class(500, 900, 8, 64));
    CHECK(used(tuning, 500, 900) == variant);
    CHECK(used(tuning, 500, 400) == many);  // another size class
    CHECK(used(tuning, 3, 900) == few);
  }
  Tuning unknown;
  choose(&unknown, "attention_f16 1x1", attention_class(500, 900, 8, 64));
  choose(&unknown, "attention_f16_future 128x64", attention_class(500, 900, 8, 64));
  CHECK(used(unknown, 500, 900) == many);
}
