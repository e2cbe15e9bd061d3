#include "gpu/profile/works.hpp"

#include <heed/decoder.hpp>
#include <heed/nn.hpp>

#include "speech/sizes.hpp"
#include "speech/speech_shared.hpp"

namespace heed::gpu_tests {
namespace {

std::string text(std::initializer_list<int64_t> sizes) {
  std::string result;
  for (const int64_t size : sizes) result.append(result.empty() ? "" : "x").append(std::to_string(size));
  return result;
}

// With quantized weights rows are f32, as in language models; else they have the weights' type.
Work product(DType type, int64_t m, int64_t n, int64_t k) {
  const DType rows = type == DType::F16 || type == DType::BF16 ? type : DType::F32;
  return {std::string("product ") + to_string(type) + " " + text({m, n, k}),
          [=](Graph& g) { g.output("y", g.linear(g.input("x", {m, k}, rows), g.weight("w", {n, k}, type))); }};
}

Work rounded(Work work) {
  work.name += " rounded";
  work.round_rows = true;
  return work;
}

Work rounded_to_bytes(Work work) {
  work = rounded(std::move(work));
  work.name += " to bytes";
  work.no_units = true;
  return work;
}

struct Heads {
  int64_t queries, keys, width;
};
constexpr Heads kSmall = {12, 12, 64}, kLarge = {32, 8, 128};

Work emulated(Work work) {
  work.name += " emulated";
  work.emulate_f32 = true;
  return work;
}

// The output is token by token, with all heads of a token side by side, as both engines write it for the next matmul.
void output_of_tokens(Graph& g, const AttentionResult& attended) { g.output("y", g.transpose(attended.output, 1, 2)); }

Work attention(DType type, const Heads& heads, int64_t tokens, bool causal) {
  std::string name = std::string("attention ") + to_string(type) + " " + text({heads.queries, heads.width});
  return {name + " " + std::to_string(tokens) + (causal ? " causal" : ""), [=](Graph& g) {
            const auto input = [&](const char* what, int64_t count) {
              return g.input(what, {1, count, tokens, heads.width}, type);
            };
            output_of_tokens(g, g.attention(input("q", heads.queries), input("k", heads.keys), input("v", heads.keys),
                                            {.causal = causal ? Causal::TopLeft : Causal::None}));
          }};
}

Work token_after(DType type, const Heads& heads, int64_t keys) {
  return {"token after " + std::to_string(keys) + " " + to_string(type) + " " + text({heads.queries, heads.width}),
          [=](Graph& g) {
            const Tensor q = g.input("q", {1, heads.queries, 1, heads.width}, type);
            const auto past = [&](const char* what) { return g.input(what, {1, heads.keys, keys, heads.width}, type); };
            output_of_tokens(g, g.attention(q, past("k"), past("v")));
          }};
}

Work rows(const char* name, int64_t count, int64_t columns, Tensor (*apply)(Graph& g, Tensor x)) {
  return {std::string(name) + " f32 " + text({count, columns}),
          [=](Graph& g) { g.output("y", apply(g, g.input("x", {count, columns}))); }};
}

Tensor norm_weight(Graph& g, Tensor x, const char* name) { return g.weight(name, {g.shape(x)[1]}); }

Work smollm2(DType type, int64_t past) {
  return {std::string("smollm2 ") + to_string(type),
          [=](Graph& g) {
            const DecoderConfig config = {.layers = 30,
                                          .width = 576,
                                          .heads = 9,
                                          .kv_heads = 3,
                                          .hidden = 1536,
                                          .vocabulary = 49152,
                                          .rotary = {.base = 100000}};
            const Tensor ids = g.input("ids", {1, 1}, DType::I32);
            const DecoderResult y =
                nn::decoder(g, ids, config,
                            {.cache = {.capacity = past + 1, .past = g.position("past", past), .dtype = DType::F16},
                             .weight_dtype = type});
            g.output("y", y.logits);
          },
          {{"past", past}}};
}

Work encoder(DType type, int64_t tokens) {
  return {std::string("encoder ") + to_string(type) + " " + std::to_string(tokens), [=](Graph& g) {
            const Tensor x = g.input("x", {1, tokens, 768}, type);
            const nn::EncoderLayerOptions layer = {.attention = {.heads = 12},
                                                   .feed_forward = {.hidden = 3072, .activation = Activation::GeluErf}};
            g.output("y", nn::encoder_stack(g, x, "layers", layer, {.layers = 12}));
          }};
}

// A step of AdamW on two layers of that encoder. Each token's class is one of the columns.
Work training(DType type, int64_t tokens) {
  return {std::string("training ") + to_string(type) + " " + std::to_string(tokens), [=](Graph& g) {
            constexpr int64_t kWidth = 768;
            const nn::EncoderLayerOptions layer = {.attention = {.heads = 12},
                                                   .feed_forward = {.hidden = 3072, .activation = Activation::GeluErf}};
            const Tensor x = g.input("x", {1, tokens, kWidth}, type);
            const Tensor y = nn::encoder_stack(g, x, "layers", layer, {.layers = 2});
            const Tensor losses =
                g.cross_entropy(g.reshape(y, {tokens, kWidth}), g.input("classes", {tokens}, DType::I32));
            const Tensor loss = g.mean(g.reshape(losses, {1, tokens}), 1);
            train::Optimizer optimizer;
            static_cast<void>(optimizer.add_weights(g));
            const std::vector<Tensor> gradients = train::gradients(g, loss, optimizer.weights(g));
            g.output("loss", loss);
            g.output("step", optimizer.step(g, gradients, optimizer.settings(g)));
          }};
}

// "window": from samples to the keys and values of 30 s. "token": one with its rules of times and its draw, after so many others.
Work whisper(bool is_window, int64_t past) {
  Work work = {is_window ? "whisper window" : "whisper token", [=](Graph& g) {
                 SpeechRecognizer::Shared recognizer;
                 const Log log = stderr_log();
                 static_cast<void>(test::WhisperOfSize(test::kTinyEnglish, log, &recognizer.model).make());
                 g = is_window ? hearing_graph(recognizer) : decoding_graph(recognizer, {.times = true});
               }};
  if (!is_window) work.extents = {{"past", past}};
  return work;
}

std::vector<Work> make_works() {
  std::vector<Work> all;
  for (const DType type : {DType::F16, DType::BF16, DType::F32}) {
    all.push_back(product(type, 512, 3072, 768));
    all.push_back(product(type, 512, 768, 3072));
    all.push_back(product(type, 4096, 4096, 4096));
  }
  for (const DType type : {DType::F16, DType::BF16, DType::F32, DType::Q4_0, DType::Q8_0})
    for (const int64_t m : {1, 4, 8}) all.push_back(product(type, m, 4096, 4096));
  all.push_back(product(DType::Q8_0, 512, 4096, 4096));
  all.push_back(emulated(product(DType::F32, 512, 3072, 768)));
  all.push_back(emulated(product(DType::F32, 4096, 4096, 4096)));
  all.push_back(emulated(product(DType::Q8_0, 512, 4096, 4096)));
  for (const auto way : {rounded, rounded_to_bytes})
    for (const DType type : {DType::Q8_0, DType::Q4_0, DType::Q4_K}) all.push_back(way(product(type, 512, 4096, 4096)));
  for (const Heads& heads : {kSmall, kLarge})
    for (const int64_t tokens : {512, 4096})
      for (const bool causal : {false, true}) all.push_back(attention(DType::F16, heads, tokens, causal));
  for (const Heads& heads : {kSmall, kLarge}) all.push_back(attention(DType::BF16, heads, 4096, false));
  for (const int64_t tokens : {512, 4096}) all.push_back(attention(DType::F32, kSmall, tokens, false));
  for (const int64_t keys : {512, 8192}) all.push_back(token_after(DType::F16, kLarge, keys));
  all.push_back(rows("softmax", 6144, 512, [](Graph& g, Tensor x) { return g.softmax(x); }));
  all.push_back(rows("layernorm", 512, 768, [](Graph& g, Tensor x) {
    return g.layernorm(x, norm_weight(g, x, "gamma"), norm_weight(g, x, "beta"), 1e-5f);
  }));
  all.push_back(
      rows("rmsnorm", 512, 768, [](Graph& g, Tensor x) { return g.rmsnorm(x, norm_weight(g, x, "gamma"), 1e-5f); }));
  all.push_back(rows("rotary", 512, 768, [](Graph& g, Tensor x) {
    const Tensor heads = g.reshape(x, {g.shape(x)[0], 12, 64});
    return g.rotary(g.transpose(heads, 0, 1));
  }));
  all.push_back(smollm2(DType::Q4_1, 512));
  all.push_back(encoder(DType::F16, 512));
  all.push_back(training(DType::F32, 512));
  for (const bool is_window : {true, false}) all.push_back(whisper(is_window, 100));
  return all;
}

}  // namespace

const std::vector<Work>& works() {
  static const std::vector<Work> all = make_works();
  return all;
}

}  // namespace heed::gpu_tests
