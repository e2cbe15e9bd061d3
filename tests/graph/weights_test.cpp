// Weights that a graph declares, and those that were uploaded.
#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "interpreter/device.hpp"
#include "kernels/dispatch.hpp"

using namespace heed;
using namespace heed::test;

namespace {

Graph two_layers() {
  Graph g;
  const Tensor x = g.input("x", {2, 4});
  const Tensor first = g.weight("0.weight", {6, 4}), first_bias = g.weight("0.bias", {6});
  const Tensor second = g.weight("1.weight", {3, 6}), second_bias = g.weight("1.bias", {3});
  g.output("y", g.linear(g.linear(x, first, first_bias), second, second_bias));
  return g;
}

}  // namespace

TEST_CASE("weights: a graph lists what it asks for, in the order of its calls", "[graph]") {
  Graph g = two_layers();
  (void)g.weight("0.bias", {6});
  (void)g.weight("table", {5, 32}, DType::Q8_0);
  const std::vector<WeightInfo> all = g.weights();
  REQUIRE(all.size() == 5);
  CHECK((all[0].name == "0.weight" && all[0].shape.dims == Shape{6, 4}.dims && all[0].dtype == DType::F32));
  CHECK((all[1].name == "0.bias" && all[3].name == "1.bias"));
  CHECK((all[4].name == "table" && all[4].shape.dims == Shape{5, 32}.dims && all[4].dtype == DType::Q8_0));
}

TEST_CASE("weights: one message names all that are missing, wrong or not used, on every device", "[graph][ops]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    Device device = on.device;
    Tensors tensors;
    tensors.add("0.weight", {6, 4}, 1);
    tensors.add("0.bias", {5}, 2);
    tensors.add("model.1.weight", {3, 6}, 3);
    const Weights wrong = uploaded(device, tensors.list());
    Plan plan;
    ops::take_messages();
    CHECK(device.compile(two_layers(), wrong, &plan) == Status::MissingWeight);
    CHECK_FALSE(plan.valid());
    const std::string text = last_message();
    CHECK(ops::take_messages() == std::vector<std::string>{text});
    CHECK(text ==
          "compile: there is no weight '1.weight' (f32 [3, 6] is needed), '1.bias' (f32 [3] is needed); weight "
          "'0.bias' is "
          "f32 [5]; the graph says f32 [6]; no graph uses the uploaded 'model.1.weight'");
    CHECK(device.compile(two_layers(), {}, &plan) == Status::MissingWeight);
    ops::take_messages();

    tensors = {};
    tensors.add_weights_of(two_layers());
    tensors.add("a", {1}, 4);
    tensors.add("b", {2, 2}, 5);
    const Weights more = uploaded(device, tensors.list());
    const char* const unused = "compile: no graph uses the uploaded 'a', 'b'";
    CHECK(device.compile(two_layers(), more, &plan, {.strict = true}) == Status::InvalidArgument);
    CHECK(last_message() == std::string(unused));
    CHECK(ops::take_messages() == std::vector<std::string>{unused});
    std::vector<float> x(8), y(6);
    const auto run = [&] { return plan.run({{"x", x}, {"y", y}}); };
    CHECK(device.compile(two_layers(), more, &plan) == Status::Ok);
    CHECK(run() == Status::Ok);
    CHECK(ops::take_messages().empty());  // they were named before

    const Weights again = uploaded(device, tensors.list());
    CHECK(device.compile(two_layers(), again, &plan) == Status::Ok);
    CHECK(ops::take_messages().empty());  // a later graph may use them
    CHECK(run() == Status::Ok);
    CHECK(ops::take_messages() == std::vector<std::string>{"run: no graph uses the uploaded 'a', 'b'"});
    CHECK(run() == Status::Ok);
    CHECK(ops::take_messages().empty());
    Graph other;  // names one of them; what an earlier graph has named is used, too
    other.output("y", other.scale(other.weight("a", {1}), 2));
    CHECK(device.compile(other, again, &plan, {.strict = true}) == Status::InvalidArgument);
    CHECK(ops::take_messages() == std::vector<std::string>{"compile: no graph uses the uploaded 'b'"});
    other.output("z", other.scale(other.weight("b", {2, 2}), 2));
    CHECK(device.compile(other, again, &plan, {.strict = true}) == Status::Ok);
    CHECK(ops::take_messages().empty());

    // Two graphs that share what was uploaded, and a plan of each.
    const Weights shared = uploaded(device, tensors.list());
    Plan second;
    CHECK(device.compile(two_layers(), shared, &plan) == Status::Ok);
    CHECK(device.compile(other, shared, &second) == Status::Ok);
    CHECK(run() == Status::Ok);
    std::vector<float> a(1), b(4);
    CHECK(second.run({{"y", a}, {"z", b}}) == Status::Ok);
    CHECK(ops::take_messages().empty());
  }
}

namespace {

// A device that binds little memory, while this lives.
class Small {
 public:
  Small(Capabilities* device, uint64_t bytes) : device_(*device), before_(device->max_storage_range) {
    device->max_storage_range = bytes;
  }
  ~Small() { device_.max_storage_range = before_; }
  Small(const Small&) = delete;

 private:
  Capabilities& device_;
  uint64_t before_;
};

constexpr int64_t kRows = 300, kColumns = 32;

// The table is read by rows, and gives a column of the result by each.
Graph tied(DType type) {
  Graph g;
  const Tensor table = g.weight("table", {kRows, kColumns}, type), bias = g.weight("bias", {kRows});
  const Tensor x = g.embedding(table, g.input("ids", {5}, DType::I32), DType::F32);
  g.output("x", x);
  g.output("y", g.add(g.linear(x, table, bias), g.input("residual", {5, kRows})));
  return g;
}

struct TiedRun {
  std::vector<float> x = std::vector<float>(5 * kColumns), y = std::vector<float>(5 * kRows);
  Status status = Status::Ok;
};

TiedRun run_tied(Plan plan, const std::vector<int32_t>& ids) {
  TiedRun run;
  std::vector<float> residual(run.y.size());
  for (size_t i = 0; i < residual.size(); ++i) residual[i] = static_cast<float>(i % 7);
  run.status = plan.run({{"ids", ids}, {"residual", residual}, {"x", run.x}, {"y", run.y}});
  return run;
}

}  // namespace

TEST_CASE("weights: tables larger than a binding lie in parts, on every device", "[graph][ops]") {
  for (const ops::TestDevice& on : ops::test_devices())
    for (const DType type : {DType::F32, DType::F16}) {
      Capabilities* capabilities = interpreter::capabilities_of(on.device);
      if (capabilities == nullptr) continue;
      INFO(on.word << ", " << to_string(type));
      Device device = on.device;
      Tensors tensors;
      tensors.add_weights_of(tied(DType::F32));
      const UploadOptions upload = {.keep_dtype = false, .dtype = type, .only_matrices = true};
      const auto compiled_now = [&](bool reproducible) {
        Plan plan;
        const CompileOptions options = {.strict = true, .reproducible = reproducible};
        const Status status = device.compile(tied(type), uploaded(device, tensors.list(), upload), &plan, options);
        REQUIRE((status == Status::Ok || (reproducible && status == Status::Unsupported)));
        return plan;
      };
      const std::vector<int32_t> ids = {299, 0, 127, 128, 192}, wrong = {1, 300, 299, -1, 2};
      const TiedRun whole = run_tied(compiled_now(false), ids);
      const Plan canon = compiled_now(true);  // not on every device
      const std::optional<TiedRun> whole_bits = canon.valid() ? std::optional(run_tied(canon, ids)) : std::nullopt;
      const Small small(capabilities, 16384);
      CHECK(device.upload_bytes(tensors.list(), upload) >= static_cast<uint64_t>(kRows * kColumns) * size_of(type));
      const Plan plan = compiled_now(false);
      size_t embeddings = 0, products = 0;
      for (const PassInfo& pass : plan.passes()) {
        embeddings += pass.op == "embedding";
        products += pass.op == "matmul";
      }
      const size_t parts = type == DType::F32 ? 3 : 2;
      CHECK(embeddings == parts);
      CHECK(products == parts);
      const TiedRun divided = run_tied(plan, ids);
      CHECK(divided.x == whole.x);
      CHECK(difference(divided.y.data(), whole.y) == "");
      if (whole_bits) CHECK(run_tied(compiled_now(true), ids).y == whole_bits->y);
      // What is no id is one fault and a row of zeros, whatever the parts.
      const TiedRun faulty = run_tied(plan, wrong);
      CHECK(faulty.status == Status::IndexOutOfRange);
      ops::take_messages();
      CHECK(
          std::all_of(faulty.x.begin() + kColumns, faulty.x.begin() + 2 * kColumns, [](float v) { return v == 0.0f; }));
      CHECK(std::equal(faulty.x.begin() + 2 * kColumns, faulty.x.begin() + 3 * kColumns, whole.x.begin()));
    }
}

TEST_CASE("weights: what is not read by rows stays whole, and is refused with both numbers", "[graph][ops]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    Capabilities* capabilities = interpreter::capabilities_of(on.device);
    if (capabilities == nullptr) continue;
    INFO(on.word);
    Device device = on.device;
    const Small small(capabilities, 16384);
    Graph g;
    g.output("y", g.mean(g.weight("table", {kRows, kColumns}), 0));
    Tensors tensors;
    tensors.add_weights_of(g);
    Plan plan;
    ops::take_messages();
    CHECK(device.compile(g, uploaded(device, tensors.list()), &plan) == Status::Unsupported);
    CHECK_THAT(last_message(), holds("38400 bytes; this device binds at most 16384"));
    ops::take_messages();
  }
}
