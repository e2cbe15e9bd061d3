// The modules that sentence-transformers lists in modules.json: TextEncoder refuses a model that it would compute differently.

#include "search/support.hpp"

namespace heed::test {
namespace {

struct Module {
  std::string type, path;
};

const Module kTransformer = {"sentence_transformers.models.Transformer", ""};
const Module kPooling = {"sentence_transformers.models.Pooling", "1_Pooling"};
const Module kNormalize = {"sentence_transformers.models.Normalize", "2_Normalize"};
const Module kDense = {"sentence_transformers.models.Dense", "2_Dense"};
const char* const kMean = R"({"word_embedding_dimension": 24, "pooling_mode_cls_token": false,
  "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})";

// modules.json as sentence-transformers writes it.
std::string list_of(const std::vector<Module>& modules) {
  std::string text = "[";
  for (size_t i = 0; i < modules.size(); ++i)
    text += std::string(i == 0 ? "" : ",") + R"({"idx": )" + std::to_string(i) + R"(, "name": ")" + std::to_string(i) +
            R"(", "path": ")" + modules[i].path + R"(", "type": ")" + modules[i].type + R"("})";
  return text + "]";
}

// Opens the tiny model with this modules.json, and with this configuration of its pooling if it is not null.
Status open_with(const std::string& list, const char* pooling, Messages* messages, TextEncoder* encoder) {
  ModelCopy copy;
  write_file(copy / "modules.json", list);
  if (pooling != nullptr) {
    std::filesystem::create_directory(copy / "1_Pooling");
    write_file(copy / "1_Pooling/config.json", pooling);
  }
  Device device = open_cpu({.threads = 1});
  return TextEncoder::open(device, copy.path(), {.log = messages->log()}, encoder);
}

}  // namespace

TEST_CASE("Sentence modules that TextEncoder computes are accepted", "[bert]") {
  const auto accepts = [](const char* what, const std::string& list, const char* pooling) {
    INFO(what);
    Messages messages;
    TextEncoder encoder;
    const Status status = open_with(list, pooling, &messages, &encoder);
    INFO(messages.text);
    CHECK(status == Status::Ok);
    CHECK(encoder.valid());
    CHECK(messages.text.empty());
  };
  accepts("as all-MiniLM-L6-v2 has them", list_of({kTransformer, kPooling, kNormalize}), kMean);
  accepts("without Normalize", list_of({kTransformer, kPooling}), kMean);
  accepts("Normalize twice", list_of({kTransformer, kPooling, kNormalize, kNormalize}), kMean);
  accepts("dropout, which is for training",
          list_of({kTransformer, kPooling, {"sentence_transformers.models.Dropout", "2_Dropout"}, kNormalize}), kMean);
  accepts("names of later versions",
          list_of({{"sentence_transformers.base.modules.transformer.Transformer", ""},
                   {"sentence_transformers.sentence_transformer.modules.pooling.Pooling", "1_Pooling"},
                   {"sentence_transformers.sentence_transformer.modules.normalize.Normalize", "2_Normalize"}}),
          R"({"embedding_dimension": 24, "pooling_mode": "mean", "include_prompt": true})");
  accepts("a list of one mode", list_of({kTransformer, kPooling}), R"({"pooling_mode": ["mean"]})");
  accepts("the mode is the mean unless said otherwise", list_of({kTransformer, kPooling}), "{}");
}

TEST_CASE("Sentence modules that TextEncoder does not compute are refused by type and file", "[bert]") {
  const auto refuses = [](const char* what, const std::string& list, const char* pooling, Status wanted,
                          std::vector<const char*> mentions) {
    INFO(what);
    Messages messages;
    TextEncoder encoder;
    const Status status = open_with(list, pooling, &messages, &encoder);
    INFO(messages.text);
    CHECK(to_string(status) == std::string(to_string(wanted)));
    for (const char* part : mentions) CHECK(messages.mention(part));
    CHECK_FALSE(encoder.valid());
  };
  const auto with = [](const char* type) { return list_of({kTransformer, kPooling, {type, "2_Module"}, kNormalize}); };
  const std::string usual = list_of({kTransformer, kPooling, kNormalize});
  refuses("Dense", list_of({kTransformer, kPooling, kDense, kNormalize}), kMean, Status::Unsupported,
          {"modules.json: module 2", "sentence_transformers.models.Dense"});
  refuses("Dense by the name of later versions", with("sentence_transformers.base.modules.dense.Dense"), kMean,
          Status::Unsupported, {"sentence_transformers.base.modules.dense.Dense"});
  refuses("LSTM", list_of({kTransformer, {"sentence_transformers.models.LSTM", "1_LSTM"}, kPooling}), kMean,
          Status::Unsupported, {"module 1", "sentence_transformers.models.LSTM"});
  refuses("weights of layers", with("sentence_transformers.models.WeightedLayerPooling"), kMean, Status::Unsupported,
          {"WeightedLayerPooling"});
  refuses("a class of the model's own", with("custom_modules.Normalize"), kMean, Status::Unsupported,
          {"custom_modules.Normalize"});
  refuses("a package whose name begins alike", with("sentence_transformers_extra.Normalize"), kMean,
          Status::Unsupported, {"sentence_transformers_extra.Normalize"});
  refuses("another order", list_of({kTransformer, kNormalize, kPooling}), kMean, Status::Unsupported,
          {"module 1", "Normalize"});
  refuses("Pooling twice", list_of({kTransformer, kPooling, kPooling}), kMean, Status::Unsupported,
          {"module 2", "Pooling"});
  refuses("no Transformer", list_of({{"sentence_transformers.models.BoW", ""}, kPooling}), kMean, Status::Unsupported,
          {"module 0", "sentence_transformers.models.BoW"});
  refuses("no Pooling", list_of({kTransformer}), kMean, Status::Unsupported, {"modules.json", "Pooling"});
  refuses("no modules", "[]", kMean, Status::Unsupported, {"modules.json", "Transformer"});
  refuses("the Transformer elsewhere", list_of({{kTransformer.type, "0_Transformer"}, kPooling}), kMean,
          Status::Unsupported, {"module 0", "0_Transformer"});
  refuses("Pooling without its file", usual, nullptr, Status::NotFound, {"1_Pooling"});
  refuses("Pooling outside of the folder", list_of({kTransformer, {kPooling.type, "../1_Pooling"}}), kMean,
          Status::InvalidFile, {"module 1", "../1_Pooling"});
  refuses("the first token", usual, R"({"pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true})",
          Status::Unsupported, {"config.json", "pooling_mode_mean_tokens"});
  refuses("a second mode", usual, R"({"pooling_mode_mean_tokens": true, "pooling_mode_lasttoken": true})",
          Status::Unsupported, {"config.json", "pooling_mode_lasttoken"});
  refuses("a mode that only later versions have", usual, R"({"pooling_mode_weightedmean_tokens": true})",
          Status::Unsupported, {"pooling_mode_weightedmean_tokens"});
  refuses("a mode by name", usual, R"({"pooling_mode": "cls", "pooling_mode_mean_tokens": true})", Status::Unsupported,
          {"config.json", "'pooling_mode' is \"cls\""});
  refuses("two modes by name", usual, R"({"pooling_mode": ["mean", "max"]})", Status::Unsupported,
          {"[\"mean\",\"max\"]"});
  refuses("a mode that is a number", usual, R"({"pooling_mode": 1})", Status::Unsupported, {"'pooling_mode' is 1"});
  refuses("modes nested deep", usual, R"({"pooling_mode": [["max"]]})", Status::Unsupported, {"[[\"max\"]]"});
  refuses("a type that is no text", R"([{"idx": 0, "path": "", "type": 7}])", kMean, Status::InvalidFile,
          {"module 0", "'type' is 7"});
  refuses("a module without a type", R"([{"idx": 0, "path": ""}])", kMean, Status::InvalidFile,
          {"module 0", "'type': is missing"});
  refuses("a module that is no object", R"(["sentence_transformers.models.Transformer"])", kMean, Status::InvalidFile,
          {"module 0", "'type'"});
  refuses("no array", "{}", kMean, Status::InvalidFile, {"modules.json", "no JSON array"});
  refuses("no JSON", "[{]", kMean, Status::InvalidFile, {"modules.json", "not valid JSON"});
  refuses("nested too deep", std::string(100, '[') + std::string(100, ']'), kMean, Status::InvalidFile,
          {"modules.json", "nested 100 deep"});
}

}  // namespace heed::test
