// How long objects live behind the handles of the C interface.
#include "c/kept.hpp"

namespace heed::test {
namespace {

// y = x + x. Only the tests destroy the handles.
struct BareHandles {
  explicit BareHandles(const heed_device_options& options) {
    done(heed_device_open(&options, &device));
    done(heed_graph_create(&graph));
    const heed_dim shape[] = {heed_graph_extent(graph, "n", kMost)};
    const heed_tensor x = heed_graph_input(graph, "x", shape, 1, HEED_F32);
    done(heed_graph_output(graph, "y", heed_graph_add(graph, x, x)));
    done(heed_device_compile(device, graph, nullptr, nullptr, &plan));
  }

  static constexpr int64_t kMost = 1 << 16;
  heed_device* device = nullptr;
  heed_graph* graph = nullptr;
  heed_plan* plan = nullptr;
};

struct Job {
  explicit Job(int64_t n) : from(static_cast<size_t>(n), 1.5f), to(static_cast<size_t>(n)) {
    inputs = {"x", from.data(), from.size() * 4, HEED_F32, 0};
    outputs = {"y", to.data(), to.size() * 4, HEED_F32, 0};
    extents = {"n", n};
    info = run_info({&inputs, 1}, {&outputs, 1});
    info.extents = &extents;
    info.extent_count = 1;
  }
  Job(const Job&) = delete;
  bool is_done() const {
    return std::all_of(to.begin(), to.end(), [](float y) { return y == 3.0f; });
  }

  std::vector<float> from, to;
  heed_input inputs;
  heed_output outputs;
  heed_extent_value extents;
  heed_run_info info;
};

heed_device_options on_cpu() {
  auto options = sized<heed_device_options>();
  options.select = "cpu";
  options.threads = 2;
  return options;
}

}  // namespace

TEST_CASE("C: a started run keeps what it needs, whatever handles are destroyed", "[c]") {
  BareHandles all(on_cpu());
  Job job(BareHandles::kMost);
  heed_run* run = nullptr;
  done(heed_plan_start(all.plan, &job.info, &run));
  done(heed_plan_destroy(all.plan));
  done(heed_graph_destroy(all.graph));
  done(heed_device_destroy(all.device));
  refused(heed_plan_run(all.plan, &job.info), HEED_INVALID_ARGUMENT, "was destroyed");
  done(heed_run_wait(run));
  CHECK(job.is_done());
  int32_t is_done = 0;
  done(heed_run_done(run, &is_done));
  CHECK(is_done == 1);
  done(heed_run_destroy(run));
  refused(heed_run_destroy(run), HEED_INVALID_ARGUMENT, "was destroyed");
}

TEST_CASE("C: what a size is in a run", "[c]") {
  KeptGraph graph(heed_graph_create);
  KeptGraph other(heed_graph_create);
  const heed_dim tokens = heed_graph_extent(graph, "tokens", 37), past = heed_graph_position(graph, "past", 100);
  const heed_dim keys = heed_graph_sum(graph, past, tokens, 120);
  const heed_dim shape[] = {tokens, 3};
  const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  CHECK(heed_graph_extent(graph, "tokens", 37) == tokens);
  const heed_tensor parts[] = {x, x};
  heed_dim both[HEED_MAX_RANK] = {};
  size_t rank = 0;
  done(heed_graph_shape(graph, heed_graph_concat(graph, parts, 2, 0), both, HEED_MAX_RANK, &rank));
  REQUIRE(rank == 2);
  const auto value = [&](heed_dim dim, std::initializer_list<heed_extent_value> extents) {
    int64_t is = -1;
    done(heed_graph_dim_value(graph, dim, extents.begin(), extents.size(), &is));
    return is;
  };
  CHECK(value(tokens, {{"tokens", 37}}) == 37);
  CHECK(value(past, {}) == 0);
  CHECK(value(keys, {{"tokens", 37}}) == 37);
  CHECK(value(5, {}) == 5);
  CHECK(value(tokens, {{"tokens", 4}}) == 4);
  CHECK(value(keys, {{"tokens", 4}, {"past", 100}}) == 104);
  CHECK(value(both[0], {{"tokens", 4}}) == 8);
  CHECK(value(both[1], {{"tokens", 4}}) == 3);
  int64_t is = -1;
  heed_extent_value wrong = {"tokens", 38};
  refused(heed_graph_dim_value(graph, keys, &wrong, 1, &is), HEED_EXTENT_OUT_OF_RANGE, "'tokens' is 38");
  wrong = {"words", 1};
  refused(heed_graph_dim_value(graph, keys, &wrong, 1, &is), HEED_NOT_FOUND, "'words'");
  refused(heed_graph_dim_value(other, keys, nullptr, 0, &is), HEED_INVALID_ARGUMENT, "size");
  CHECK(is == -1);
}

}  // namespace heed::test
