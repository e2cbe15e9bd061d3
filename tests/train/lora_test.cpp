// Adapters beside frozen weights: results and gradients against sums in double, names and files.
#include <heed/lora.hpp>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "graph/graph_data.hpp"
#include "harness/counting.hpp"
#include "harness/devices.hpp"
#include "harness/files.hpp"
#include "harness/reference.hpp"
#include "harness/setup.hpp"
#include "harness/trial.hpp"
#include "models/support.hpp"

namespace heed::train {
namespace {

using ops::Array;

constexpr int64_t kRows = 5, kIn = 64, kOut = 7, kRank = 3;
constexpr float kAlpha = 6.0f;

const LoraOptions kOptions = {.rank = kRank, .alpha = kAlpha, .modules = {"proj"}};
const std::string kA = "base_model.model.layers.0.proj.lora_A.weight",
                  kB = "base_model.model.layers.0.proj.lora_B.weight";

// y = x W^T + alpha / rank (x A^T) B^T and the gradients of x, A and B, for W of any type.
void check_product(const ops::TestDevice& test, DType dtype) {
  INFO(test.word << " " << to_string(dtype));
  ops::Trial trial(DType::F32);
  Graph& g = trial.graph;
  Array w = ops::uniform({kOut, kIn}, 3), a = ops::uniform({kRank, kIn}, 4), b = ops::uniform({kOut, kRank}, 6);
  const Tensor x = trial.input("x", {kRows, kIn}), up = trial.input("up", {kRows, kOut});
  const Tensor weight = is_quantized(dtype) ? trial.blocks("layers.0.proj.weight", {kOut, kIn}, dtype, 5, &w)
                                            : trial.weight("layers.0.proj.weight", &w);
  const Tensor y = g.scale(g.linear(x, weight), 1.0f);  // built before the adapters are added
  Lora lora(kOptions);
  REQUIRE(lora.choose(g, stderr_log()) == Status::Ok);
  REQUIRE(lora.adapters().size() == 1);
  CHECK(lora.adapters()[0].module == "layers.0.proj");
  lora.apply(g);
  const Tensor of[] = {x, trial.weight(kA, &a), trial.weight(kB, &b)};
  const Upstream output{y, up};
  const std::vector<Tensor> d = gradients(g, std::span(&output, 1), of);
  g.output("y", y);
  g.output("dx", d[0]);
  g.output("da", d[1]);
  g.output("db", d[2]);
  ops::Run& run = trial.run();
  const Array rows = run.input("x", ops::uniform({kRows, kIn}, 1)),
              given = run.input("up", ops::uniform({kRows, kOut}, 2));
  const double scale = static_cast<double>(kAlpha) / static_cast<double>(kRank);
  const Array inner = ops::matmul(rows, ops::transposed(a));
  run.expect(
      "y", ops::add(ops::matmul(rows, ops::transposed(w)), ops::scale(ops::matmul(inner, ops::transposed(b)), scale)));
  const Array back = ops::scale(ops::matmul(given, b), scale);  // the gradient of `inner`
  run.expect("dx", ops::add(ops::matmul(given, w), ops::matmul(back, a)));
  run.expect("da", ops::matmul(ops::transposed(back), rows));
  run.expect("db", ops::scale(ops::matmul(ops::transposed(given), inner), scale));
  ops::Tally tally;
  CHECK(ops::check_trial(test.device, trial, &tally).difference == "");
}

// A decoder of two layers with weights from a pattern.
const DecoderConfig kTiny = {.layers = 2, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .vocabulary = 11};

Graph decoder(const DecoderConfig& config, int64_t tokens = 5) {
  Graph g;
  g.output("logits", nn::decoder(g, g.input("ids", {1, tokens}, DType::I32), config, {.all_logits = true}).logits);
  REQUIRE(g.status() == Status::Ok);
  return g;
}

std::vector<LoraMatrix> drawn(const Lora& lora, uint32_t seed) {
  std::vector<LoraMatrix> matrices;
  REQUIRE(lora.initial(seed, &matrices) == Status::Ok);
  for (LoraMatrix& matrix : matrices) matrix.values = test::pattern(matrix.values.size(), seed++);
  return matrices;
}

// Counts the matrices that differ from those of the same name, in any order.
int64_t differing(const std::vector<LoraMatrix>& got, const std::vector<LoraMatrix>& want) {
  const int64_t missing = static_cast<int64_t>(want.size()) - static_cast<int64_t>(got.size());
  return std::abs(missing) + std::count_if(want.begin(), want.end(), [&](const LoraMatrix& one) {
           return std::none_of(got.begin(), got.end(), [&](const LoraMatrix& other) {
             return other.name == one.name && other.shape == one.shape && other.values == one.values;
           });
         });
}

std::vector<float> logits_of(Device device, const Graph& g, std::vector<HostTensor> weights,
                             std::span<const LoraMatrix> matrices, std::span<const int32_t> ids, int64_t vocabulary) {
  for (const HostTensor& tensor : host_tensors(matrices)) weights.push_back(tensor);
  Plan plan = test::compiled(device, g, test::uploaded(device, weights));
  std::vector<float> logits(ids.size() * static_cast<size_t>(vocabulary));
  REQUIRE(plan.run({{"ids", ids}, {"logits", logits}}) == Status::Ok);
  return logits;
}

}  // namespace

TEST_CASE("lora: a product with an adapter, and its gradients, on every device", "[train][lora]") {
  for (const ops::TestDevice& test : ops::test_devices())
    for (const DType dtype : {DType::F32, DType::Q8_0, DType::Q4_1}) check_product(test, dtype);
}

TEST_CASE("lora: weights that are stored as [in, out], and rows of 16 bits", "[train][lora]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    Graph g;
    const Tensor w = g.weight("h.0.proj.weight", {kIn, kOut});
    g.output("y", g.linear(g.input("x", {kRows, kIn}), g.transpose(w, 0, 1)));
    Lora lora({.rank = kRank, .modules = {"proj"}});
    REQUIRE(lora.choose(g) == Status::Ok);
    CHECK(lora.adapters()[0].in_out);
    CHECK(lora.adapters()[0].in == kIn);
    lora.apply(g);
    test::Tensors tensors;
    tensors.add("h.0.proj.weight", {kIn, kOut}, 1);
    const std::vector<LoraMatrix> matrices = drawn(lora, 5);
    std::vector<HostTensor> all = tensors.list();
    for (const HostTensor& tensor : host_tensors(matrices)) all.push_back(tensor);
    const std::vector<float> x = test::pattern(kRows * kIn, 9);
    std::vector<float> y(kRows * kOut), merged_y(y.size()), merged(kIn * kOut);
    Device device = test.device;
    REQUIRE(test::compiled(device, g, test::uploaded(device, all)).run({{"x", x}, {"y", y}}) == Status::Ok);
    REQUIRE(lora.merge(all[0], matrices, merged) == Status::Ok);
    for (size_t r = 0; r < kRows; ++r)
      for (size_t o = 0; o < kOut; ++o)
        for (size_t i = 0; i < kIn; ++i) merged_y[r * kOut + o] += x[r * kIn + i] * merged[i * kOut + o];
    CHECK(test::difference(y.data(), merged_y) == "");
  }
}

TEST_CASE("lora: only adapters learn, and a step lowers the loss", "[train][lora]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    Graph g;
    const Tensor ids = g.input("ids", {1, 8}, DType::I32), labels = g.input("labels", {1, 8}, DType::I32);
    const Tensor logits = nn::decoder(g, ids, kTiny, {.all_logits = true}).logits;
    test::Tensors weights;
    weights.add_weights_of(g);
    Lora lora({.rank = 2, .modules = {"q_proj", "down_proj"}, .layers = {1}});
    REQUIRE(lora.choose(g) == Status::Ok);
    REQUIRE(lora.adapters().size() == 2);
    lora.apply(g);
    const Tensor loss = g.mean(g.reshape(g.cross_entropy(logits, labels), {1, 8}), 1);
    Optimizer optimizer;
    REQUIRE(lora.add_to(&optimizer) == Status::Ok);
    const size_t before = g.data().nodes.size();
    const std::vector<Tensor> d = gradients(g, loss, optimizer.weights(g));
    for (size_t n = before; n < g.data().nodes.size(); ++n)  // no gradient reaches the first layer
      CHECK(g.data().nodes[n].label.find("layers.0") == std::string::npos);
    g.output("loss", loss);
    g.output("report", optimizer.step(g, d, optimizer.settings(g)));
    Device device = test.device;
    Plan plan = test::compiled(device, g, test::uploaded(device, weights.list()), {.training = true});
    State state = test::state_of(plan);
    // Weights, gradients and both moments have 2 (16 + 16) + 2 (24 + 16) elements, plus the step count; independent of alignment.
    CHECK(state.bytes() < 4 * 4 * (2 * 32 + 2 * 40) + 1024);
    std::vector<LoraMatrix> begin;
    REQUIRE(lora.initial(3, &begin) == Status::Ok);
    REQUIRE(optimizer.load(state, host_tensors(begin)) == Status::Ok);
    StepWords words;
    REQUIRE(step_words(UpdateRule::AdamW, {.rate = 0.02f}, &words) == Status::Ok);
    const std::vector<int32_t> tokens = {1, 5, 2, 8, 3, 0, 9, 4}, after = {5, 2, 8, 3, 0, 9, 4, -100};
    std::vector<float> losses;
    for (int step = 0; step < 12; ++step) {
      float now = 0.0f;
      StepReport report;
      REQUIRE(plan.run({{"ids", tokens},
                        {"labels", after},
                        {"optimizer.settings", words},
                        {"loss", std::span(&now, 1)},
                        {"report", std::as_writable_bytes(std::span(&report, 1))}},
                       {}, {.state = state}) == Status::Ok);
      CHECK(report.taken == 1.0f);
      losses.push_back(now);
    }
    CHECK(losses.back() < 0.7f * losses.front());
    // The first loss is that of the model alone, since B begins as zeros.
    const Graph plain = decoder(kTiny, 8);
    const std::vector<float> alone = logits_of(device, plain, weights.list(), {}, tokens, kTiny.vocabulary);
    double sum = 0.0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      double total = 0.0;
      const float* const row = alone.data() + i * static_cast<size_t>(kTiny.vocabulary);
      for (int64_t v = 0; v < kTiny.vocabulary; ++v) total += std::exp(static_cast<double>(row[v]));
      sum += std::log(total) - static_cast<double>(row[after[i]]);
    }
    CHECK(std::abs(sum / 8.0 - static_cast<double>(losses[0])) < 1e-4);
    std::vector<LoraMatrix> learned = begin;
    CHECK(lora.read(Optimizer(), state, &learned) == Status::NotFound);
    CHECK(differing(learned, begin) == 0);
    REQUIRE(lora.read(optimizer, state, &learned) == Status::Ok);
    REQUIRE(learned.size() == 4);
    CHECK(learned[1].values != std::vector<float>(learned[1].values.size()));

    // Adapters kept apart, read from uploaded tensors, or merged into the weights give the same logits.
    Graph apart = decoder(kTiny, 8);
    lora.apply(apart);
    std::vector<HostTensor> merged = weights.list();
    std::vector<std::vector<float>> memory(merged.size());
    for (size_t i = 0; i < merged.size(); ++i) {
      memory[i].resize(merged[i].data.size() / 4);
      REQUIRE(lora.merge(merged[i], learned, memory[i]) == Status::Ok);
      merged[i].data = std::as_bytes(std::span(memory[i]));
    }
    const std::vector<float> a = logits_of(device, apart, weights.list(), learned, tokens, kTiny.vocabulary);
    CHECK(test::difference(logits_of(device, plain, merged, {}, tokens, kTiny.vocabulary).data(), a) == "");
    CHECK(test::difference(alone.data(), a) != "");
  }
}

// PEFT 0.10 and later save adapters of LlamaForCausalLM under these names: get_peft_model_state_dict leaves the adapter's name out.
TEST_CASE("lora: files have PEFT's names", "[train][lora]") {
  const test::ScratchFolder folder;
  Lora lora({.rank = 4, .alpha = 8.0f, .dropout = 0.05f, .modules = {"q_proj", "v_proj", "mlp.down_proj"}});
  REQUIRE(lora.choose(decoder(kTiny)) == Status::Ok);
  const std::vector<LoraMatrix> matrices = drawn(lora, 3);
  REQUIRE(lora.save(folder.path() + "/new", matrices, "a \"model\"") == Status::Ok);
  const SafeTensors file = test::opened<SafeTensors>(folder.path() + "/new/adapter_model.safetensors", stderr_log());
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const SafeTensors::Entry& entry : file.entries()) shapes[entry.name] = entry.shape;
  std::map<std::string, std::vector<int64_t>> wanted;
  for (const std::string layer : {"0", "1"}) {
    const std::string start = "base_model.model.model.layers." + layer;
    wanted[start + ".self_attn.q_proj.lora_A.weight"] = {4, 16};
    wanted[start + ".self_attn.q_proj.lora_B.weight"] = {16, 4};
    wanted[start + ".self_attn.v_proj.lora_A.weight"] = {4, 16};
    wanted[start + ".self_attn.v_proj.lora_B.weight"] = {8, 4};
    wanted[start + ".mlp.down_proj.lora_A.weight"] = {4, 24};
    wanted[start + ".mlp.down_proj.lora_B.weight"] = {16, 4};
  }
  CHECK(shapes == wanted);
  CHECK(file.metadata("format") == "pt");
  const nlohmann::json settings = nlohmann::json::parse(test::read_file(folder.path() + "/new/adapter_config.json"));
  CHECK(settings.at("peft_type") == "LORA");
  CHECK(settings.at("task_type") == "CAUSAL_LM");
  CHECK(settings.at("base_model_name_or_path") == "a \"model\"");
  CHECK(settings.at("r") == 4);
  CHECK(settings.at("lora_alpha") == 8.0);
  CHECK(std::abs(settings.at("lora_dropout").get<double>() - 0.05) < 1e-6);
  CHECK(settings.at("target_modules") == nlohmann::json({"q_proj", "v_proj", "mlp.down_proj"}));
  CHECK(settings.at("layers_to_transform").is_null());
  CHECK(settings.at("fan_in_fan_out") == false);
  CHECK(settings.at("bias") == "none");

  Lora again;
  std::vector<LoraMatrix> read;
  REQUIRE(Lora::open(folder.path() + "/new", {}, stderr_log(), &again, &read) == Status::Ok);
  CHECK(again.options().rank == 4);
  CHECK(again.options().alpha == 8.0f);
  CHECK(again.options().modules == lora.options().modules);
  CHECK(differing(read, matrices) == 0);
  Graph g = decoder(kTiny);
  again.apply(g);
  CHECK(g.status() == Status::Ok);
}

// GGUF files permute the rows of queries and keys. Adapters of the Hugging Face model, read for the GGUF file, must give the results of the
// Hugging Face model.
TEST_CASE("lora: adapters of Hugging Face's order fit models of GGUF files", "[train][lora]") {
  const DecoderModel model = test::opened_model(test::tiny_gguf("llama"));
  DecoderConfig config = model.config();
  REQUIRE(config.rotary.pairs == RotaryPairs::Adjacent);
  config.rotary.pairs = RotaryPairs::Halves;
  const SafeTensors file = test::tiny_decoder("llama").file;
  const std::vector<int32_t> ids = {3, 1, 4, 1, 5};
  Graph halves = decoder(config);
  Lora lora({.rank = 2, .alpha = 1.0f, .modules = {"q_proj", "k_proj", "v_proj", "o_proj"}});
  REQUIRE(lora.choose(halves) == Status::Ok);
  lora.apply(halves);
  const std::vector<LoraMatrix> matrices = drawn(lora, 9);
  const test::ScratchFolder folder;
  REQUIRE(lora.save(folder.path(), matrices, "tiny") == Status::Ok);

  Lora turned;
  std::vector<LoraMatrix> read;
  REQUIRE(Lora::open(folder.path(), {.decoder = model.config()}, stderr_log(), &turned, &read) == Status::Ok);
  Graph adjacent;
  adjacent.output("logits",
                  model.build(adjacent, adjacent.input("ids", {1, 5}, DType::I32), {.all_logits = true}).logits);
  const Graph plain = adjacent;
  turned.apply(adjacent);
  Device cpu = test::open_cpu();
  const std::vector<HostTensor> gguf(model.tensors().begin(), model.tensors().end());
  const std::vector<float> want = logits_of(cpu, halves, file.host_tensors(), matrices, ids, config.vocabulary);
  const std::vector<float> got = logits_of(cpu, adjacent, gguf, read, ids, config.vocabulary);
  const std::vector<float> alone = logits_of(cpu, plain, gguf, {}, ids, config.vocabulary);
  double apart = 0.0, changed = 0.0;
  for (size_t i = 0; i < want.size(); ++i) {
    apart = std::max(apart, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
    changed = std::max(changed, std::abs(static_cast<double>(alone[i]) - static_cast<double>(want[i])));
  }
  CHECK(apart < 1e-3);
  CHECK(changed > 0.05);
  // Saving them restores Hugging Face's order of rows.
  REQUIRE(turned.save(folder.path() + "/back", read, "tiny") == Status::Ok);
  Lora back;
  REQUIRE(Lora::open(folder.path() + "/back", {}, stderr_log(), &back, &read) == Status::Ok);
  CHECK(differing(read, matrices) == 0);
}

TEST_CASE("lora: mistakes", "[train][lora]") {
  test::Messages messages;
  const Log log = messages.log();
  const Graph g = decoder(kTiny);
  const auto choose = [&](const LoraOptions& options) { return Lora(options).choose(g, log); };
  CHECK(choose({.modules = {"proj"}}) == Status::NotFound);
  CHECK(choose({.layers = {2}}) == Status::NotFound);
  CHECK(choose({.rank = 0}) == Status::InvalidArgument);
  CHECK(choose({.dropout = 1.0f}) == Status::InvalidArgument);
  CHECK(choose({.modules = {"embed_tokens"}}) == Status::Unsupported);  // the embedding reads rows, too
  CHECK(messages.mention("embedding"));
  Graph cut;
  cut.output("y", cut.linear(cut.input("x", {2, 4}), cut.slice(cut.weight("a.proj.weight", {6, 4}), 0, 2, 3)));
  CHECK(Lora({.modules = {"proj"}}).choose(cut, log) == Status::Unsupported);

  Lora lora;
  REQUIRE(lora.choose(g) == Status::Ok);
  Graph twice = g;
  lora.apply(twice);
  CHECK(twice.status() == Status::Ok);
  lora.apply(twice);
  CHECK(twice.status() == Status::InvalidArgument);
  Graph none;
  lora.apply(none);
  CHECK(none.status() == Status::MissingWeight);
  DecoderConfig wider = kTiny;
  wider.width = 32;
  Graph other = decoder(wider);
  lora.apply(other);
  CHECK(other.status() == Status::ShapeMismatch);

  const std::vector<LoraMatrix> matrices = drawn(lora, 1);
  const test::Tensors weights = [] {
    test::Tensors t;
    t.add("model.layers.0.self_attn.q_proj.weight", {16, 16}, 1);
    return t;
  }();
  std::vector<float> values(256), few(255);
  CHECK(lora.merge(weights.list()[0], matrices, few) == Status::ShapeMismatch);
  CHECK(lora.merge(weights.list()[0], {}, values) == Status::MissingWeight);
  HostTensor whole = weights.list()[0];
  whole.dtype = DType::I32;
  const std::vector<float> before = values;
  CHECK(lora.merge(whole, matrices, values) == Status::DTypeMismatch);
  CHECK(values == before);
}

TEST_CASE("lora: adapters that no memory holds", "[train][lora]") {
  // A of 65,536 rows beside a weight of one row: 512 TiB.
  const auto chosen = [](int64_t rank, int64_t width) {
    Graph g;
    g.output("y", g.linear(g.input("x", {1, width}, DType::F16), g.weight("proj.weight", {1, width}, DType::F16)));
    Lora lora({.rank = rank, .modules = {"proj"}});
    REQUIRE(lora.choose(g, stderr_log()) == Status::Ok);
    return lora;
  };
  std::vector<LoraMatrix> matrices(1);
  CHECK(chosen(65536, INT32_MAX).initial(1, &matrices) == Status::OutOfMemory);
  CHECK(matrices.size() == 1);
  // A with 512 elements and B with one, as in a State. Once the State has memory for the larger, and once it does not.
  constexpr int64_t kWide = 512;
  Optimizer optimizer, absurd;
  REQUIRE(chosen(1, kWide).add_to(&optimizer) == Status::Ok);
  REQUIRE(chosen(1, INT32_MAX).add_to(&absurd) == Status::Ok);
  Graph g;
  g.output("y", g.scale(g.state("optimizer.0.weights", {kWide + 16}), 2.0f));
  Device cpu = test::open_cpu();
  State state = test::state_of(test::compiled(cpu, g));
  const Lora lora = chosen(1, kWide), absurd_lora = chosen(1, INT32_MAX);
  {
    const test::LimitNews limit(4 * kWide - 1);
    CHECK(lora.read(optimizer, state, &matrices) == Status::OutOfMemory);
    CHECK(absurd_lora.read(absurd, state, &matrices) == Status::ShapeMismatch);
  }
  CHECK(matrices.size() == 1);
  CHECK(lora.read(optimizer, state, &matrices) == Status::Ok);
  CHECK(matrices.size() == 2);
}

TEST_CASE("lora: what would not be read back is not saved", "[train][lora]") {
  const test::ScratchFolder folder;
  test::Messages messages;
  const Log log = messages.log();
  const auto save = [&](const LoraOptions& options, const std::string& base,
                        const std::function<void(std::vector<LoraMatrix>*)>& change = {}) {
    const std::string path = folder.path() + "/saved";
    std::filesystem::remove_all(path);
    Lora lora({.rank = 2});
    REQUIRE(lora.choose(decoder(kTiny)) == Status::Ok);
    std::vector<LoraMatrix> matrices = drawn(lora, 1);
    if (change) change(&matrices);
    const Status status = Lora(options).save(path, matrices, base, log);
    CHECK(std::filesystem::exists(path) == (status == Status::Ok));
    Lora again;
    std::vector<LoraMatrix> read;
    if (status == Status::Ok) CHECK(Lora::open(path, {}, log, &again, &read) == Status::Ok);
    return status;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(save({.rank = 2, .alpha = 3e38f, .dropout = std::nextafter(1.0f, 0.0f)}, "a \xF0\x9F\x98\x80 model") ==
        Status::Ok);
  CHECK(save({.rank = 2}, "\xFF") == Status::InvalidArgument);
  CHECK(messages.mention("is not UTF-8"));
  CHECK(save({.rank = 2, .modules = {"\xC3"}}, "base") == Status::InvalidArgument);
  CHECK(save({.rank = 2, .alpha = infinity}, "base") == Status::InvalidArgument);
  CHECK(save({.rank = 2, .alpha = std::nanf("")}, "base") == Status::InvalidArgument);
  CHECK(save({.rank = 2, .dropout = 1.0f}, "base") == Status::InvalidArgument);
  CHECK(save({.rank = 0}, "base") == Status::InvalidArgument);
  CHECK(save({.rank = 3}, "base") == Status::ShapeMismatch);
  CHECK(save({.rank = 2, .prefix = "other."}, "base") == Status::InvalidArgument);
  using Matrices = std::vector<LoraMatrix>;
  CHECK(save({.rank = 2}, "base", [](Matrices* m) { (*m)[0].name.insert(17, "\xED\xA0\x80"); }) ==
        Status::InvalidArgument);
  CHECK(save({.rank = 2}, "base", [](Matrices* m) { (*m)[0].name = "weight"; }) == Status::InvalidArgument);
  CHECK(save({.rank = 2}, "base", [](Matrices* m) { m->push_back((*m)[0]); }) == Status::InvalidArgument);
  CHECK(save({.rank = 2}, "base", [](Matrices* m) { m->pop_back(); }) == Status::ShapeMismatch);
  CHECK(save({.rank = 2}, "base", [](Matrices* m) { m->clear(); }) == Status::InvalidArgument);
  CHECK(save({.rank = 2}, "base", [](Matrices* m) { (*m)[0].shape = {INT64_MAX, 4}; }) == Status::ShapeMismatch);
}

TEST_CASE("lora: files that are damaged, or of other kinds", "[train][lora]") {
  const test::ScratchFolder folder;
  Lora lora;
  REQUIRE(lora.choose(decoder(kTiny)) == Status::Ok);
  const std::vector<LoraMatrix> matrices = drawn(lora, 1);
  REQUIRE(lora.save(folder.path(), matrices, "tiny") == Status::Ok);
  const std::string settings = test::read_file(folder.path() + "/adapter_config.json");
  test::Messages messages;
  const Log log = messages.log();
  const auto open_with = [&](const std::string& from, const std::string& to) {
    std::string text = settings;
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    folder.write("adapter_config.json", text);
    Lora read({.rank = 77});
    std::vector<LoraMatrix> values(1);
    const Status status = Lora::open(folder.path(), {}, log, &read, &values);
    if (status != Status::Ok) {
      CHECK(read.options().rank == 77);
      CHECK(values.size() == 1);
    }
    return status;
  };
  CHECK(open_with("\"LORA\"", "\"LORA\"") == Status::Ok);
  CHECK(open_with("\"LORA\"", "\"IA3\"") == Status::Unsupported);
  CHECK(open_with("\"none\"", "\"all\"") == Status::Unsupported);
  CHECK(open_with("\"r\": 8", "\"use_dora\": true, \"r\": 8") == Status::Unsupported);
  CHECK(open_with("\"r\": 8", "\"rank_pattern\": {\"q_proj\": 4}, \"r\": 8") == Status::Unsupported);
  CHECK(open_with("\"r\": 8", "\"r\": 4") == Status::ShapeMismatch);
  CHECK(messages.mention("rank of 4"));
  CHECK(open_with("\"r\": 8", "\"r\": -1") == Status::InvalidFile);
  CHECK(open_with("{", "") == Status::InvalidFile);
  Lora unread;
  std::vector<LoraMatrix> no_values;
  CHECK(Lora::open(folder.path() + "/none", {}, log, &unread, &no_values) == Status::NotFound);
  folder.write("adapter_config.json", settings);
  Lora read;
  std::vector<LoraMatrix> values;
  CHECK(Lora::open(folder.path(), {.prefix = "base_model.model.transformer."}, log, &read, &values) ==
        Status::Unsupported);
  folder.write("adapter_model.safetensors", "no tensors");
  CHECK(Lora::open(folder.path(), {}, log, &read, &values) == Status::InvalidFile);
  folder.write("file", "");
  CHECK(lora.save(folder.path() + "/file/x", matrices, "tiny", log) == Status::FileError);
}

}  // namespace heed::train
