// Options that affect bits, through the C interface: plans, vectors and answers equal those of C++, and devices that refuse give the same
// message.
#include <functional>

#include <heed/custom.hpp>
#include <heed/reproducible.hpp>

#include "c/speaker.hpp"
#include "search/support.hpp"

namespace heed::test {
namespace {

// A device of this machine, opened through C and through C++.
struct Twin {
  explicit Twin(const std::string& word) : word(word), device(open_c(word.c_str())) {
    REQUIRE(Device::open({.select = word, .log = messages.log(), .self_test = false}, &plain) == Status::Ok);
  }
  // Whether both calls succeeded. If not, both must fail because of the device, with the same message.
  bool agree(heed_status got, Status wanted) {
    const std::string said = heed_last_message(), meant = messages.take();
    INFO(word << ": C says '" << said << "', C++ '" << meant << "'");
    REQUIRE(got == static_cast<heed_status>(wanted));
    if (wanted == Status::Ok) return true;
    CHECK(wanted == Status::Unsupported);
    CHECK(plain.info().kind != DeviceKind::Cpu);
    CHECK(meant.find(said) != std::string::npos);
    return false;
  }

  const std::string word;
  KeptDevice device;
  Messages messages;
  Device plain;
};

void on_every_device(const std::function<void(Twin&)>& test) {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  for (const DeviceInfo& info : devices) {
    if (!info.usable) continue;
    INFO(info.word);
    Twin twin(info.word);
    test(twin);
  }
}

// softmax(x w). Each device sums in another order, unless the plan is reproducible.
constexpr int64_t kRows = 5, kIn = 67, kOut = 33;
heed_tensor build(heed_graph* g) {
  const heed_dim shapes[][2] = {{kRows, kIn}, {kIn, kOut}};
  const heed_tensor x = heed_graph_input(g, "x", shapes[0], 2, HEED_F32);
  const heed_tensor w = heed_graph_input(g, "w", shapes[1], 2, HEED_F32);
  return heed_graph_softmax(g, heed_graph_matmul(g, x, w, nullptr), nullptr);
}
Tensor build(Graph& g) { return g.softmax(g.matmul(g.input("x", {kRows, kIn}), g.input("w", {kIn, kOut}))); }

}  // namespace

TEST_CASE("C: reproducible plans have C++'s bits on every device", "[c][reproducible]") {
  const std::vector<float> x = pattern(kRows * kIn, 1), w = pattern(kIn * kOut, 2);
  std::vector<float> known(kRows * kOut);
  Graph g;
  g.output("y", build(g));
  KeptGraph graph(heed_graph_create);
  done(heed_graph_output(graph, "y", build(graph)));
  auto options = sized<heed_compile_options>();
  options.reproducible = 1;
  Plan on_cpu = compiled(open_cpu(), g, {}, {.reproducible = true});
  REQUIRE(on_cpu.run({{"x", x}, {"w", w}, {"y", known}}) == Status::Ok);
  on_every_device([&](Twin& twin) {
    KeptPlan plan;
    Plan plain;
    if (!twin.agree(heed_device_compile(twin.device, graph, nullptr, &options, plan.out()),
                    twin.plain.compile(g, {}, &plain, {.reproducible = true})))
      return;
    REQUIRE(heed_plan_pass_count(plan) == plain.passes().size());
    auto pass = sized<heed_pass_info>();
    for (size_t i = 0; i < plain.passes().size(); ++i) {
      done(heed_plan_pass(plan, i, &pass));
      CHECK(pass.kernel == plain.passes()[i].kernel);
      CHECK(pass.why == plain.passes()[i].why);
    }
    std::vector<float> y(known.size());
    run(plan, {in("x", x), in("w", w)}, {out("y", y)});
    CHECK(y == known);
  });
}

TEST_CASE("C: what reproducible plans cannot have is refused in C++'s words", "[c][reproducible]") {
  Twin cpu("cpu");
  Graph g;
  const CustomOutput outputs[] = {{{4}}};
  const CustomFunction nothing = {[](void*, const CustomCall&) {}, nullptr};
  g.output("y", g.custom({.name = "nothing", .outputs = outputs, .cpu = nothing}, {g.input("x", {4})}).outputs[0]);
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {4};
  const heed_custom_output output = {shape, 1, HEED_F32, 0};
  auto pass = sized<heed_custom_pass>();
  pass.name = "nothing", pass.outputs = &output, pass.output_count = 1;
  pass.cpu = [](void*, const heed_custom_call*) {};
  heed_tensor x = heed_graph_input(graph, "x", shape, 1, HEED_F32), y{};
  done(heed_graph_custom(graph, &pass, &x, 1, &y));
  done(heed_graph_output(graph, "y", y));
  auto options = sized<heed_compile_options>();
  options.reproducible = 1;
  heed_plan* none = nullptr;
  Plan plain;
  CHECK(cpu.plain.compile(g, {}, &plain, {.reproducible = true}) == Status::Unsupported);
  refused(heed_device_compile(cpu.device, graph, nullptr, &options, &none), HEED_UNSUPPORTED, "reproducible plans");
  CHECK(cpu.messages.text.find(heed_last_message()) != std::string::npos);
  CHECK(none == nullptr);
  options.reproducible = 0;
  KeptPlan plan(heed_device_compile, cpu.device, graph, nullptr, &options);
}

TEST_CASE("C: fingerprints of operations are C++'s", "[c][reproducible]") {
  on_every_device([](Twin& twin) {
    heed_bits_report* report = nullptr;
    std::vector<OperationBits> operations;
    if (!twin.agree(heed_device_operation_bits(twin.device, &report), operation_bits(twin.plain, &operations))) {
      CHECK(report == nullptr);
      return;
    }
    REQUIRE(heed_bits_report_count(report) == operations.size());
    CHECK(operations.size() >= 14);
    auto bits = sized<heed_operation_bits>();
    for (size_t i = 0; i < operations.size(); ++i) {
      done(heed_bits_report_get(report, i, &bits));
      INFO(bits.operation);
      CHECK(bits.operation == operations[i].operation);
      CHECK(bits.bits == operations[i].bits);
      CHECK(bits.known == bits.bits);
    }
    refused(heed_bits_report_get(report, operations.size(), &bits), HEED_INDEX_OUT_OF_RANGE, "there is no");
    done(heed_bits_report_destroy(report));
    refused(heed_bits_report_destroy(report), HEED_INVALID_ARGUMENT, "was destroyed");
  });
}

TEST_CASE("C: reproducible sentence vectors have C++'s bits on every device", "[c][reproducible]") {
  const char* texts[] = {"the sword", "where can I buy a very long sword in this town, smith?"};
  const std::string_view views[] = {texts[0], texts[1]};
  auto options = sized<heed_text_encoder_options>();
  options.reproducible = 1;
  TextEncoder on_cpu = opened(open_cpu(), tiny_folder(), {.reproducible = true});
  std::vector<float> known(2 * static_cast<size_t>(on_cpu.width()));
  REQUIRE(on_cpu.encode(views, known) == Status::Ok);
  on_every_device([&](Twin& twin) {
    KeptEncoder encoder;
    TextEncoder plain;
    if (!twin.agree(
            heed_text_encoder_open(twin.device, tiny_folder().c_str(), &options, encoder.out()),
            TextEncoder::open(twin.plain, tiny_folder(), {.reproducible = true, .log = twin.messages.log()}, &plain)))
      return;
    std::vector<float> vectors(known.size());
    done(heed_text_encoder_encode(encoder, texts, 2, vectors.data(), vectors.size(), nullptr));
    CHECK(vectors == known);
  });
}

TEST_CASE("C: reproducible answers have C++'s tokens on every device", "[c][talk][reproducible]") {
  auto options = sized<heed_text_generator_options>();
  options.context = 128;
  options.reproducible = 1;
  const TextGenerator on_cpu = tiny_speaker(open_cpu(), {.reproducible = true});
  TextConversation wanted = prompted(on_cpu, drawn(11, 20), kAsked);
  const Told known = tell(wanted);
  on_every_device([&](Twin& twin) {
    KeptGenerator generator;
    TextGenerator plain;
    const TextGeneratorOptions wishes = {.context = 128, .reproducible = true, .log = twin.messages.log()};
    if (!twin.agree(heed_text_generator_open(twin.device, kTinySpeaker.c_str(), &options, generator.out()),
                    TextGenerator::open(twin.plain, kTinySpeaker, wishes, &plain)))
      return;
    KeptConversation conversation = begin_drawn(generator, 11, 20);
    done(heed_conversation_prompt(conversation, kAsked, 1));
    CHECK(tell_in_c(conversation) == known);
    KeptPlan plan(heed_text_generator_plan, generator);
    REQUIRE(heed_plan_pass_count(plan) == plain.plan().passes().size());
    auto pass = sized<heed_pass_info>();
    for (size_t i = 0; i < plain.plan().passes().size(); ++i) {
      done(heed_plan_pass(plan, i, &pass));
      CHECK(pass.kernel == plain.plan().passes()[i].kernel);
    }
  });
}

TEST_CASE("C: rows are rounded for quantized weights as in C++", "[c]") {
  // Blocks of Q8_0: a scale of 1, as f16, and 32 integers.
  constexpr size_t kBlocks = kOut * 2, kBlock = 34;
  std::vector<uint8_t> blocks(kBlocks * kBlock);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<uint8_t>(i * 37);
  for (size_t i = 0; i < kBlocks; ++i) blocks[i * kBlock] = 0x00, blocks[i * kBlock + 1] = 0x3c;
  const int64_t shape[] = {kOut, 64};
  const heed_host_tensor tensors[] = {{"w", shape, 2, blocks.data(), blocks.size(), HEED_Q8_0, 0}};
  const HostTensor plain_tensors[] = {{"w", DType::Q8_0, shape, std::as_bytes(std::span(blocks))}};
  KeptDevice device = open_c("cpu");
  KeptWeights weights(heed_device_upload, device, tensors, 1, nullptr);
  const Device cpu = open_cpu();
  const Weights plain_weights = uploaded(cpu, plain_tensors);
  Graph g;
  g.output("y", g.matmul(g.input("x", {kRows, 64}), g.weight("w", {kOut, 64}, DType::Q8_0), {.transpose_b = true}));
  KeptGraph graph(heed_graph_create);
  const heed_dim x_shape[] = {kRows, 64}, w_shape[] = {kOut, 64};
  auto product = sized<heed_matmul_options>();
  product.transpose_b = 1;
  const heed_tensor x_in = heed_graph_input(graph, "x", x_shape, 2, HEED_F32);
  const heed_tensor w_in = heed_graph_weight(graph, "w", w_shape, 2, HEED_Q8_0);
  done(heed_graph_output(graph, "y", heed_graph_matmul(graph, x_in, w_in, &product)));
  const std::vector<float> x = pattern(kRows * 64, 5);
  for (const bool rounds : {false, true}) {
    auto options = sized<heed_compile_options>();
    options.round_rows = rounds;
    KeptPlan plan(heed_device_compile, device, graph, weights, &options);
    std::vector<float> y(kRows * kOut), wanted(y.size());
    run(plan, {in("x", x)}, {out("y", y)});
    Plan plain = compiled(cpu, g, plain_weights, {.round_rows = rounds});
    REQUIRE(plain.run({{"x", x}, {"y", wanted}}) == Status::Ok);
    CHECK(y == wanted);
    auto pass = sized<heed_pass_info>();
    done(heed_plan_pass(plan, 0, &pass));
    CHECK(pass.why == plain.passes()[0].why);  // shows whether rows are rounded
  }
}

}  // namespace heed::test
