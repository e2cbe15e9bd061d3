// Arguments that the text functions of the C interface refuse.
#include "c/speaker.hpp"
#include "search/support.hpp"

namespace heed::test {

TEST_CASE("C: text functions refuse what makes no sense", "[c][hostile]") {
  KeptDevice device = open_c("cpu");
  KeptGenerator generator = open_speaker(device);
  KeptConversation conversation = begin_drawn(generator, 0, 3);
  KeptTokenizer tokenizer(heed_text_generator_tokenizer, generator);

  CHECK(heed_tokenizer_size(nullptr) == 0);
  heed_conversation* fork = nullptr;
  refused(heed_conversation_fork(nullptr, &fork), HEED_INVALID_ARGUMENT, "is NULL");
  CHECK(fork == nullptr);
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
  refused(heed_text_generator_open(device, kTinySpeaker.c_str(), &speaking, &no_generator), HEED_INVALID_ARGUMENT,
          "dtype is 99");
  CHECK(no_generator == nullptr);
  speaking.dtype = 0;
  speaking.together = 65;
  refused(heed_text_generator_open(device, kTinySpeaker.c_str(), &speaking, &no_generator), HEED_INVALID_ARGUMENT,
          "65");
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
