// Tables and matrices larger than a device's limit for one binding. The devices here report a low limit, so that small weights exceed it.
#include <algorithm>
#include <optional>

#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "interpreter/device.hpp"
#include "kernels/dispatch.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// While this object exists, devices report a low binding limit.
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

// The graph reads the table by rows, and also multiplies by it.
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

TEST_CASE("weights: tables larger than a binding lie in parts, on every device", "[ops]") {
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
      // An invalid id is one fault and a row of zeros, however the table is divided.
      const TiedRun faulty = run_tied(plan, wrong);
      CHECK(faulty.status == Status::IndexOutOfRange);
      ops::take_messages();
      CHECK(
          std::all_of(faulty.x.begin() + kColumns, faulty.x.begin() + 2 * kColumns, [](float v) { return v == 0.0f; }));
      CHECK(std::equal(faulty.x.begin() + 2 * kColumns, faulty.x.begin() + 3 * kColumns, whole.x.begin()));
    }
}

TEST_CASE("weights: what is not read by rows stays whole, and is refused with both numbers", "[ops]") {
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
