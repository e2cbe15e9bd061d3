// Steps of a language model, recorded by the host into its frames.
#include <heed/text_frames.hpp>
#include <limits>
#include <optional>

#include "talk/support.hpp"
#include "vulkan/host_vulkan.hpp"

namespace heed::test {
namespace {

constexpr const char* kSaid = "The dragon sleeps in the north, they say.";
constexpr double kWhole = std::numeric_limits<double>::infinity();

// A game, with its frames and the memory for its steps.
class Game {
 public:
  Game(HostVulkan& host, const TextGenerator& model)
      : model_(model), host_(host), memory_(host.allocate(vulkan::text_memory_bytes(model))) {}
  ~Game() { host_.free(memory_); }

  vulkan::TextMemory memory() const { return {{memory_.buffer, 0, vulkan::text_memory_bytes(model_)}, memory_.mapped}; }

  // Records a part into a frame and waits for it. A game's fence would do so some frames later.
  Status frame(double budget, vulkan::TextPart* part) {
    return host_.frame(model_.plan(), [&](VkCommandBuffer commands) {
      return vulkan::record_step(model_, commands, memory(), budget, part);
    });
  }

  // Runs until all answers have ended. Returns the number of frames.
  size_t play(std::vector<TextConversation>& all, std::vector<Told>* told, double budget) {
    size_t frames = 0;
    for (;; ++frames) {
      vulkan::TextPart part;
      REQUIRE(frame(budget, &part) == Status::Ok);
      if (!part.recorded) return frames;
      REQUIRE(frames < 100'000);
      if (!part.complete) continue;
      REQUIRE(vulkan::finish_step(model_) == Status::Ok);
      fetch(all, told);
    }
  }

  void fetch(std::vector<TextConversation>& all, std::vector<Told>* told) {
    for (size_t i = 0; i < all.size(); ++i) {
      TextPiece piece;
      if (!all[i].answering()) continue;
      REQUIRE(all[i].poll(&piece) == Status::Ok);
      add(piece, &(*told)[i]);
    }
  }

 private:
  TextGenerator model_;
  HostVulkan& host_;
  HostVulkan::Memory memory_;
};

std::string prompt_for(size_t i) { return std::string(kSaid) + std::string(3 * i, '!'); }

}  // namespace

TEST_CASE("steps that a host records into its frames give what steps give that heed submits", "[vulkan][talk]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Device device = host->adopt();
  constexpr size_t kCount = 4;
  std::vector<Told> alone;
  const TextGenerator one = tiny_speaker(device, {.read = 16});
  for (uint32_t i = 0; i < kCount; ++i) {
    TextConversation conversation = prompted(one, drawn(i, 10), prompt_for(i));
    alone.push_back(tell(conversation));
  }
  for (const int64_t together : {1, 3})
    for (const double budget : {kWhole, 0.0}) {
      INFO(together << " together, " << budget << " ms");
      const TextGenerator model = tiny_speaker(device, {.read = 16, .together = together});
      Game game(*host, model);
      std::vector<TextConversation> all;
      for (uint32_t i = 0; i < kCount; ++i) {
        all.push_back(begun(model, drawn(i, 10)));
        REQUIRE(all[i].prompt(prompt_for(i)) == Status::Ok);
      }
      std::vector<Told> told(kCount);
      const size_t frames = game.play(all, &told, budget);
      CHECK(told == alone);
      size_t steps = 0;
      for (const Told& each : alone) steps += each.pieces.size();
      if (budget == kWhole) {
        if (together == 1) CHECK(frames == steps);
        if (together == 3) CHECK(frames < steps);
      } else {
        CHECK(frames > steps);
      }
      CHECK(host->take_validation() == "");
    }
}

TEST_CASE("what comes between the parts of a recorded step", "[vulkan][talk]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Device device = host->adopt();
  Messages messages;
  const TextGenerator model = tiny_speaker(device, {.together = 4, .log = messages.log()});
  Game game(*host, model);
  const auto refused = [&](Status got, Status wanted, const char* text) {
    CHECK(got == wanted);
    INFO(messages.text);
    CHECK(messages.mention(text));
    messages.take();
  };
  std::vector<TextConversation> all;
  std::vector<Told> told(4);
  vulkan::TextPart part;
  TextPiece piece;
  CHECK(game.frame(kWhole, &part) == Status::Ok);  // no conversation is answering
  CHECK_FALSE(part.recorded);
  refused(vulkan::finish_step(model), Status::InvalidArgument, "no complete step");
  for (uint32_t i = 0; i < 4; ++i) {
    all.push_back(begun(model, drawn(i, 30)));
    REQUIRE(all[i].prompt(kSaid) == Status::Ok);
  }
  const VkCommandBuffer commands = host->begin();
  vulkan::TextMemory small = game.memory();
  --small.range.bytes;
  refused(vulkan::record_step(model, commands, small, 1, &part), Status::BufferTooSmall, "are needed");
  refused(vulkan::record_step(model, commands, {}, 1, &part), Status::InvalidArgument, "no memory");
  CHECK(vulkan::record_step(model, commands, game.memory(), 1, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::record_step({}, commands, game.memory(), 1, &part) == Status::InvalidArgument);
  CHECK(vulkan::finish_step({}) == Status::InvalidArgument);
  CHECK(vulkan::text_memory_bytes({}) == 0);
  host->end(commands);

  // All prompts are read, and a step of all four begins.
  while (std::ranges::any_of(told, [](const Told& each) { return each.tokens.empty(); })) {
    REQUIRE(game.frame(kWhole, &part) == Status::Ok);
    REQUIRE(part.complete);
    REQUIRE(vulkan::finish_step(model) == Status::Ok);
    game.fetch(all, &told);
  }
  REQUIRE(game.frame(0, &part) == Status::Ok);
  CHECK(part.recorded);
  CHECK_FALSE(part.complete);
  refused(vulkan::finish_step(model), Status::InvalidArgument, "no complete step");
  refused(all[0].step(&piece), Status::InvalidArgument, "recorded into frames");
  TextConversation twin;
  refused(all[0].fork(&twin), Status::InvalidArgument, "finish_step");
  const TextConversation* const saved = all.data();
  std::vector<std::byte> bytes;
  refused(TextConversation::save_all({&saved, 1}, {.keys = true}, &bytes), Status::InvalidArgument, "finish_step");
  CHECK(TextConversation::save_all({&saved, 1}, {}, &bytes) == Status::Ok);
  REQUIRE(all[0].poll(&piece) == Status::Ok);  // the conversation has no result, and begins nothing
  CHECK_FALSE(piece.done);
  all[1].cancel();
  CHECK(all[1].end() == TextEnd::Cancelled);
  all[2] = TextConversation();
  do {
    REQUIRE(game.frame(0, &part) == Status::Ok);
  } while (!part.complete);
  const VkCommandBuffer more = host->begin();
  refused(vulkan::record_step(model, more, game.memory(), 1, &part), Status::InvalidArgument, "finish_step");
  host->end(more);
  REQUIRE(vulkan::finish_step(model) == Status::Ok);
  REQUIRE(all[0].fork(&twin) == Status::Ok);
  all.push_back(std::move(twin));
  told.push_back(told[0]);
  REQUIRE(all[1].answer_now() == Status::Ok);
  game.play(all, &told, kWhole);
  CHECK(told[4] == told[0]);

  // Conversations 0 and 3 give the same text as alone. So does 1, apart from the lost sample.
  const TextGenerator one = tiny_speaker(device);
  for (const uint32_t i : {0, 3}) {
    TextConversation conversation = prompted(one, drawn(i, 30), kSaid);
    CHECK(tell(conversation) == told[i]);
  }
}

}  // namespace heed::test
