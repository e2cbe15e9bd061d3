// Sentence vectors through the C interface equal those of C++.
#include "c/kept.hpp"
#include "search/support.hpp"

namespace heed::test {

TEST_CASE("C: sentence vectors are C++'s", "[c][search]") {
  KeptDevice device = open_c("cpu");
  auto options = sized<heed_text_encoder_options>();
  options.max_batch = 2;
  options.max_tokens = 9;
  KeptEncoder encoder(heed_text_encoder_open, device, tiny_folder().c_str(), &options);
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
  KeptMap map(heed_text_encoder_attention, encoder, texts[0]);
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
  KeptPlan plan(heed_text_encoder_plan, encoder);
  KeptWeights weights(heed_text_encoder_weights, encoder);
  CHECK(heed_plan_pass_count(plan) == plain.plan().passes().size());
}

}  // namespace heed::test
