// Text through the C interface says what it says in C++.
#include <cstring>

#include "c/kept.hpp"
#include "search/support.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

constexpr const char* kAsked = "The dragon sleeps in the north, they say.";

void open_speaker(heed_device* device, KeptGenerator* generator) {
  auto options = sized<heed_text_generator_options>();
  options.context = 128;
  done(heed_text_generator_open(device, kTinySpeaker, &options, generator->out()));
}

heed_text_sampling drawn_in_c(uint32_t seed) {
  auto sampling = sized<heed_text_sampling>();
  sampling.temperature = 1;
  sampling.top_k = -1;
  sampling.top_p = 1;
  sampling.min_p = -1;
  sampling.seed = seed;
  return sampling;
}

void begin_drawn(heed_text_generator* generator, uint32_t seed, int64_t most, KeptConversation* conversation) {
  const heed_text_sampling sampling = drawn_in_c(seed);
  auto options = sized<heed_conversation_options>();
  options.sampling = &sampling;
  options.most_tokens = most;
  done(heed_conversation_begin(generator, &options, conversation->out()));
}

bool answers(heed_conversation* conversation) {
  int32_t answering = 0;
  done(heed_conversation_answering(conversation, &answering));
  return answering != 0;
}

Told tell_in_c(heed_conversation* conversation,
               heed_status (*next)(heed_conversation*, heed_text_piece*) = heed_conversation_step) {
  Told told;
  while (answers(conversation)) {
    auto piece = sized<heed_text_piece>();
    done(next(conversation, &piece));
    if (piece.done == 0) continue;
    CHECK(std::strlen(piece.text) <= piece.text_bytes);
    told.pieces.emplace_back(piece.text, piece.text_bytes);
    if (piece.token >= 0) told.tokens.push_back(piece.token);
    told.read += piece.read;
    told.end = static_cast<TextEnd>(piece.end);
  }
  KeptBlob text;
  int32_t end = -1;
  done(heed_conversation_text(conversation, text.out(), &end));
  CHECK(text_of(text).ends_with(told.text()));  // some of it may have been told before
  CHECK(end == static_cast<int32_t>(told.end));
  return told;
}

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
  KeptDevice device;
  open_c("cpu", &device);
  KeptGenerator generator;
  open_speaker(device, &generator);
  const TextGenerator model = tiny_speaker(open_cpu());
  for (const uint32_t seed : {1u, 2u, 3u}) {
    TextConversation plain = begun(model, drawn(seed, 20));
    REQUIRE(plain.prompt(kAsked) == Status::Ok);
    KeptConversation conversation;
    begin_drawn(generator, seed, 20, &conversation);
    done(heed_conversation_prompt(conversation, kAsked, 0));
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
    KeptConversation twin;
    done(heed_conversation_fork(conversation, twin.out()));
    const Told rest = tell_in_c(conversation);
    CHECK(tell_in_c(twin, heed_conversation_poll) == rest);
    CHECK(ids_in_c(twin) == ids_in_c(conversation));
    tell(plain);
    CHECK(ids_in_c(conversation) == std::vector<int32_t>(plain.ids().begin(), plain.ids().end()));
  }
}

TEST_CASE("C: messages, answers by a callback, and what ends them", "[c][talk]") {
  KeptDevice device;
  open_c("cpu", &device);
  KeptGenerator generator;
  open_speaker(device, &generator);
  auto info = sized<heed_text_generator_info>();
  done(heed_text_generator_get_info(generator, &info));
  CHECK(info.context == 128);
  CHECK(info.conversation_bytes > 0);
  REQUIRE(info.has_chat == 1);

  TextConversationOptions greedily = greedy(12);
  greedily.system = "You are Bram.";
  TextConversation plain = begun(tiny_speaker(open_cpu()), greedily);
  REQUIRE(plain.say("Hello!") == Status::Ok);
  const Told wanted = tell(plain);

  auto sampling = sized<heed_text_sampling>();
  sampling.greedy = 1;
  auto options = sized<heed_conversation_options>();
  options.system = "You are Bram.";
  options.sampling = &sampling;
  options.most_tokens = 12;
  KeptConversation conversation;
  done(heed_conversation_begin(generator, &options, conversation.out()));
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

  // A callback that stops, calls the model, and destroys another of its conversations.
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

  // The oldest part of the conversation is forgotten, and the rest is drawn as in the beginning.
  done(heed_conversation_reset(conversation));
  done(heed_conversation_set_sampling(conversation, &sampling));
  done(heed_conversation_add(conversation, "user", "Hello!"));
  done(heed_conversation_answer_now(conversation));
  CHECK(tell_in_c(conversation).text() == heard);
  done(heed_conversation_cancel(conversation));

  // A text that ends answers, and a grammar made of a schema.
  size_t first = 1;
  while (first < heard.size() && (static_cast<uint8_t>(heard[first]) & 0xc0) == 0x80) ++first;
  const std::string stop = heard.substr(0, first);
  const char* const stops[] = {stop.c_str()};
  options.stop = stops;
  options.stop_count = 1;
  KeptConversation stopped;
  done(heed_conversation_begin(generator, &options, stopped.out()));
  done(heed_conversation_say(stopped, "Hello!"));
  const Told told = tell_in_c(stopped);
  CHECK(told.end == TextEnd::StopString);
  CHECK(told.text() == "");
  KeptBlob grammar;
  done(heed_grammar_of_json_schema(R"({"enum": ["yes", "no"]})", nullptr, grammar.out()));
  const std::string rules = text_of(grammar);
  options.stop_count = 0;
  options.grammar = rules.c_str();
  options.most_tokens = 0;
  KeptConversation ruled;
  done(heed_conversation_begin(generator, &options, ruled.out()));
  done(heed_conversation_say(ruled, "Hello!"));
  const std::string said = tell_in_c(ruled).text();
  CHECK((said == "\"yes\"" || said == "\"no\""));
}

TEST_CASE("C: another thread destroys conversations while one answers", "[c][talk]") {
  KeptDevice device;
  open_c("cpu", &device);
  KeptGenerator generator;
  open_speaker(device, &generator);
  std::vector<heed_conversation*> others;
  for (uint32_t i = 0; i < 40; ++i) {
    KeptConversation one;
    begin_drawn(generator, i, 3, &one);
    heed_conversation* other = nullptr;
    done(heed_conversation_fork(one, &other));
    others.push_back(other);
  }
  KeptConversation conversation;
  begin_drawn(generator, 5, 60, &conversation);
  done(heed_conversation_prompt(conversation, kAsked, 0));
  std::vector<heed_status> statuses(others.size(), HEED_NOT_READY);
  std::thread collector([&] {
    for (size_t i = 0; i < others.size(); ++i) {
      statuses[i] = heed_conversation_destroy(others[i]);
      std::this_thread::yield();
    }
  });
  const Told told = tell_in_c(conversation);  // no call is refused
  collector.join();
  CHECK(told.tokens.size() > 1);
  for (const heed_status status : statuses) CHECK(status == HEED_OK);
  for (heed_conversation* other : others)
    refused(heed_conversation_reset(other), HEED_INVALID_ARGUMENT, "was destroyed");
}

TEST_CASE("C: a model's parts, losses and attention are C++'s", "[c][talk]") {
  KeptDevice device;
  open_c("cpu", &device);
  KeptGenerator generator;
  open_speaker(device, &generator);
  TextGenerator model = tiny_speaker(open_cpu());

  KeptTokenizer tokenizer, from_file;
  done(heed_text_generator_tokenizer(generator, tokenizer.out()));
  done(heed_tokenizer_open(kTinySpeaker, nullptr, from_file.out()));
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
      KeptBlob back;
      done(heed_tokenizer_decode(one, ids.data(), ids.size(), 0, back.out()));
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
  KeptPlan plan;
  KeptWeights weights;
  done(heed_text_generator_plan(generator, plan.out()));
  done(heed_text_generator_weights(generator, weights.out()));
  CHECK(heed_plan_pass_count(plan) == model.plan().passes().size());
  uint64_t bytes = 0;
  done(heed_weights_bytes(weights, &bytes));
  CHECK(bytes == model.weights().bytes());

  // What was made of the model stays when its handles go.
  KeptConversation conversation;
  begin_drawn(generator, 1, 5, &conversation);
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

TEST_CASE("C: sentence vectors are C++'s", "[c][search]") {
  KeptDevice device;
  open_c("cpu", &device);
  auto options = sized<heed_text_encoder_options>();
  options.max_batch = 2;
  options.max_tokens = 9;
  KeptEncoder encoder;
  done(heed_text_encoder_open(device, tiny_folder().c_str(), &options, encoder.out()));
  TextEncoder plain = opened(open_cpu(), tiny_folder(), {.max_batch = 2, .max_tokens = 9});
  auto info = sized<heed_text_encoder_info>();
  done(heed_text_encoder_get_info(encoder, &info));
  CHECK(info.width == plain.width());
  CHECK(info.max_tokens == 9);
  CHECK(info.fingerprint == plain.fingerprint());

  const char* texts[] = {"the sword", "", "where can I buy a very long sword in this town, smith?"};
  const std::string_view views[] = {texts[0], texts[1], texts[2]};
  const size_t floats = 3 * static_cast<size_t>(info.width);
  std::vector<float> vectors(floats), wanted(floats);
  size_t truncated = 0, done_texts = 0;
  auto asked = sized<heed_encode_options>();
  asked.truncated = &truncated;
  asked.done = &done_texts;
  done(heed_text_encoder_encode(encoder, texts, 3, vectors.data(), vectors.size(), &asked));
  REQUIRE(plain.encode(views, wanted) == Status::Ok);
  CHECK(vectors == wanted);
  CHECK(truncated == 1);
  CHECK(done_texts == 3);
  size_t told = 0;
  asked.progress = [](void* user, size_t, size_t) {
    ++*static_cast<size_t*>(user);
    return int32_t{1};
  };
  asked.progress_user = &told;
  done(heed_text_encoder_encode(encoder, texts, 3, vectors.data(), vectors.size(), &asked));
  CHECK(told == 1);
  CHECK(done_texts < 3);
  refused(heed_text_encoder_encode(encoder, texts, 3, vectors.data(), floats - 1, nullptr), HEED_INVALID_ARGUMENT, "");
  texts[1] = nullptr;
  refused(heed_text_encoder_encode(encoder, texts, 3, vectors.data(), floats, nullptr), HEED_INVALID_ARGUMENT,
          "a text is NULL");

  int32_t ids[9];
  size_t count = 0;
  std::vector<int32_t> plain_ids;
  done(heed_text_encoder_tokens(encoder, texts[0], ids, 9, &count));
  CHECK(plain.tokenizer().encode(texts[0], 9, &plain_ids));
  CHECK(std::vector<int32_t>(ids, ids + count) == plain_ids);
  KeptMap map;
  done(heed_text_encoder_attention(encoder, texts[0], map.out()));
  TextAttention attention;
  REQUIRE(plain.attention(texts[0], &attention) == Status::Ok);
  auto seen = sized<heed_attention_map_info>();
  done(heed_attention_map_get_info(map, &seen));
  CHECK(seen.layers == attention.layers);
  CHECK(seen.heads == attention.heads);
  CHECK(seen.queries == seen.tokens);
  REQUIRE(seen.tokens == static_cast<int64_t>(attention.tokens.size()));
  for (size_t i = 0; i < attention.tokens.size(); ++i) CHECK(seen.token_texts[i] == attention.tokens[i]);
  CHECK(std::vector<float>(seen.weights, seen.weights + seen.weight_count) == attention.weights);
  KeptPlan plan;
  KeptWeights weights;
  done(heed_text_encoder_plan(encoder, plan.out()));
  done(heed_text_encoder_weights(encoder, weights.out()));
  CHECK(heed_plan_pass_count(plan) == plain.plan().passes().size());
}

TEST_CASE("C: text functions refuse what makes no sense", "[c][hostile]") {
  KeptDevice device;
  open_c("cpu", &device);
  KeptGenerator generator;
  open_speaker(device, &generator);
  KeptConversation conversation;
  begin_drawn(generator, 0, 3, &conversation);
  KeptTokenizer tokenizer;
  done(heed_text_generator_tokenizer(generator, tokenizer.out()));

  {
    KeptTokenizer of;
    done(heed_text_generator_tokenizer(generator, of.out()));
    check_handles<heed_tokenizer>(
        of.gone(), reinterpret_cast<heed_tokenizer*>(static_cast<heed_device*>(device)),
        {[](heed_tokenizer* t) { return heed_tokenizer_id(t, "a", nullptr); },
         [](heed_tokenizer* t) { return heed_tokenizer_token(t, 0, nullptr); },
         [](heed_tokenizer* t) { return heed_tokenizer_encode(t, "a", 1, 0, 0, nullptr, 0, nullptr); },
         [](heed_tokenizer* t) { return heed_tokenizer_decode(t, nullptr, 0, 0, nullptr); }});
    CHECK(heed_tokenizer_size(nullptr) == 0);
  }
  {
    KeptConversation other;
    begin_drawn(generator, 0, 3, &other);
    check_handles<heed_conversation>(
        other.gone(), reinterpret_cast<heed_conversation*>(static_cast<heed_device*>(device)),
        {[](heed_conversation* c) { return heed_conversation_say(c, "a"); },
         [](heed_conversation* c) { return heed_conversation_add(c, "user", "a"); },
         [](heed_conversation* c) { return heed_conversation_prompt(c, "a", 0); },
         [](heed_conversation* c) { return heed_conversation_prompt_ids(c, nullptr, 0); },
         [](heed_conversation* c) { return heed_conversation_answer_now(c); },
         [](heed_conversation* c) { return heed_conversation_read_ahead(c); },
         [](heed_conversation* c) { return heed_conversation_step(c, nullptr); },
         [](heed_conversation* c) { return heed_conversation_poll(c, nullptr); },
         [](heed_conversation* c) { return heed_conversation_answer(c, nullptr, nullptr); },
         [](heed_conversation* c) { return heed_conversation_cancel(c); },
         [](heed_conversation* c) { return heed_conversation_answering(c, nullptr); },
         [](heed_conversation* c) { return heed_conversation_text(c, nullptr, nullptr); },
         [](heed_conversation* c) { return heed_conversation_reset(c); },
         [](heed_conversation* c) { return heed_conversation_set_sampling(c, nullptr); },
         [](heed_conversation* c) { return heed_conversation_ids(c, nullptr, 0, nullptr, nullptr); },
         [](heed_conversation* c) { return heed_conversation_state(c, nullptr, nullptr); }});
    heed_conversation* fork = nullptr;
    refused(heed_conversation_fork(nullptr, &fork), HEED_INVALID_ARGUMENT, "is NULL");
    CHECK(fork == nullptr);
  }
  {
    KeptGenerator other;
    open_speaker(device, &other);
    check_handles<heed_text_generator>(
        other.gone(), reinterpret_cast<heed_text_generator*>(static_cast<heed_device*>(device)),
        {[](heed_text_generator* g) { return heed_text_generator_get_info(g, nullptr); },
         [](heed_text_generator* g) { return heed_text_generator_config(g, nullptr); },
         [](heed_text_generator* g) { return heed_text_generator_tokenizer(g, nullptr); },
         [](heed_text_generator* g) { return heed_text_generator_plan(g, nullptr); },
         [](heed_text_generator* g) { return heed_text_generator_weights(g, nullptr); },
         [](heed_text_generator* g) { return heed_text_generator_loss(g, nullptr, 0, nullptr, nullptr); }});
  }
  {
    KeptEncoder other;
    done(heed_text_encoder_open(device, tiny_folder().c_str(), nullptr, other.out()));
    check_handles<heed_text_encoder>(
        other.gone(), reinterpret_cast<heed_text_encoder*>(static_cast<heed_device*>(device)),
        {[](heed_text_encoder* e) { return heed_text_encoder_get_info(e, nullptr); },
         [](heed_text_encoder* e) { return heed_text_encoder_plan(e, nullptr); },
         [](heed_text_encoder* e) { return heed_text_encoder_weights(e, nullptr); },
         [](heed_text_encoder* e) { return heed_text_encoder_encode(e, nullptr, 0, nullptr, 0, nullptr); },
         [](heed_text_encoder* e) { return heed_text_encoder_tokens(e, "", nullptr, 0, nullptr); }});
  }
  refused(heed_attention_map_get_info(nullptr, nullptr), HEED_INVALID_ARGUMENT, "attention map is NULL");

  // Arguments.
  size_t count = 7;
  int32_t id = 0;
  const char* token = "";
  auto piece = sized<heed_text_piece>();
  refused(heed_tokenizer_id(tokenizer, nullptr, &id), HEED_INVALID_ARGUMENT, "token is NULL");
  refused(heed_tokenizer_id(tokenizer, "no such token", &id), HEED_NOT_FOUND, "'no such token'");
  refused(heed_tokenizer_token(tokenizer, -1, &token), HEED_INDEX_OUT_OF_RANGE, "there is no token -1");
  CHECK(token == nullptr);
  refused(heed_tokenizer_encode(tokenizer, nullptr, 3, 0, 0, nullptr, 0, &count), HEED_INVALID_ARGUMENT,
          "text is NULL");
  refused(heed_tokenizer_encode(tokenizer, kAsked, SIZE_MAX, 0, 0, nullptr, 0, &count), HEED_BUFFER_TOO_SMALL,
          "room for 0");
  CHECK(count > 7);
  refused(heed_tokenizer_encode(tokenizer, kAsked, SIZE_MAX, 0, 0, nullptr, 1000, &count), HEED_INVALID_ARGUMENT,
          "the array is NULL");
  heed_tokenizer* no_tokenizer = tokenizer;
  refused(heed_tokenizer_open("/nonexistent", nullptr, &no_tokenizer), HEED_NOT_FOUND, "/nonexistent");
  CHECK(no_tokenizer == nullptr);
  refused(heed_conversation_say(conversation, nullptr), HEED_INVALID_ARGUMENT, "text is NULL");
  refused(heed_conversation_say(conversation, "\xff"), HEED_INVALID_ARGUMENT, "UTF-8");
  refused(heed_conversation_step(conversation, &piece), HEED_INVALID_ARGUMENT, "answer");
  piece.size = 3;
  refused(heed_conversation_step(conversation, &piece), HEED_INVALID_ARGUMENT, "piece has the size 3");
  refused(heed_conversation_prompt_ids(conversation, nullptr, 3), HEED_INVALID_ARGUMENT, "ids is NULL");
  id = 1'000'000;
  refused(heed_conversation_prompt_ids(conversation, &id, 1), HEED_INVALID_ARGUMENT, "");

  auto options = sized<heed_conversation_options>();
  heed_conversation* none = conversation;
  options.overflow = 2;
  refused(heed_conversation_begin(generator, &options, &none), HEED_INVALID_ARGUMENT, "overflow is 2");
  CHECK(none == nullptr);
  options.overflow = HEED_OVERFLOW_STOP;
  options.grammar = "root ::= nobody";
  refused(heed_conversation_begin(generator, &options, &none), HEED_INVALID_ARGUMENT, "nobody");
  options.grammar = nullptr;
  options.stop_count = 1;
  refused(heed_conversation_begin(generator, &options, &none), HEED_INVALID_ARGUMENT, "stop is NULL");
  refused(heed_conversation_begin(generator, nullptr, nullptr), HEED_INVALID_ARGUMENT, "conversation is NULL");
  KeptBlob blob;
  refused(heed_grammar_of_json_schema("{", nullptr, blob.out()), HEED_INVALID_ARGUMENT, "");
  refused(heed_grammar_of_json_schema(R"({"pattern": "a"})", nullptr, blob.out()), HEED_UNSUPPORTED, "pattern");

  auto speaking = sized<heed_text_generator_options>();
  heed_text_generator* no_generator = generator;
  speaking.dtype = 99;
  refused(heed_text_generator_open(device, kTinySpeaker, &speaking, &no_generator), HEED_INVALID_ARGUMENT,
          "dtype is 99");
  CHECK(no_generator == nullptr);
  speaking.dtype = 0;
  speaking.together = 65;
  refused(heed_text_generator_open(device, kTinySpeaker, &speaking, &no_generator), HEED_INVALID_ARGUMENT, "65");
  refused(heed_text_generator_open(device, "/nonexistent.gguf", nullptr, &no_generator), HEED_NOT_FOUND, "nonexistent");
  double mean = 0;
  id = 0;
  refused(heed_text_generator_loss(generator, &id, 1, &mean, nullptr), HEED_INVALID_ARGUMENT, "");
  heed_attention_map* no_map = nullptr;
  refused(heed_text_generator_attention(generator, nullptr, 0, &no_map), HEED_INVALID_ARGUMENT, "");
  heed_text_encoder* no_encoder = nullptr;
  refused(heed_text_encoder_open(device, nullptr, nullptr, &no_encoder), HEED_INVALID_ARGUMENT, "folder is NULL");
  refused(heed_text_encoder_open(device, "/nonexistent", nullptr, &no_encoder), HEED_NOT_FOUND, "nonexistent");
}

}  // namespace heed::test
