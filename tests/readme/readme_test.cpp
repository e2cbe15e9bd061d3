// Runs the examples of the pages. pages.cmake extracts them; engine_test.cpp has those for engines.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <heed/heed.hpp>
#include <heed/reproducible.hpp>

#include "harness/catch.hpp"
#include "harness/files.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"
#include "readme/policy.hpp"

namespace {

namespace using_heed {
#include "pages/using.1.cpp"
}
namespace from_onnx {
#include "pages/from_onnx.2.cpp"
}
namespace language_models {
#include "pages/language_models.1.cpp"
#include "pages/language_models.2.cpp"
}  // namespace language_models
namespace saving {
#include "pages/saving.1.cpp"
}
namespace speech {
#include "pages/speech.1.cpp"
#include "pages/speech.2.cpp"
}  // namespace speech
namespace training {
#include "pages/training.1.cpp"
}
namespace same_bits {
#include "pages/same_bits.1.cpp"
}
namespace trouble {
#include "pages/trouble.1.cpp"
}
namespace performance {
#include "pages/performance.1.cpp"
}

}  // namespace

TEST_CASE("README: a policy that PyTorch exported", "[readme][onnx]") {
  const heed::test::Crowd crowd = heed::test::read_crowd();
  std::vector<float> velocity(crowd.velocity.size());
  REQUIRE(from_onnx::steer(heed::test::kPolicy, crowd.agents, &velocity) == heed::Status::Ok);
  CHECK(crowd.largest_difference(velocity.data()) < 2e-5f);
}

TEST_CASE("README: attention on any device", "[readme]") {
  std::vector<float> y;
  REQUIRE(using_heed::attend(&y) == heed::Status::Ok);
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
    if (device.usable) CHECK(trouble::agrees_with_cpu(device.word, g, {}, x, x.size()));
  }
  const float nan = std::nanf("");
  CHECK_FALSE(trouble::agrees_with_cpu("cpu", g, {}, {nan, nan, nan, nan, nan, 0, 0, 0, 0, 0}, x.size()));
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
  REQUIRE(language_models::speak("cpu", config, file.host_tensors(), prompt, 20, &said) == heed::Status::Ok);
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
    REQUIRE(training::fit(device.word, x, y, 300, &slope, &losses) == heed::Status::Ok);
    CHECK(std::fabs(slope - 3.0f) < 1e-3f);
    CHECK(losses.front() > 5.0f);
    CHECK(losses.back() < 1e-5f);
  }
}

TEST_CASE("README: a character answers in frames", "[readme]") {
  heed::Device cpu = heed::test::open_cpu();
  language_models::Smith smith;
  REQUIRE(language_models::load(cpu, heed::test::source_path("tests/talk/tiny.gguf"), &smith) == heed::Status::Ok);
  while (smith.talk.answering()) REQUIRE(language_models::frame(&smith) == heed::Status::Ok);  // the system message
  REQUIRE(language_models::ask(&smith, "Where can I buy a sword?") == heed::Status::Ok);
  while (smith.talk.answering()) REQUIRE(language_models::frame(&smith) == heed::Status::Ok);
  CHECK_FALSE(smith.shown.empty());
  CHECK(smith.shown == smith.talk.answer());
}

TEST_CASE("README: a village in a saved game", "[readme]") {
  heed::Device cpu = heed::test::open_cpu();
  saving::Village village;
  const std::string model = heed::test::source_path("tests/talk/tiny.gguf");
  REQUIRE(heed::TextGenerator::open(cpu, model, {.context = 256}, &village.model) == heed::Status::Ok);
  for (const char* name : {"Bram", "Marta"}) {
    heed::TextConversation one;
    REQUIRE(village.model.begin({.system = name, .most_tokens = 8}, &one) == heed::Status::Ok);
    REQUIRE(one.say("Hello!") == heed::Status::Ok);
    village.cast.push_back(std::move(one));
  }
  std::vector<std::byte> bytes;
  REQUIRE(saving::save(village, &bytes) == heed::Status::Ok);
  const auto answers = [&] {
    std::vector<std::string> all;
    for (heed::TextConversation& one : village.cast) {
      for (heed::TextPiece piece; one.answering();) REQUIRE(one.step(&piece) == heed::Status::Ok);
      all.push_back(one.answer());
    }
    return all;
  };
  const std::vector<std::string> wanted = answers();
  REQUIRE(saving::load(bytes, &village) == heed::Status::Ok);
  CHECK(answers() == wanted);
  bytes.pop_back();
  CHECK(saving::load(bytes, &village) == heed::Status::InvalidFile);
  CHECK(village.cast.size() == 2);
}

TEST_CASE("README: speech from a file and from a microphone", "[readme]") {
  const std::string model = heed::test::source_path("tests/speech/english");
  const std::vector<float> sound(16000, 0.01f);
  heed::Device cpu = heed::test::open_cpu();
  std::string words;
  REQUIRE(speech::transcribe(cpu, model, sound, &words) == heed::Status::Ok);
  heed::SpeechRecognizer recognizer;
  heed::SpeechStream ear;
  REQUIRE(heed::SpeechRecognizer::open(cpu, model, {}, &recognizer) == heed::Status::Ok);
  REQUIRE(speech::listen(recognizer, &ear) == heed::Status::Ok);
  std::string heard;
  REQUIRE(speech::hear(&ear, sound, &heard) == heed::Status::Ok);
  ear.finish();
  for (heed::SpeechPiece piece; ear.busy();) {
    REQUIRE(ear.poll(&piece) == heed::Status::Ok);
    for (const heed::SpeechSegment& segment : piece.segments) heard += segment.text;
  }
  CHECK(heard == words);
}

TEST_CASE("README: plans for lockstep, and their fingerprint", "[readme]") {
  heed::Device cpu = heed::test::open_cpu(), one = heed::test::open_cpu({.threads = 1});
  heed::Graph g;
  g.output("y", g.softmax(g.input("x", {2, 5})));
  heed::Plan plan;
  CHECK(same_bits::compile_for_lockstep(cpu, g, {}, &plan) == heed::Status::Ok);
  uint64_t number = 0, again = 1;
  REQUIRE(same_bits::fingerprint(cpu, &number) == heed::Status::Ok);
  REQUIRE(same_bits::fingerprint(one, &again) == heed::Status::Ok);
  CHECK(number == again);
}

TEST_CASE("README: the times of passes", "[readme]") {
  heed::Graph g;
  g.output("y", g.softmax(g.input("x", {2, 5})));
  const std::vector<float> x(10, 1.0f);
  std::vector<float> y(10);
  heed::Plan plan;
  heed::Device cpu = heed::test::open_cpu();
  REQUIRE(cpu.compile(g, {}, &plan, {.timestamps = true}) == heed::Status::Ok);
  REQUIRE(plan.run({{"x", x}, {"y", y}}) == heed::Status::Ok);
  CHECK(performance::print_times(plan, 1e9) == heed::Status::Ok);
}
