// Text generated through the C interface equals that of C++.
#include "c/speaker.hpp"

namespace heed::test {
namespace {

std::vector<int32_t> ids_in_c(heed_conversation* conversation, int64_t* unread = nullptr) {
  size_t count = 0;
  const heed_status asked = heed_conversation_ids(conversation, nullptr, 0, &count, unread);
  CHECK(asked == (count == 0 ? HEED_OK : HEED_BUFFER_TOO_SMALL));
  std::vector<int32_t> ids(count);
  done(heed_conversation_ids(conversation, ids.data(), ids.size(), &count, unread));
  return ids;
}

}  // namespace

TEST_CASE("C: a conversation says what C++'s says", "[c][talk]") {
  KeptDevice device = open_c("cpu");
  KeptGenerator generator = open_speaker(device);
  const TextGenerator model = tiny_speaker(open_cpu());
  for (const uint32_t seed : {1u, 2u, 3u}) {
    TextConversation plain = prompted(model, drawn(seed, 20), kAsked);
    KeptConversation conversation = begin_drawn(generator, seed, 20);
    done(heed_conversation_prompt(conversation, kAsked, 1));
    int64_t unread = 0;
    const size_t all = ids_in_c(conversation, &unread).size();
    CHECK(all > 0);
    CHECK(unread == static_cast<int64_t>(all));
    const Told wanted = tell(plain), told = tell_in_c(conversation);
    CHECK(told == wanted);
    CHECK(told.end != TextEnd::None);
    CHECK(ids_in_c(conversation) == std::vector<int32_t>(plain.ids().begin(), plain.ids().end()));

    // Forks in the middle of an answer; one of them is polled.
    REQUIRE(plain.answer_now() == Status::Ok);
    done(heed_conversation_answer_now(conversation));
    auto piece = sized<heed_text_piece>();
    for (int i = 0; i < 3 && answers(conversation); ++i) done(heed_conversation_step(conversation, &piece));
    KeptConversation twin(heed_conversation_fork, conversation);
    const Told rest = tell_in_c(conversation);
    CHECK(tell_in_c(twin, heed_conversation_poll) == rest);
    CHECK(ids_in_c(twin) == ids_in_c(conversation));
    tell(plain);
    CHECK(ids_in_c(conversation) == std::vector<int32_t>(plain.ids().begin(), plain.ids().end()));
  }
}

TEST_CASE("C: a saved conversation goes on", "[c][talk]") {
  KeptDevice device = open_c("cpu");
  KeptGenerator generator = open_speaker(device);
  KeptConversation conversation = begin_drawn(generator, 3, 20);
  done(heed_conversation_prompt(conversation, kAsked, 1));
  auto piece = sized<heed_text_piece>();
  for (int i = 0; i < 4; ++i) done(heed_conversation_step(conversation, &piece));
  auto options = sized<heed_text_save_options>();
  options.keys = 1;
  KeptBlob few(heed_conversation_save, conversation, nullptr), all(heed_conversation_save, conversation, &options);
  CHECK(heed_blob_size(few) < 4096);
  CHECK(heed_blob_size(few) < heed_blob_size(all));
  const Told rest = tell_in_c(conversation);
  KeptConversation again(heed_conversation_load, generator, heed_blob_data(all), heed_blob_size(all));
  CHECK(tell_in_c(again) == rest);
  KeptConversation read(heed_conversation_load, generator, heed_blob_data(few), heed_blob_size(few));
  CHECK(answers(read));
  heed_conversation* none = conversation;
  refused(heed_conversation_load(generator, heed_blob_data(few), heed_blob_size(few) - 1, &none), HEED_INVALID_FILE,
          "damaged");
  CHECK(none == nullptr);
  refused(heed_conversation_load(generator, nullptr, 9, &none), HEED_INVALID_ARGUMENT, "data is NULL");
  refused(heed_conversation_save(conversation, &options, nullptr), HEED_INVALID_ARGUMENT, "bytes is NULL");
}

TEST_CASE("C: messages, answers by a callback, and what ends them", "[c][talk]") {
  KeptDevice device = open_c("cpu");
  KeptGenerator generator = open_speaker(device);
  auto info = sized<heed_text_generator_info>();
  done(heed_text_generator_get_info(generator, &info));
  CHECK(info.context == 128);
  CHECK(info.conversation_bytes > 0);
  REQUIRE(info.has_chat == 1);

  TextConversationOptions greedily = greedy(12);
  greedily.system = "You are Bram.";
  TextConversation plain = asked(tiny_speaker(open_cpu()), greedily, "Hello!");
  const Told wanted = tell(plain);

  auto options = sized<heed_conversation_options>();
  options.system = "You are Bram.";
  options.sampling.temperature = 0;
  options.most_tokens = 12;
  KeptConversation conversation(heed_conversation_begin, generator, &options);
  done(heed_conversation_read_ahead(conversation));
  done(heed_conversation_say(conversation, "Hello!"));
  std::string heard;
  done(heed_conversation_answer(
      conversation,
      [](void* user, const char* text, size_t bytes) {
        static_cast<std::string*>(user)->append(text, bytes);
        return int32_t{0};
      },
      &heard));
  CHECK(heard == wanted.text());
  REQUIRE(heard != "");

  // A callback that cancels, calls the model, and destroys another conversation of the model.
  struct Caller {
    heed_conversation* own;
    KeptConversation other;
    int calls = 0;
  } caller = {conversation, {}};
  done(heed_conversation_fork(conversation, caller.other.out()));
  done(heed_conversation_say(conversation, "Again?"));
  done(heed_conversation_answer(
      conversation,
      [](void* user, const char*, size_t) {
        auto& to = *static_cast<Caller*>(user);
        ++to.calls;
        refused(heed_conversation_cancel(to.own), HEED_INVALID_ARGUMENT, "in use by another call");
        refused(heed_conversation_reset(to.other), HEED_INVALID_ARGUMENT, "in use by another call");
        heed_conversation* gone = to.other.gone();
        refused(heed_conversation_reset(gone), HEED_INVALID_ARGUMENT, "was destroyed");
        return int32_t{1};
      },
      &caller));
  CHECK(caller.calls == 1);
  KeptBlob text;
  int32_t end = 0;
  done(heed_conversation_text(conversation, text.out(), &end));
  CHECK(end == HEED_END_CANCELLED);
  CHECK_FALSE(answers(conversation));
  refused(heed_conversation_answer(conversation, nullptr, nullptr), HEED_INVALID_ARGUMENT, "answer");

  // The oldest part of the conversation is dropped, and the rest is generated as at first.
  done(heed_conversation_reset(conversation));
  done(heed_conversation_set_sampling(conversation, &options.sampling));
  done(heed_conversation_add(conversation, "user", "Hello!"));
  done(heed_conversation_answer_now(conversation));
  CHECK(tell_in_c(conversation).text() == heard);
  done(heed_conversation_cancel(conversation));

  // A stop string, and a grammar made from a schema.
  size_t first = 1;
  while (first < heard.size() && (static_cast<uint8_t>(heard[first]) & 0xc0) == 0x80) ++first;
  const std::string stop = heard.substr(0, first);
  const char* const stops[] = {stop.c_str()};
  options.stop = stops;
  options.stop_count = 1;
  KeptConversation stopped(heed_conversation_begin, generator, &options);
  done(heed_conversation_say(stopped, "Hello!"));
  const Told told = tell_in_c(stopped);
  CHECK(told.end == TextEnd::StopString);
  CHECK(told.text() == "");
  KeptBlob grammar(heed_grammar_of_json_schema, R"({"enum": ["yes", "no"]})", nullptr);
  const std::string rules = text_of(grammar);
  options.stop_count = 0;
  options.grammar = rules.c_str();
  options.most_tokens = 0;
  KeptConversation ruled(heed_conversation_begin, generator, &options);
  done(heed_conversation_say(ruled, "Hello!"));
  const std::string said = tell_in_c(ruled).text();
  CHECK((said == "\"yes\"" || said == "\"no\""));
}

TEST_CASE("C: a chat template takes the place of the file's", "[c][talk]") {
  KeptDevice device = open_c("cpu");
  auto options = sized<heed_text_generator_options>();
  options.context = 128;
  options.chat_template = "'[INST] ' + message + ' [/INST]' + answer + eos_token";
  KeptGenerator generator(heed_text_generator_open, device, kTinySpeaker.c_str(), &options);
  TextGeneratorOptions wishes;
  REQUIRE(ChatTemplate::recognize(options.chat_template, "test", stderr_log(), &wishes.chat.emplace()) == Status::Ok);
  CHECK(wishes.chat->family() == "Mistral");
  TextConversation plain = asked(tiny_speaker(open_cpu(), wishes), drawn(7, 9), "the sword");
  KeptConversation conversation = begin_drawn(generator, 7, 9);
  done(heed_conversation_say(conversation, "the sword"));
  CHECK(ids_in_c(conversation) == std::vector<int32_t>(plain.ids().begin(), plain.ids().end()));
  CHECK(tell_in_c(conversation) == tell(plain));
  heed_text_generator* none = nullptr;
  options.chat_template = "<start_of_turn>";
  refused(heed_text_generator_open(device, kTinySpeaker.c_str(), &options, &none), HEED_UNSUPPORTED, "<start_of_turn>");
  CHECK(none == nullptr);
}

TEST_CASE("C: another thread destroys conversations while one answers", "[c][talk]") {
  KeptDevice device = open_c("cpu");
  KeptGenerator generator = open_speaker(device);
  std::vector<heed_conversation*> others;
  for (uint32_t i = 0; i < 40; ++i) {
    KeptConversation one = begin_drawn(generator, i, 3);
    heed_conversation* other = nullptr;
    done(heed_conversation_fork(one, &other));
    others.push_back(other);
  }
  KeptConversation conversation = begin_drawn(generator, 5, 60);
  done(heed_conversation_prompt(conversation, kAsked, 1));
  std::vector<heed_status> statuses(others.size(), HEED_NOT_READY);
  std::thread collector([&] {
    for (size_t i = 0; i < others.size(); ++i) {
      statuses[i] = heed_conversation_destroy(others[i]);
      std::this_thread::yield();
    }
  });
  const Told told = tell_in_c(conversation);  // no call fails
  collector.join();
  CHECK(told.tokens.size() > 1);
  for (const heed_status status : statuses) CHECK(status == HEED_OK);
  for (heed_conversation* other : others)
    refused(heed_conversation_reset(other), HEED_INVALID_ARGUMENT, "was destroyed");
}

TEST_CASE("C: a model's parts, losses and attention are C++'s", "[c][talk]") {
  KeptDevice device = open_c("cpu");
  KeptGenerator generator = open_speaker(device);
  TextGenerator model = tiny_speaker(open_cpu());

  KeptTokenizer tokenizer(heed_text_generator_tokenizer, generator);
  KeptTokenizer from_file(heed_tokenizer_open, kTinySpeaker.c_str(), nullptr);
  CHECK(heed_tokenizer_size(tokenizer) == model.tokenizer().size());
  std::vector<int32_t> wanted, ids(64);
  const std::string_view with_zero("the \0 dragon", 12);
  size_t count = 0;
  for (const std::string_view text : {std::string_view(kAsked), with_zero}) {
    REQUIRE(model.tokenizer().encode(text, {}, &wanted) == Status::Ok);
    for (heed_tokenizer* one : {static_cast<heed_tokenizer*>(tokenizer), static_cast<heed_tokenizer*>(from_file)}) {
      ids.resize(64);
      done(heed_tokenizer_encode(one, text.data(), text.size(), 0, 0, ids.data(), ids.size(), &count));
      ids.resize(count);
      CHECK(ids == wanted);
      KeptBlob back(heed_tokenizer_decode, one, ids.data(), ids.size(), 0);
      CHECK(text_of(back) == text);
    }
  }
  ids.resize(64);
  done(heed_tokenizer_encode(tokenizer, kAsked, SIZE_MAX, 1, 1, ids.data(), ids.size(), &count));
  ids.resize(count);
  REQUIRE(model.tokenizer().encode(kAsked, {.read_special = true, .add_special = true}, &wanted) == Status::Ok);
  CHECK(ids == wanted);
  const char* token = nullptr;
  int32_t id = -1;
  done(heed_tokenizer_token(tokenizer, ids[0], &token));
  CHECK(model.tokenizer().token(ids[0]) == token);
  done(heed_tokenizer_id(tokenizer, token, &id));
  CHECK(id == ids[0]);

  double mean = 0, plain_mean = 0;
  size_t plain_count = 0;
  done(heed_text_generator_loss(generator, ids.data(), ids.size(), &mean, &count));
  REQUIRE(model.loss(ids, &plain_mean, &plain_count) == Status::Ok);
  CHECK(mean == plain_mean);
  CHECK(count == plain_count);
  KeptMap map;
  TokenAttention attention;
  done(heed_text_generator_attention(generator, ids.data(), ids.size(), map.out()));
  REQUIRE(model.attention(ids, &attention) == Status::Ok);
  auto info = sized<heed_attention_map_info>();
  done(heed_attention_map_get_info(map, &info));
  CHECK(info.queries == 1);
  CHECK(info.tokens == static_cast<int64_t>(ids.size()));
  CHECK(info.token_texts == nullptr);
  CHECK(std::vector<float>(info.weights, info.weights + info.weight_count) == attention.weights);

  auto config = sized<heed_decoder_config>();
  done(heed_text_generator_config(generator, &config));
  CHECK(config.width == model.config().width);
  KeptPlan plan(heed_text_generator_plan, generator);
  KeptWeights weights(heed_text_generator_weights, generator);
  CHECK(heed_plan_pass_count(plan) == model.plan().passes().size());
  uint64_t bytes = 0;
  done(heed_weights_bytes(weights, &bytes));
  CHECK(bytes == model.weights().bytes());

  // Objects made from the model outlive its handles.
  KeptConversation conversation = begin_drawn(generator, 1, 5);
  (void)generator.gone();
  (void)device.gone();
  done(heed_conversation_prompt_ids(conversation, ids.data(), ids.size()));
  CHECK(tell_in_c(conversation).read >= static_cast<int64_t>(ids.size()));
  KeptState state;
  int64_t row = -1;
  done(heed_conversation_state(conversation, state.out(), &row));
  CHECK(row == 0);
  done(heed_state_bytes(state, &bytes));
  CHECK(bytes > 0);
}

}  // namespace heed::test
