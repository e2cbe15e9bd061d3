// The attention of a text's last token.
#include "models/support.hpp"
#include "talk/support.hpp"

namespace heed::test {

TEST_CASE("the weights of a token's attention sum to 1, and are those of the plain decoder", "[talk]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    const DecoderModel plain = opened_model(kTinySpeaker);
    TextGenerator model = tiny_speaker(on.device, {.read = 7});  // several runs
    std::vector<int32_t> ids;
    REQUIRE(model.tokenizer().encode("The dragon sleeps in the north", {}, &ids) == Status::Ok);
    REQUIRE(ids.size() > 14);
    TokenAttention seen;
    REQUIRE(model.attention(ids, &seen) == Status::Ok);
    REQUIRE(seen.layers == 2);
    REQUIRE(seen.heads == 4);
    REQUIRE(seen.tokens == static_cast<int64_t>(ids.size()));

    // The same in one run, without a cache.
    Graph g;
    const DecoderResult y =
        plain.build(g, g.input("ids", {1, static_cast<int64_t>(ids.size())}, DType::I32), {.attention = true});
    REQUIRE(y.attention.size() == 2);
    for (size_t i = 0; i < 2; ++i) g.output("layer." + std::to_string(i), y.attention[i]);
    Device device = on.device;
    Weights weights;
    REQUIRE(plain.upload(device, {}, &weights) == Status::Ok);
    std::vector<float> all[2];
    for (auto& one : all) one.resize(4 * ids.size() * ids.size());
    REQUIRE(compiled(device, g, weights).run({{"ids", ids}, {"layer.0", all[0]}, {"layer.1", all[1]}}) == Status::Ok);

    for (int64_t layer = 0; layer < 2; ++layer)
      for (int64_t head = 0; head < 4; ++head) {
        double sum = 0;
        for (size_t i = 0; i < ids.size(); ++i) {
          const float weight = seen.of(layer, head)[i];
          const size_t row = (static_cast<size_t>(head) + 1) * ids.size() - 1;
          CHECK(weight >= 0);
          CHECK(std::fabs(weight - all[layer][row * ids.size() + i]) <= 2e-4f);
          sum += static_cast<double>(weight);
        }
        CHECK(std::fabs(sum - 1) < 1e-5);
      }

    // A single token attends only to itself.
    REQUIRE(model.attention(std::span(ids).first(1), &seen) == Status::Ok);
    CHECK(std::ranges::all_of(seen.weights, [](float weight) { return weight == 1.0f; }));
  }
}

TEST_CASE("the attention of what is no text is a Status", "[talk]") {
  Messages messages;
  TextGenerator model = tiny_speaker(open_cpu(), {.context = 16, .log = messages.log()});
  TokenAttention seen;
  CHECK(model.attention({}, &seen) == Status::InvalidArgument);
  CHECK(model.attention(std::vector<int32_t>{5, 271}, &seen) == Status::InvalidArgument);
  CHECK(messages.mention("271"));
  CHECK(model.attention(std::vector<int32_t>(17, 5), &seen) == Status::ExtentOutOfRange);
  CHECK(messages.mention("room for 16"));
  CHECK(model.attention(std::vector<int32_t>{5}, nullptr) == Status::InvalidArgument);
  CHECK(seen.weights.empty());
}

// The plans are compiled at their first use.
TEST_CASE("attention, loss and grammars need no file again", "[talk]") {
  const ScratchFolder folder;
  const std::string path = (folder / "tiny.gguf").string();
  std::filesystem::copy(kTinySpeaker, path);
  Device cpu = open_cpu();
  TextGenerator model;
  REQUIRE(TextGenerator::open(cpu, path, {.context = 64, .log = stderr_log()}, &model) == Status::Ok);
  std::filesystem::remove(path);
  const std::vector<int32_t> ids = {5, 9, 3, 7};
  TokenAttention seen;
  double mean = 0;
  CHECK(model.attention(ids, &seen) == Status::Ok);
  CHECK(model.loss(ids, &mean) == Status::Ok);
  CHECK(mean > 0);
  TextConversationOptions options = greedy(8);
  options.grammar = R"(root ::= "yes" | "no")";
  TextConversation conversation = prompted(model, options, "The sword");
  const std::string said = tell(conversation).text();
  CHECK((said == "yes" || said == "no"));
}

}  // namespace heed::test
