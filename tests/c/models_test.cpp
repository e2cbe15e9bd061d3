// Model networks through the C interface give the results of C++.
#include "c/kept.hpp"
#include "models/support.hpp"
#include "search/support.hpp"
#include "talk/support.hpp"

#include <heed/decoder_model.hpp>

namespace heed::test {
namespace {

constexpr int64_t kRead = 7, kKept = 16;

void check_config(const heed_decoder_config& got, const DecoderConfig& want) {
  CHECK(got.family == want.family);
  CHECK(got.layers == want.layers);
  CHECK(got.width == want.width);
  CHECK(got.heads == want.heads);
  CHECK(got.kv_heads == want.kv_heads);
  CHECK(got.head_width == want.head_width);
  CHECK(got.hidden == want.hidden);
  CHECK(got.vocabulary == want.vocabulary);
  CHECK(got.positions == want.positions);
  CHECK(got.window == want.window);
  CHECK(got.eps == want.eps);
  CHECK(got.rotary.base == want.rotary.base);
  CHECK((got.rotary.pairs == HEED_ROTARY_ADJACENT) == (want.rotary.pairs == RotaryPairs::Adjacent));
  CHECK(got.rotary.scaling.kind == static_cast<int32_t>(want.rotary.scaling.kind));
  CHECK(got.rotary.scaling.factor == want.rotary.scaling.factor);
  CHECK(got.rotary.scaling.trained_length == want.rotary.scaling.trained_length);
  CHECK((got.tied != 0) == want.tied);
  CHECK((got.in_out != 0) == want.in_out);
}

}  // namespace

TEST_CASE("C: numbers of decoders are C++'s", "[c][models]") {
  for (const std::string& name : tiny_decoders()) {
    const std::string file = tiny_gguf(name);
    INFO(file);
    const DecoderModel plain = opened_model(file);
    KeptModel model(heed_decoder_model_open, file.c_str(), nullptr);
    auto config = sized<heed_decoder_config>();
    done(heed_decoder_model_get_config(model, &config));
    check_config(config, plain.config());
    uint64_t bytes = 0;
    done(heed_decoder_model_bytes(model, &bytes));
    CHECK(bytes == plain.bytes());
    KeptCheckpoint checkpoint(heed_checkpoint_open, file.c_str(), nullptr);
    config = sized<heed_decoder_config>();
    done(heed_decoder_config_read(checkpoint, &config));
    DecoderConfig read;
    REQUIRE(read_decoder_config(*plain.gguf(), stderr_log(), &read) == Status::Ok);
    check_config(config, read);
  }
  const char* json = R"({"model_type": "llama", "vocab_size": 96, "num_hidden_layers": 3, "hidden_size": 24,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40, "max_position_embeddings": 99,
    "rms_norm_eps": 1e-6, "rope_theta": 5000.0, "tie_word_embeddings": false,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 77}})";
  auto config = sized<heed_decoder_config>();
  done(heed_decoder_config_parse(json, "a config", nullptr, &config));
  DecoderConfig plain;
  REQUIRE(parse_decoder_config(json, "a config", stderr_log(), &plain) == Status::Ok);
  check_config(config, plain);
  CHECK(config.rotary.scaling.kind == HEED_ROTARY_SCALING_LLAMA3);
  refused(heed_decoder_config_parse("{", nullptr, nullptr, &config), HEED_INVALID_FILE, "config.json");
}

TEST_CASE("C: a decoder with its cache and attention gives the bits of C++", "[c][models]") {
  KeptDevice device = open_c("cpu");
  KeptModel model(heed_decoder_model_open, kTinySpeaker.c_str(), nullptr);
  auto config = sized<heed_decoder_config>();
  done(heed_decoder_model_get_config(model, &config));
  KeptWeights weights(heed_decoder_model_upload, model, device, nullptr, nullptr);
  const std::vector<int32_t> ids = {1, 5, 2, 7, 9, 3, 4};
  const size_t layers = static_cast<size_t>(config.layers);
  const size_t seen = static_cast<size_t>(config.heads * kRead * kRead);

  // Two ways to build the same graph: from the model, and from its configuration.
  const DecoderModel plain = opened_model(kTinySpeaker);
  Device cpu = open_cpu();
  Weights plain_weights;
  REQUIRE(plain.upload(cpu, {}, &plain_weights) == Status::Ok);
  Graph g;
  const Dim past = g.position("past", kKept - kRead);
  DecoderOptions options;
  options.cache = {.capacity = kKept, .past = past};
  options.attention = true;
  const DecoderResult made = plain.build(g, g.input("ids", {1, kRead}, DType::I32), options);
  g.output("logits", made.logits);
  g.output("seen", g.slice(made.attention.back(), 3, 0, kRead));
  Plan plain_plan = compiled(cpu, g, plain_weights);
  State plain_state = state_of(plain_plan);
  std::vector<float> want(static_cast<size_t>(config.vocabulary)), want_seen(seen);
  REQUIRE(plain_plan.run({{"ids", ids}, {"logits", want}, {"seen", want_seen}}, {}, {.state = plain_state}) ==
          Status::Ok);

  KeptGraph graph(heed_graph_create);
  auto asked = sized<heed_decoder_options>();
  asked.cache.capacity = kKept;
  asked.cache.past = heed_graph_position(graph, "past", kKept - kRead);
  asked.attention = 1;
  const heed_dim shape[] = {1, kRead};
  const heed_tensor input = heed_graph_input(graph, "ids", shape, 2, HEED_I32);
  std::vector<heed_tensor> attention(layers);
  heed_decoder_result result = {};
  refused(heed_decoder_model_build(model, graph, input, &asked, &result, attention.data(), layers - 1),
          HEED_BUFFER_TOO_SMALL, "room for");
  CHECK(heed_graph_get_status(graph) == HEED_OK);
  done(heed_decoder_model_build(model, graph, input, &asked, &result, attention.data(), layers));
  heed_graph_output(graph, "logits", result.logits);
  heed_graph_output(graph, "seen", heed_graph_slice(graph, attention.back(), 3, 0, kRead));
  KeptPlan plan(heed_device_compile, device, graph, weights, nullptr);
  KeptState state(heed_plan_make_state, plan);
  std::vector<float> got(want.size()), got_seen(seen);
  run(plan, {in("ids", ids)}, {out("logits", got), out("seen", got_seen)}, state);
  CHECK(got == want);
  CHECK(got_seen == want_seen);

  // heed_nn_decoder with the model's configuration and names: no cache, and logits of all tokens.
  KeptGraph bare(heed_graph_create);
  auto all = sized<heed_decoder_options>();
  all.all_logits = 1;
  all.weight_dtype = HEED_F32;
  KeptWeights wide(heed_decoder_model_upload, model, device, &all, nullptr);
  done(heed_nn_decoder(bare, heed_graph_input(bare, "ids", shape, 2, HEED_I32), &config, &all, &result, nullptr, 0));
  heed_graph_output(bare, "logits", result.logits);
  KeptPlan bare_plan(heed_device_compile, device, bare, wide, nullptr);
  std::vector<float> rows(static_cast<size_t>(config.vocabulary * kRead));
  run(bare_plan, {in("ids", ids)}, {out("logits", rows)});
  const float* last = rows.data() + rows.size() - got.size();
  for (size_t i = 0; i < got.size(); ++i) REQUIRE(std::fabs(last[i] - got[i]) < 1e-3f);
}

TEST_CASE("C: BERT and its sentence give the bits of C++", "[c][models]") {
  KeptDevice device = open_c("cpu");
  Device cpu = open_cpu();
  const std::string folder = tiny_folder(), file = folder + "/config.json";
  BertConfig plain;
  REQUIRE(read_bert_config(file, stderr_log(), &plain) == Status::Ok);
  auto config = sized<heed_bert_config>(), parsed = sized<heed_bert_config>();
  done(heed_bert_config_read(file.c_str(), nullptr, &config));
  done(heed_bert_config_parse(read_file(file).c_str(), nullptr, nullptr, &parsed));
  CHECK(std::memcmp(&config, &parsed, sizeof(config)) == 0);
  CHECK(config.width == plain.width);
  CHECK(config.layers == plain.layers);
  CHECK(config.activation == static_cast<int32_t>(plain.activation));
  CHECK(config.eps == plain.eps);

  Checkpoint files;
  BertWeights loaded;
  REQUIRE(Checkpoint::open(folder, stderr_log(), &files) == Status::Ok);
  REQUIRE(BertWeights::load(files, plain, stderr_log(), &loaded) == Status::Ok);
  Graph g;
  const Tensor kept = g.input("keep", {2, kRead}, DType::U8);
  const BertResult made = nn::bert(g, g.input("ids", {2, kRead}, DType::I32), keep(kept), plain, {.attention = true});
  g.output("sentence", nn::mean_sentence(g, made.tokens, keep(kept)));
  g.output("seen", made.attention.front());
  Plan plain_plan = compiled(cpu, g, uploaded(cpu, loaded.tensors()));
  const std::vector<int32_t> ids = {2, 9, 8, 7, 6, 5, 3, 2, 11, 12, 3, 0, 0, 0};
  const std::vector<uint8_t> keeps = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0};
  std::vector<float> want(static_cast<size_t>(2 * plain.width)), got(want.size());
  std::vector<float> want_seen(static_cast<size_t>(2 * plain.heads * kRead * kRead)), got_seen(want_seen.size());
  REQUIRE(plain_plan.run({{"ids", ids}, {"keep", keeps}, {"sentence", want}, {"seen", want_seen}}) == Status::Ok);

  KeptCheckpoint checkpoint(heed_checkpoint_open, folder.c_str(), nullptr);
  KeptWeights weights(heed_bert_upload, checkpoint, &config, device, nullptr);
  // The same from memory.
  const ScratchFolder scratch;
  const std::string one = (scratch / "bert.safetensors").string();
  REQUIRE(write_safetensors(one, files.host_tensors(), {}, stderr_log()) == Status::Ok);
  const std::string bytes = read_file(one);
  KeptCheckpoint in_memory(heed_checkpoint_parse, bytes.data(), bytes.size(), nullptr, nullptr);
  KeptWeights of_memory(heed_bert_upload, in_memory, &config, device, nullptr);
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {2, kRead};
  const heed_tensor padding = heed_graph_input(graph, "keep", shape, 2, HEED_U8);
  const heed_tensor input = heed_graph_input(graph, "ids", shape, 2, HEED_I32);
  auto options = sized<heed_bert_options>();
  options.attention = 1;
  std::vector<heed_tensor> attention(static_cast<size_t>(plain.layers));
  heed_bert_result result = {};
  refused(heed_nn_bert(graph, input, padding, HEED_MASK_KEEP, &config, &options, &result, attention.data(),
                       attention.size() - 1),
          HEED_BUFFER_TOO_SMALL, "room for");
  CHECK(heed_graph_get_status(graph) == HEED_OK);
  done(heed_nn_bert(graph, input, padding, HEED_MASK_KEEP, &config, &options, &result, attention.data(),
                    attention.size()));
  CHECK(result.pooled == 0);
  heed_graph_output(graph, "sentence", heed_nn_mean_sentence(graph, result.tokens, padding, HEED_MASK_KEEP));
  heed_graph_output(graph, "seen", attention.front());
  for (heed_weights* const uploaded : {static_cast<heed_weights*>(weights), static_cast<heed_weights*>(of_memory)}) {
    KeptPlan plan(heed_device_compile, device, graph, uploaded, nullptr);
    run(plan, {in("ids", ids), in("keep", keeps)}, {out("sentence", got), out("seen", got_seen)});
    CHECK(std::exchange(got, std::vector<float>(got.size())) == want);
    CHECK(std::exchange(got_seen, std::vector<float>(got_seen.size())) == want_seen);
  }
}

TEST_CASE("C: functions of models refuse what makes no sense", "[c][hostile]") {
  KeptDevice device = open_c("cpu");
  KeptModel model(heed_decoder_model_open, kTinySpeaker.c_str(), nullptr);
  heed_decoder_model* gone = KeptModel(heed_decoder_model_open, kTinySpeaker.c_str(), nullptr).gone();
  heed_decoder_model* none = model;
  refused(heed_decoder_model_open("/nonexistent.gguf", nullptr, &none), HEED_NOT_FOUND, "nonexistent");
  CHECK(none == nullptr);
  refused(heed_decoder_model_open(nullptr, nullptr, &none), HEED_INVALID_ARGUMENT, "path is NULL");

  KeptCheckpoint folder(heed_checkpoint_open, tiny_folder().c_str(), nullptr);
  KeptCheckpoint file(heed_checkpoint_open, kTinySpeaker.c_str(), nullptr);
  auto config = sized<heed_decoder_config>();
  auto bert = sized<heed_bert_config>();
  heed_weights* weights = nullptr;
  refused(heed_decoder_config_read(folder, &config), HEED_UNSUPPORTED, "no GGUF file");
  refused(heed_decoder_config_read(file, nullptr), HEED_INVALID_ARGUMENT, "config is NULL");
  refused(heed_bert_upload(file, &bert, device, nullptr, &weights), HEED_UNSUPPORTED, "safetensors");
  refused(heed_bert_upload(folder, nullptr, device, nullptr, &weights), HEED_INVALID_ARGUMENT, "config is NULL");
  refused(heed_bert_upload(folder, &bert, device, nullptr, &weights), HEED_MISSING_WEIGHT,
          "word_embeddings");  // numbers of a larger BERT
  refused(heed_bert_config_read("/nonexistent", nullptr, &bert), HEED_NOT_FOUND, "nonexistent");

  // A graph keeps the first mistake.
  const heed_dim shape[] = {1, kRead};
  const auto mistaken = [&](heed_status wanted, const char* text, const auto& make) {
    KeptGraph graph(heed_graph_create);
    const heed_tensor ids = heed_graph_input(graph, "ids", shape, 2, HEED_I32);
    refused(make(static_cast<heed_graph*>(graph), ids), wanted, text);
    refused(heed_graph_get_status(graph), wanted, text);
  };
  done(heed_decoder_model_get_config(model, &config));
  mistaken(HEED_INVALID_ARGUMENT, "config is NULL", [&](heed_graph* g, heed_tensor ids) {
    return heed_nn_decoder(g, ids, nullptr, nullptr, nullptr, nullptr, 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "ids is 0",
           [&](heed_graph* g, heed_tensor) { return heed_nn_decoder(g, 0, &config, nullptr, nullptr, nullptr, 0); });
  mistaken(HEED_INVALID_ARGUMENT, "family is 'mamba'; ", [&](heed_graph* g, heed_tensor ids) {
    heed_decoder_config wrong = config;
    wrong.family = "mamba";
    return heed_nn_decoder(g, ids, &wrong, nullptr, nullptr, nullptr, 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "the decoder model was destroyed", [&](heed_graph* g, heed_tensor ids) {
    return heed_decoder_model_build(gone, g, ids, nullptr, nullptr, nullptr, 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "activation is 6", [&](heed_graph* g, heed_tensor ids) {
    bert.activation = 6;
    return heed_nn_bert(g, ids, ids, HEED_MASK_KEEP, &bert, nullptr, nullptr, nullptr, 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "the meaning of padding is 2", [&](heed_graph* g, heed_tensor ids) {
    bert.activation = 0;
    return heed_nn_bert(g, ids, ids, 2, &bert, nullptr, nullptr, nullptr, 0);
  });
}

}  // namespace heed::test
