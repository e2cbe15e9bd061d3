// Weights that a graph declares, compared with the uploaded ones.
#include "harness/devices.hpp"
#include "harness/setup.hpp"

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
    CHECK(ops::take_messages().empty());  // an earlier message has named them

    const Weights again = uploaded(device, tensors.list());
    CHECK(device.compile(two_layers(), again, &plan) == Status::Ok);
    CHECK(ops::take_messages().empty());  // a later graph may use them
    CHECK(run() == Status::Ok);
    CHECK(ops::take_messages() == std::vector<std::string>{"run: no graph uses the uploaded 'a', 'b'"});
    CHECK(run() == Status::Ok);
    CHECK(ops::take_messages().empty());
    Graph other;  // the message names one of them; weights of an earlier graph also count as used
    other.output("y", other.scale(other.weight("a", {1}), 2));
    CHECK(device.compile(other, again, &plan, {.strict = true}) == Status::InvalidArgument);
    CHECK(ops::take_messages() == std::vector<std::string>{"compile: no graph uses the uploaded 'b'"});
    other.output("z", other.scale(other.weight("b", {2, 2}), 2));
    CHECK(device.compile(other, again, &plan, {.strict = true}) == Status::Ok);
    CHECK(ops::take_messages().empty());

    // Two graphs that share uploaded weights, with a plan of each.
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
