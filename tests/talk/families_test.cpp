// Conversations with models of each family of chat templates: messages become the ids of the text that jinja2 renders from the template,
// with special tokens parsed. The models are tiny and random, and written here.
#include <nlohmann/json.hpp>

#include "io/gguf_writer.hpp"
#include "models/support.hpp"
#include "talk/support.hpp"
#include "text/bpe/byte_alphabet.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

using nlohmann::json;

struct SmallVocabulary {
  std::string model, pre;  // the key tokenizer.ggml.model
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  void add(const std::string& token, TokenType type) {
    tokens.push_back(token);
    types.push_back(static_cast<int32_t>(type));
  }
};

// All bytes, and the special tokens of a family.
SmallVocabulary small_vocabulary(const std::string& family) {
  const bool pieces = family == "Llama 2" || family == "Mistral";
  SmallVocabulary all = {pieces ? "llama" : "gpt2", family == "Llama 3" ? "llama-bpe" : "qwen2", {}, {}};
  all.add("<unk>", pieces ? TokenType::Unknown : TokenType::Normal);
  for (const char* name : {"<s>", "</s>"}) all.add(name, TokenType::Control);
  for (unsigned byte = 0; byte < 256; ++byte) {
    char code[8];
    std::snprintf(code, sizeof code, "<0x%02X>", byte);
    all.add(pieces ? code : letter_of_byte(static_cast<unsigned char>(byte)),
            pieces ? TokenType::Byte : TokenType::Normal);
  }
  if (pieces)
    for (const char* name : {"\xE2\x96\x81", "a", "e", "o", "w", "\xE2\x96\x81w"}) all.add(name, TokenType::Normal);
  if (family == "ChatML")
    for (const char* name : {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}) all.add(name, TokenType::Control);
  if (family == "Llama 3")
    for (const char* name : {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"})
      all.add(name, TokenType::Control);
  if (family == "Gemma")
    for (const char* name : {"<start_of_turn>", "<end_of_turn>"}) all.add(name, TokenType::Control);
  if (family == "Mistral")
    for (const char* name : {"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"})
      all.add(name, TokenType::Control);
  return all;
}

std::string floats(size_t count, uint32_t seed) {
  const std::vector<float> values = pattern(count, seed);
  return std::string(reinterpret_cast<const char*>(values.data()), count * sizeof(float));
}

// A network of one layer, of Llama, or of Qwen 2 with biases.
std::string small_model(const SmallVocabulary& vocabulary, const std::string& jinja, bool is_qwen) {
  constexpr uint64_t kWidth = 16, kHidden = 24;
  const std::string kind = is_qwen ? "qwen2" : "llama";
  GgufWriter file;
  file.text("general.architecture", kind).text("tokenizer.chat_template", jinja);
  for (const auto& [key, value] :
       {std::pair("block_count", 1u), std::pair("embedding_length", 16u), std::pair("feed_forward_length", 24u),
        std::pair("attention.head_count", 2u), std::pair("context_length", 1024u)})
    file.u32(kind + "." + key, value);
  file.f32(kind + ".attention.layer_norm_rms_epsilon", 1e-5f);
  file.text("tokenizer.ggml.model", vocabulary.model).texts("tokenizer.ggml.tokens", vocabulary.tokens);
  file.numbers("tokenizer.ggml.token_type", Gguf::ValueType::I32, vocabulary.types);
  if (vocabulary.model == "llama") {
    file.numbers("tokenizer.ggml.scores", Gguf::ValueType::F32, std::vector<float>(vocabulary.tokens.size(), -1.0f));
  } else {
    file.text("tokenizer.ggml.pre", vocabulary.pre);
    file.texts("tokenizer.ggml.merges", {});
  }
  file.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  uint32_t seed = 0;
  const auto tensor = [&](const std::string& name, std::vector<uint64_t> shape) {
    const uint64_t count = shape[0] * (shape.size() > 1 ? shape[1] : 1);
    file.tensor(name, 0, shape, floats(count, ++seed));
  };
  tensor("token_embd.weight", {vocabulary.tokens.size(), kWidth});
  tensor("output_norm.weight", {kWidth});
  for (const char* norm : {"attn_norm", "ffn_norm"}) tensor(std::string("blk.0.") + norm + ".weight", {kWidth});
  for (const char* linear : {"attn_q", "attn_k", "attn_v", "attn_output"})
    tensor(std::string("blk.0.") + linear + ".weight", {kWidth, kWidth});
  if (is_qwen)
    for (const char* linear : {"attn_q", "attn_k", "attn_v"})
      tensor(std::string("blk.0.") + linear + ".bias", {kWidth});
  for (const char* linear : {"ffn_gate", "ffn_up"})
    tensor(std::string("blk.0.") + linear + ".weight", {kHidden, kWidth});
  tensor("blk.0.ffn_down.weight", {kWidth, kHidden});
  return file.file();
}

// Special tokens in a player's message are plain text, unlike those of the rendered template.
bool is_plain_text(const json& messages) {
  for (const json& message : messages)
    if (message[1].get_ref<const std::string&>().find("</s>") != std::string::npos) return false;
  return true;
}

}  // namespace

TEST_CASE("what is said to a model of each family is what jinja2 makes of its template", "[talk][chat]") {
  const json all = json::parse(read_file(text_data() / "chat.json"));
  const ScratchFolder folder;
  Device device = open_cpu();
  std::set<std::string> families;
  size_t said = 0;
  for (const json& one : all) {
    const std::string name = one["name"], family = one["family"];
    INFO(name);
    const SmallVocabulary vocabulary = small_vocabulary(family);
    folder.write(name + ".gguf", small_model(vocabulary, one["template"], name.starts_with("qwen2")));
    TextGenerator model;
    REQUIRE(TextGenerator::open(device, folder.path() + "/" + name + ".gguf", {.context = 1024, .log = stderr_log()},
                                &model) == Status::Ok);
    REQUIRE(model.chat() != nullptr);
    CHECK(model.chat()->family() == family);
    families.insert(family);
    // The template's end-of-turn token ends answers.
    const int32_t end = model.tokenizer().id(model.chat()->answer_end());
    if (!model.chat()->answer_end().empty()) CHECK((end >= 0 && model.ends_answer(end)));
    CHECK(model.ends_answer(2));
    for (const json& c : one["cases"]) {
      const json& messages = c["messages"];
      if (!c["prompt"].get<bool>() || c["date"] != "" || !c["think"].get<bool>() || !is_plain_text(messages)) continue;
      if (messages.back()[0] != "user") continue;
      INFO(c.dump());
      TextConversationOptions options = greedy(3);
      const bool has_system = messages[0][0] == "system";
      if (has_system) options.system = messages[0][1];
      TextConversation conversation = begun(model, options);
      for (size_t i = has_system ? 1 : 0; i + 1 < messages.size(); ++i)
        REQUIRE(conversation.add(messages[i][0].get<std::string>(), messages[i][1].get<std::string>()) == Status::Ok);
      REQUIRE(conversation.say(messages.back()[1].get<std::string>()) == Status::Ok);
      std::vector<int32_t> wanted;
      REQUIRE(model.tokenizer().encode(c["text"].get<std::string>(), {.read_special = true}, &wanted) == Status::Ok);
      CHECK(std::ranges::equal(conversation.ids(), wanted));
      ++said;
      if (said % 5 == 0) CHECK_FALSE(tell(conversation).tokens.empty());
    }
  }
  CHECK(families == std::set<std::string>{"ChatML", "Gemma", "Llama 2", "Llama 3", "Mistral"});
  CHECK(said > 80);
}

TEST_CASE("an answer ends where no token of the model goes on as the grammar wants", "[talk][grammar]") {
  SmallVocabulary vocabulary = {"gpt2", "qwen2", {}, {}};
  for (const char* token : {"x", "<s>", "</s>", "a", "b"})
    vocabulary.add(token, token[0] == '<' ? TokenType::Control : TokenType::Normal);
  const ScratchFolder folder;
  folder.write("letters.gguf", small_model(vocabulary, "", false));
  Messages messages;
  Device device = open_cpu();
  TextGenerator model;
  REQUIRE(TextGenerator::open(device, folder.path() + "/letters.gguf", {.context = 64, .log = messages.log()},
                              &model) == Status::Ok);
  TextConversationOptions options = drawn(1, 0);
  options.grammar = "root ::= \"a\" \"b\" \"c\"";
  TextConversation conversation = begun(model, options);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(conversation.prompt(std::vector<int32_t>{3, 4}) == Status::Ok);
    const Told told = tell(conversation);
    CHECK(told.end == TextEnd::NoToken);
    CHECK(told.text() == "ab");
  }
  options.grammar = "root ::= \"c\"";
  TextConversation none;
  CHECK(model.begin(options, &none) == Status::InvalidArgument);
  CHECK(messages.mention("no token of the model can begin an answer"));
  CHECK_FALSE(none.valid());
}

}  // namespace heed::test
