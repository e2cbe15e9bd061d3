// Runs, started runs, states, passes and the host's own passes through the C interface.
#include <thread>

#include "c/kept.hpp"

namespace heed::test {
namespace {

using KeptRun = Kept<heed_run, heed_run_destroy>;

// y = 2 x over up to 6 elements, and on a state: sum += x, z = sum.
struct Doubler {
  explicit Doubler(const char* device_word = "cpu", const heed_compile_options* options = nullptr,
                   bool with_state = false)
      : device(open_c(device_word)) {
    KeptGraph graph(heed_graph_create);
    const heed_dim n = heed_graph_extent(graph, "n", 6);
    const heed_tensor x = heed_graph_input(graph, "x", &n, 1, HEED_F32);
    heed_graph_push_label(graph, "double");
    done(heed_graph_output(graph, "y", heed_graph_scale(graph, x, 2)));
    if (with_state) {
      const heed_dim two[] = {2, 3};
      const heed_tensor sum = heed_graph_state(graph, "sum", two, 2, HEED_F32);
      const heed_dim one = 1;
      const heed_tensor step = heed_graph_constant(graph, "step", &one, 1, HEED_F32, &kStep, sizeof(kStep));
      done(heed_graph_output(graph, "z", heed_graph_assign(graph, sum, heed_graph_add(graph, sum, step))));
    }
    done(heed_device_compile(device, graph, nullptr, options, plan.out()));
  }

  heed_run_info info() {
    inputs[0] = {"x", x.data(), x.size() * sizeof(float), HEED_F32, 0};
    outputs[0] = {"y", y.data(), y.size() * sizeof(float), HEED_F32, 0};
    outputs[1] = {"z", z.data(), z.size() * sizeof(float), HEED_F32, 0};
    extent = {"n", 3};
    heed_run_info run = run_info({inputs.data(), 1}, {outputs.data(), 1});
    run.extents = &extent;
    run.extent_count = 1;
    return run;
  }

  static constexpr float kStep = 0.5f;
  std::vector<float> x = {1, -2, 3}, y = {0, 0, 0, 9}, z = std::vector<float>(6);
  std::array<heed_input, 1> inputs;
  std::array<heed_output, 2> outputs;
  heed_extent_value extent;
  KeptDevice device;
  KeptPlan plan;
};

const std::vector<float> kDoubled = {2, -4, 6, 9};

}  // namespace

TEST_CASE("C: plans run, and refuse what does not fit", "[c]") {
  Doubler d;
  heed_run_info run = d.info();
  done(heed_plan_run(d.plan, &run));
  CHECK(d.y == kDoubled);
  refused(heed_plan_run(d.plan, nullptr), HEED_EXTENT_OUT_OF_RANGE, "'n' is not given");
  run.input_count = 0;
  refused(heed_plan_run(d.plan, &run), HEED_MISSING_BUFFER, "x");
  run = d.info();

  d.inputs[0].dtype = HEED_I32;
  refused(heed_plan_run(d.plan, &run), HEED_DTYPE_MISMATCH, "i32");
  d.inputs[0].dtype = HEED_DTYPE_DEFAULT;
  done(heed_plan_run(d.plan, &run));
  d.inputs[0].dtype = 77;
  refused(heed_plan_run(d.plan, &run), HEED_INVALID_ARGUMENT, "77");
  run = d.info();
  d.outputs[0].bytes = 11;
  refused(heed_plan_run(d.plan, &run), HEED_BUFFER_TOO_SMALL, "11");
  run = d.info();
  d.extent.value = 7;
  refused(heed_plan_run(d.plan, &run), HEED_EXTENT_OUT_OF_RANGE, "7");
  d.extent.name = nullptr;
  refused(heed_plan_run(d.plan, &run), HEED_INVALID_ARGUMENT, "extent is NULL");
  run = d.info();
  d.inputs[0].name = "w";
  refused(heed_plan_run(d.plan, &run), HEED_NOT_FOUND, "w");
  run = d.info();
  run.outputs = nullptr;
  refused(heed_plan_run(d.plan, &run), HEED_INVALID_ARGUMENT, "outputs is NULL");
  run = d.info();
  d.outputs[0].data = nullptr;
  refused(heed_plan_run(d.plan, &run), HEED_INVALID_ARGUMENT, "y");
  run = d.info();
  run.state = reinterpret_cast<heed_state*>(static_cast<heed_plan*>(d.plan));
  refused(heed_plan_run(d.plan, &run), HEED_INVALID_ARGUMENT, "state is a handle of another kind");
  // One 16-bit type does not count as another 16-bit type.
  KeptGraph graph(heed_graph_create);
  const heed_dim two = 2;
  done(
      heed_graph_output(graph, "y", heed_graph_cast(graph, heed_graph_input(graph, "x", &two, 1, HEED_F16), HEED_F32)));
  KeptPlan half(heed_device_compile, d.device, graph, nullptr, nullptr);
  run = d.info();
  d.inputs[0].dtype = HEED_BF16;
  run.extent_count = 0;
  refused(heed_plan_run(half, &run), HEED_DTYPE_MISMATCH, "a buffer of bf16");
  d.inputs[0].dtype = HEED_F16;
  done(heed_plan_run(half, &run));
}

TEST_CASE("C: started runs", "[c]") {
  Doubler d;
  const heed_run_info run = d.info();
  KeptRun started(heed_plan_start, d.plan, &run);
  heed_plan_destroy(d.plan.gone());  // the run keeps it alive
  done(heed_run_wait(started));
  done(heed_run_wait(started));
  int32_t over = 0;
  done(heed_run_done(started, &over));
  CHECK(over == 1);
  CHECK(d.y == kDoubled);
  refused(heed_run_done(started, nullptr), HEED_INVALID_ARGUMENT, "done is NULL");
}

TEST_CASE("C: the host's threads, and a log of its own", "[c][threads]") {
  static std::vector<std::string> told;
  told.clear();
  const heed_log log = {[](void* user, int32_t level, const char* message) {
                          if (level >= HEED_LOG_WARNING)
                            static_cast<std::vector<std::string>*>(user)->emplace_back(message);
                        },
                        &told, HEED_LOG_INFO, 0};
  int runs = 0;
  const heed_parallel_for threads = {[](void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
                                       ++*static_cast<int*>(user);
                                       for (uint32_t i = count; i-- > 0;) task(context, i);
                                     },
                                     &runs, nullptr};
  auto options = sized<heed_device_options>();
  options.select = "cpu";
  options.log = &log;
  options.parallel_for = &threads;
  options.threads = 3;
  KeptDevice device(heed_device_open, &options);
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {64, 512};
  const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  done(heed_graph_output(graph, "y", heed_graph_softmax(graph, x, nullptr)));
  KeptPlan plan(heed_device_compile, device, graph, nullptr, nullptr);
  std::vector<float> values(64 * 512), y(64 * 512);
  const heed_input input = {"x", values.data(), values.size() * 4, HEED_F32, 0};
  const heed_output output = {"y", y.data(), y.size() * 4, HEED_F32, 0};
  const heed_run_info run = run_info({&input, 1}, {&output, 1});
  done(heed_plan_run(plan, &run));
  CHECK(runs > 0);
  CHECK(y.back() == 1.0f / 512);
  CHECK(told.empty());
  heed_run* started = nullptr;
  CHECK(heed_plan_start(plan, &run, &started) == HEED_UNSUPPORTED);
  CHECK(started == nullptr);
  REQUIRE(told.size() == 1);
  CHECK(told[0] == heed_last_message());
}

TEST_CASE("C: states stay, are copied and kept", "[c]") {
  Doubler d("cpu", nullptr, true);
  heed_run_info run = d.info();
  run.output_count = 2;
  refused(heed_plan_run(d.plan, &run), HEED_MISSING_BUFFER, "");
  KeptState fork;
  KeptState state(heed_plan_make_state, d.plan);
  run.state = state;
  done(heed_plan_run(d.plan, &run));
  done(heed_plan_run(d.plan, &run));
  CHECK(d.z == std::vector<float>(6, 1.0f));
  done(heed_plan_fork_state(d.plan, state, fork.out()));
  done(heed_state_clear(state));
  std::array<float, 3> row{};
  const heed_state_part second = {1, 1, 0, 0};
  done(heed_state_read(fork, "sum", &second, row.data(), sizeof(row)));
  CHECK(row == std::array<float, 3>{1, 1, 1});
  done(heed_state_read(state, "sum", &second, row.data(), sizeof(row)));
  CHECK(row == std::array<float, 3>{});
  done(heed_state_copy_row(state, fork, 0, 1));
  const heed_state_part first = {0, 1, 0, 0};
  const std::array<float, 3> seven = {7, 8, 9};
  done(heed_state_write(state, "sum", &first, seven.data(), sizeof(seven)));
  std::array<float, 6> all{};
  done(heed_state_read(state, "sum", nullptr, all.data(), sizeof(all)));
  CHECK(all == std::array<float, 6>{7, 8, 9, 1, 1, 1});
  KeptBlob blob(heed_state_save, state);
  done(heed_state_load(fork, heed_blob_data(blob), heed_blob_size(blob)));
  all = {};
  done(heed_state_read(fork, "sum", nullptr, all.data(), sizeof(all)));
  CHECK(all == std::array<float, 6>{7, 8, 9, 1, 1, 1});
  done(heed_state_clear(fork));
  done(heed_state_copy(fork, state));

  uint64_t bytes = 0, of_state = 0;
  done(heed_plan_state_bytes(d.plan, &bytes));
  done(heed_state_bytes(state, &of_state));
  CHECK(bytes >= 24);
  CHECK(of_state == bytes);
  alignas(64) std::array<std::byte, 256> memory{};
  KeptState inside(heed_plan_make_state_in, d.plan, memory.data(), memory.size());
  heed_state* none = nullptr;
  CHECK(heed_plan_make_state_in(d.plan, memory.data() + 4, 128, &none) == HEED_INVALID_ARGUMENT);
  CHECK(heed_plan_make_state_in(d.plan, memory.data(), 1, &none) == HEED_BUFFER_TOO_SMALL);
  refused(heed_plan_make_state_in(d.plan, nullptr, 128, &none), HEED_INVALID_ARGUMENT, "memory is NULL");
  CHECK(none == nullptr);
  refused(heed_state_read(state, "product", nullptr, all.data(), sizeof(all)), HEED_NOT_FOUND, "product");
  refused(heed_state_read(state, "sum", nullptr, all.data(), 20), HEED_SHAPE_MISMATCH, "20");
  refused(heed_state_read(state, nullptr, nullptr, all.data(), 24), HEED_INVALID_ARGUMENT, "name is NULL");
  refused(heed_state_read(state, "sum", nullptr, nullptr, 24), HEED_INVALID_ARGUMENT, "memory is NULL");
  CHECK(heed_state_load(state, "no state", 8) == HEED_INVALID_FILE);
  refused(heed_state_copy(state, nullptr), HEED_INVALID_ARGUMENT, "state is NULL");
}

TEST_CASE("C: what a plan tells", "[c]") {
  auto options = sized<heed_compile_options>();
  options.timestamps = 1;
  Doubler d("cpu", &options);
  REQUIRE(heed_plan_pass_count(d.plan) == 1);
  auto pass = sized<heed_pass_info>();
  done(heed_plan_pass(d.plan, 0, &pass));
  CHECK(std::string_view(pass.label).starts_with("double"));
  CHECK(pass.dtype == HEED_F32);
  CHECK(pass.bytes == 2 * 6 * 4);
  CHECK(std::string_view(pass.why).size() > 0);
  refused(heed_plan_pass(d.plan, 1, &pass), HEED_INDEX_OUT_OF_RANGE, "there is no 1");
  refused(heed_plan_pass(d.plan, 0, nullptr), HEED_INVALID_ARGUMENT, "info is NULL");

  size_t count = 9;
  double time = -1;
  CHECK(heed_plan_timings(d.plan, 0, &time, 1, &count) == HEED_INVALID_ARGUMENT);  // no run yet
  const heed_run_info run = d.info();
  done(heed_plan_run(d.plan, &run));
  CHECK(heed_plan_timings(d.plan, 0, nullptr, 0, &count) == HEED_BUFFER_TOO_SMALL);
  CHECK(count == 1);
  done(heed_plan_timings(d.plan, 0, &time, 1, &count));
  CHECK(time >= 0);
  CHECK(heed_plan_timings(Doubler().plan, 0, &time, 1, &count) == HEED_UNSUPPORTED);

  uint64_t scratch = 1, weights = 1;
  done(heed_plan_scratch_bytes(d.plan, &scratch));
  done(heed_plan_weight_bytes(d.plan, &weights));
  CHECK(weights == 0);
  CHECK(heed_plan_pipeline_count(d.plan) == 0);
  auto pipeline = sized<heed_pipeline_info>();
  CHECK(heed_plan_pipeline(d.plan, 0, &pipeline) == HEED_INDEX_OUT_OF_RANGE);
  CHECK(heed_plan_prepare(d.plan, 0) == HEED_INVALID_ARGUMENT);
  int32_t ready = 0;
  done(heed_plan_ready(d.plan, &ready));
  CHECK(ready == 1);
  // A limit that is too low, and invalid options.
  options.memory_limit = 1;
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {64, 64};
  heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  for (int i = 0; i < 2; ++i) x = heed_graph_softmax(graph, x, nullptr);
  done(heed_graph_output(graph, "y", x));
  heed_plan* none = nullptr;
  CHECK(heed_device_compile(d.device, graph, nullptr, &options, &none) == HEED_OUT_OF_MEMORY);
  options.pipelines = 3;
  refused(heed_device_compile(d.device, graph, nullptr, &options, &none), HEED_INVALID_ARGUMENT, "pipelines is 3");
  CHECK(none == nullptr);
}

TEST_CASE("C: every extent is given", "[c]") {
  KeptDevice device = open_c("cpu");
  KeptGraph graph(heed_graph_create);
  const heed_dim n = heed_graph_extent(graph, "n", 4), at = heed_graph_position(graph, "at", 3);
  const heed_dim shape[] = {n, 2};
  const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  done(heed_graph_output(graph, "y", heed_graph_slice(graph, x, 0, at, 1)));
  KeptPlan plan(heed_device_compile, device, graph, nullptr, nullptr);
  heed_extent_value all[2] = {};
  size_t count = 0;
  refused(heed_plan_largest_extents(plan, nullptr, 0, &count), HEED_BUFFER_TOO_SMALL, "there are 1");
  done(heed_plan_largest_extents(plan, all, 2, &count));
  REQUIRE(count == 1);  // a position is no extent
  CHECK((std::string_view(all[0].name) == "n" && all[0].value == 4));
  std::vector<float> in = {1, 2, 3, 4, 5, 6, 7, 8}, out(2);
  const heed_input input = {"x", in.data(), in.size() * 4, HEED_F32, 0};
  const heed_output output = {"y", out.data(), out.size() * 4, HEED_F32, 0};
  heed_run_info run = run_info({&input, 1}, {&output, 1});
  refused(heed_plan_run(plan, &run), HEED_EXTENT_OUT_OF_RANGE, "extent 'n' is not given; this plan takes 1 to 4");
  run.extents = all;
  run.extent_count = count;
  done(heed_plan_run(plan, &run));
  CHECK(out == std::vector<float>{1, 2});
  int64_t value = 0;
  refused(heed_graph_dim_value(graph, n, nullptr, 0, &value), HEED_EXTENT_OUT_OF_RANGE, "extent 'n' is not given");
  done(heed_graph_dim_value(graph, at, nullptr, 0, &value));
  CHECK(value == 0);
  done(heed_graph_dim_value(graph, n, all, count, &value));
  CHECK(value == 4);
}

TEST_CASE("C: the host's own passes on the CPU", "[c]") {
  struct Seen {
    int calls = 0;
    float factor = 0;
  } seen;
  KeptDevice device = open_c("cpu");
  KeptPlan plan;
  {
    KeptGraph graph(heed_graph_create);
    const heed_dim n = heed_graph_extent(graph, "n", 6);
    const heed_tensor x = heed_graph_input(graph, "x", &n, 1, HEED_F32);
    const float factor = 3;
    heed_custom_word push[2] = {{n, 0, 1}, {0, 0, 0}};
    std::memcpy(&push[1].bits, &factor, sizeof(factor));
    const heed_custom_output output = {&n, 1, HEED_F32, 0};
    auto pass = sized<heed_custom_pass>();
    pass.name = "triple";
    pass.push = push;
    pass.push_count = 2;
    pass.outputs = &output;
    pass.output_count = 1;
    pass.user = &seen;
    pass.cpu = [](void* user, const heed_custom_call* call) {
      Seen& to = *static_cast<Seen*>(user);
      ++to.calls;
      std::memcpy(&to.factor, &call->push[1], sizeof(float));
      if (call->input_count != 1 || call->output_count != 1 || call->inputs[0].rank != 1 ||
          call->outputs[0].dtype != HEED_F32)
        return;
      for (uint32_t i = 0; i < call->push[0]; ++i)
        static_cast<float*>(call->outputs[0].data)[i] = to.factor * static_cast<const float*>(call->inputs[0].data)[i];
    };
    heed_tensor y = 0;
    done(heed_graph_custom(graph, &pass, &x, 1, &y));
    done(heed_graph_output(graph, "y", y));
    done(heed_device_compile(device, graph, nullptr, nullptr, plan.out()));

    pass.output_count = 3;
    heed_tensor three[3] = {1, 1, 1};
    refused(heed_graph_custom(graph, &pass, &x, 1, three), HEED_INVALID_ARGUMENT, "outputs");
    KeptGraph other(heed_graph_create);
    refused(heed_graph_custom(other, nullptr, nullptr, 0, nullptr), HEED_INVALID_ARGUMENT, "pass is NULL");
  }
  // The graph is destroyed; the plan keeps what the pass needs.
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(4);
  const heed_input input = {"x", x.data(), 16, HEED_F32, 0};
  const heed_output output = {"y", y.data(), 16, HEED_F32, 0};
  const heed_extent_value extent = {"n", 4};
  const heed_run_info run = {sizeof(run), &input, 1, &output, 1, &extent, 1, nullptr, 0, 0};
  done(heed_plan_run(plan, &run));
  CHECK(y == std::vector<float>{3, 6, 9, 12});
  CHECK(seen.calls == 1);
}

}  // namespace heed::test
