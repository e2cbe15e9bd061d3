// Steps of a speech recognizer, recorded by the host into its frames.
#include <algorithm>
#include <functional>
#include <heed/speech_frames.hpp>
#include <limits>

#include "speech/support.hpp"
#include "vulkan/host_vulkan.hpp"

namespace heed::test {
namespace {

constexpr double kWhole = std::numeric_limits<double>::infinity();

// A game, with its frames and the memory for its steps.
class Game {
 public:
  Game(HostVulkan& host, const SpeechRecognizer& model)
      : model_(model), host_(host), memory_(host.allocate(vulkan::speech_memory_bytes(model))) {}
  ~Game() { host_.free(memory_); }

  vulkan::SpeechMemory memory() const {
    return {{memory_.buffer, 0, vulkan::speech_memory_bytes(model_)}, memory_.mapped};
  }

  Status frame(double budget, const vulkan::SpeechMemory& memory, vulkan::SpeechPart* part) {
    return host_.frame(model_.decoder(), [&](VkCommandBuffer commands) {
      return vulkan::record_step(model_, commands, memory, budget, part);
    });
  }

  // Runs until all streams have ended. Returns the number of frames.
  size_t play(std::span<SpeechStream> all, std::vector<std::vector<std::vector<int32_t>>>* ids, double budget) {
    for (size_t frames = 0;; ++frames) {
      vulkan::SpeechPart part;
      REQUIRE(frame(budget, memory(), &part) == Status::Ok);
      if (!part.recorded && std::none_of(all.begin(), all.end(), std::mem_fn(&SpeechStream::busy))) return frames;
      REQUIRE(frames < 100'000);
      if (part.complete) REQUIRE(vulkan::finish_step(model_) == Status::Ok);
      for (size_t i = 0; i < all.size(); ++i) {
        SpeechPiece piece;
        REQUIRE(all[i].poll(&piece) == Status::Ok);
        for (const SpeechSegment& segment : piece.segments) {
          (*ids)[i].push_back(segment.ids);
          words.insert(words.end(), segment.words.begin(), segment.words.end());
        }
      }
    }
  }

  std::vector<SpeechWord> words;  // results of all streams that ended

 private:
  SpeechRecognizer model_;
  HostVulkan& host_;
  HostVulkan::Memory memory_;
};

}  // namespace

TEST_CASE("steps of a speech recognizer are measured if it was asked for", "[vulkan][speech]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const TinyWhisper tiny("english");
  const Device device = host->adopt();
  for (const bool measures : {false, true}) {
    const SpeechRecognizer model = opened_recognizer(device, tiny.path, {.timestamps = measures});
    Game game(*host, model);
    SpeechStream stream;
    REQUIRE(model.begin(without_doubts(false), &stream) == Status::Ok);
    REQUIRE(stream.push(tiny.sound) == Status::Ok);
    stream.finish();
    std::vector<std::vector<std::vector<int32_t>>> ids(1);
    game.play({&stream, 1}, &ids, 0.05);
    CHECK(ids[0] == tiny.lists("plain"));
    vulkan::Estimate window;
    REQUIRE(vulkan::estimate(model.encoder(), {}, {}, &window) == Status::Ok);
    CHECK(window.measured == (measures ? 1.0 : 0.0));
  }
}

TEST_CASE("speech is heard by steps that a host records into its frames", "[vulkan][speech]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const TinyWhisper tiny("english");
  Messages messages;
  const SpeechRecognizer model = opened_recognizer(host->adopt(), tiny.path, {.log = messages.log()});
  Game game(*host, model);
  vulkan::SpeechPart part;
  REQUIRE(game.frame(kWhole, game.memory(), &part) == Status::Ok);
  CHECK_FALSE(part.recorded);  // no stream is active
  size_t whole = 0;
  for (const double budget : {kWhole, 0.0}) {
    SpeechStream streams[2];
    std::vector<std::vector<std::vector<int32_t>>> ids(2);
    for (SpeechStream& stream : streams) {
      REQUIRE(model.begin(without_doubts(&stream == &streams[1]), &stream) == Status::Ok);
      REQUIRE(stream.push(std::span(tiny.sound).first(budget == kWhole ? tiny.sound.size() : 3000)) == Status::Ok);
      stream.finish();
    }
    const size_t frames = game.play(streams, &ids, budget);
    if (budget == kWhole) {
      CHECK(ids[0] == tiny.lists("plain"));
      CHECK(ids[1] == tiny.lists("times"));
      whole = frames;
    } else {
      CHECK(ids[0].size() == 1);
      CHECK(frames > whole);
    }
    CHECK(host->take_validation() == "");
  }

  SpeechPiece piece;
  SpeechStream stream;
  REQUIRE(model.begin(without_doubts(true), &stream) == Status::Ok);
  REQUIRE(stream.push(tiny.sound) == Status::Ok);
  messages.refused(stream.step(&piece), Status::InvalidArgument, "host records steps");
  messages.refused(vulkan::finish_step(model), Status::InvalidArgument, "no complete step");
  vulkan::SpeechMemory small = game.memory();
  small.range.bytes -= 4;
  messages.refused(game.frame(kWhole, small, &part), Status::BufferTooSmall, "are needed");
  messages.refused(game.frame(kWhole, {}, &part), Status::InvalidArgument, "no memory");
  // A cancelled stream leaves its step, which continues. Another stream begins after the step.
  REQUIRE(game.frame(0.0, game.memory(), &part) == Status::Ok);
  CHECK((part.recorded && !part.complete));
  stream.cancel();
  stream = {};
  SpeechStream other;
  REQUIRE(model.begin(without_doubts(true), &other) == Status::Ok);
  REQUIRE(other.push(tiny.sound) == Status::Ok);
  other.finish();
  REQUIRE(game.frame(kWhole, game.memory(), &part) == Status::Ok);
  CHECK(part.complete);
  messages.refused(game.frame(kWhole, game.memory(), &part), Status::InvalidArgument, "finish_step comes first");
  REQUIRE(vulkan::finish_step(model) == Status::Ok);
  std::vector<std::vector<std::vector<int32_t>>> ids(1);
  game.play({&other, 1}, &ids, kWhole);
  CHECK(ids[0] == tiny.lists("times"));
  CHECK(game.words.empty());
  // The words equal the CPU's.
  SpeechOptions options = without_doubts(true);
  options.words = true;
  SpeechText want;
  REQUIRE(opened_recognizer(open_cpu(), tiny.path).recognize(tiny.sound, options, &want) == Status::Ok);
  REQUIRE(model.begin(options, &other) == Status::Ok);
  REQUIRE(other.push(tiny.sound) == Status::Ok);
  other.finish();
  Game wordy(*host, model);  // words may need more memory
  ids = {{}};
  wordy.play({&other, 1}, &ids, 0.0);
  size_t word = 0;
  for (const SpeechSegment& segment : want.segments)
    for (const SpeechWord& expected : segment.words) {
      REQUIRE(word < wordy.words.size());
      CHECK(wordy.words[word].text == expected.text);
      CHECK(std::fabs(wordy.words[word++].begin - expected.begin) < 0.021);
    }
  CHECK(word == wordy.words.size());
  CHECK(word >= want.segments.size());
  CHECK(host->take_validation() == "");
}

}  // namespace heed::test
