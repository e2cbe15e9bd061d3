// Tuning on real drivers: its choices are used, stored, and passed to another start.

#include <set>
#include <tuple>

#include "graph/schedule/backend.hpp"
#include "harness/setup.hpp"
#include "harness/trial.hpp"
#include "interpreter/device.hpp"
#include "kernels/choose/tuning_choice.hpp"

namespace heed::ops {
namespace {

// The reason that a plan of this attention states for its kernel after a tuning chose `variant`.
std::string why_of_attention(Device& device, const TunedAttention& a, const std::string& variant) {
  Tuning tuning;
  choose(&tuning, variant, attention_class(a.queries, a.keys, a.heads, a.head_size));
  CHECK(use_tuning(device, write_tuning(device.impl()->self_test_key(), tuning)) == Status::Ok);
  Graph g;
  const auto input = [&](const char* name, int64_t tokens) {
    return g.input(name, {1, a.heads, tokens, a.head_size}, a.dtype);
  };
  g.output("y", g.attention(input("q", a.queries), input("k", a.keys), input("v", a.keys)).output);
  Plan plan = test::compiled(device, g, {}, {.pipelines = PipelineCreation::Deferred});
  return plan.passes()[0].why;
}

}  // namespace

TEST_CASE("tune: times products and attention, and its blob serves another start of the same device alone",
          "[vulkan][tuning][drivers][slow]") {
  for (const TestDevice& test : test_devices()) {
    INFO(test.word);
    Device device = test.device, fresh;
    TuningReport report;
    if (device.info().kind == DeviceKind::Cpu) {
      CHECK(tune(device, {}, &report) == Status::Ok);
      CHECK((report.products.empty() && report.attentions.empty()));
      CHECK(use_tuning(device, report.blob) == Status::Unsupported);
      (void)take_messages();
      continue;
    }
    REQUIRE(Device::open({.select = device.info().word}, &fresh) == Status::Ok);
    const Status status = tune(fresh, {.time_limit_ms = 1}, &report);  // one size of each kind and type
    INFO(take_checked_messages());
    REQUIRE(status == Status::Ok);
    std::set<std::tuple<DType, bool, bool>> kinds;
    for (const TunedProduct& product : report.products) {
      kinds.insert({product.dtype, product.round_rows, product.emulate_f32});
      CHECK(product.b_dtype == (product.round_rows ? DType::Q8_0 : product.dtype));
      CHECK(product.usual.starts_with(std::string("matmul_") + to_string(product.dtype)));
      CHECK(product.usual_ms > 0);
      CHECK(product.fastest_ms <= product.usual_ms);
      CHECK(product.variants > 0);
    }
    CHECK(report.products.size() == kinds.size());
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16})
      CHECK(kinds.contains({dtype, false, false}) == fresh.impl()->supports(dtype));
    const Capabilities& can = *interpreter::capabilities_of(fresh);
    CHECK(kinds.contains({DType::F32, true, false}) == (can.matrix.m != 0 || can.integer_dots));
    CHECK(kinds.contains({DType::F32, false, true}) == (can.matrix.m != 0));
    REQUIRE(report.attentions.size() == 1);
    const TunedAttention& attention = report.attentions[0];
    INFO(attention.usual << " " << attention.fastest);
    CHECK((attention.usual_ms > 0 && attention.fastest_ms <= attention.usual_ms));
    CHECK(attention.variants > 1);  // all variants that support it, with equal results
    CHECK(take_messages().empty());
    CHECK(why_of_attention(fresh, attention, "") != "");
    CHECK((why_of_attention(fresh, attention, attention.usual).find("measured: ") == 0));
    CHECK(use_tuning(device, report.blob) == Status::Ok);
    std::vector<std::byte> damaged = report.blob;
    damaged.back() ^= std::byte{1};
    CHECK(use_tuning(device, damaged) == Status::InvalidFile);
    CHECK(use_tuning(device, write_tuning(1, {})) == Status::Unsupported);
    CHECK(use_tuning(device, {}) == Status::InvalidFile);
    CHECK(take_messages().size() == 3);  // a line for each choice
    CHECK(use_tuning(device, write_tuning(device.impl()->self_test_key(), {})) == Status::Ok);  // resets the choice
    CHECK(tune(device, {.time_limit_ms = 0}, &report) == Status::InvalidArgument);
    (void)take_messages();
  }
}

}  // namespace heed::ops
