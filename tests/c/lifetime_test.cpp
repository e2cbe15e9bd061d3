// What lives how long behind the handles of the C interface, from one thread and from several.
#include <atomic>
#include <thread>

#include "c/kept.hpp"

namespace heed::test {
namespace {

// y = x + x, on the CPU.
struct Doubler {
  explicit Doubler(const heed_device_options& options) {
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
  explicit Job(int64_t n, const char* input = "x") : from(static_cast<size_t>(n), 1.5f), to(static_cast<size_t>(n)) {
    inputs = {input, from.data(), from.size() * 4, HEED_F32, 0};
    outputs = {"y", to.data(), to.size() * 4, HEED_F32, 0};
    extents = {"n", n};
    info = sized<heed_run_info>();
    info.inputs = &inputs;
    info.input_count = 1;
    info.outputs = &outputs;
    info.output_count = 1;
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
  Doubler all(on_cpu());
  Job job(Doubler::kMost);
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

TEST_CASE("C: handles that threads make, use and destroy beside each other", "[c]") {
  Doubler all(on_cpu());
  constexpr int kThreads = 4, kRounds = 200;
  std::atomic<int> wrong{0}, refusals{0};
  std::atomic<heed_graph*> shared{nullptr};
  const auto work = [&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      heed_plan* plan = nullptr;
      Job job(1 + (thread * 31 + i) % 100);
      if (heed_device_compile(all.device, all.graph, nullptr, nullptr, &plan) == HEED_INVALID_ARGUMENT) {
        ++refusals;  // another thread had the graph
      } else if (heed_plan_run(plan, &job.info) != HEED_OK || !job.is_done() || heed_plan_destroy(plan) != HEED_OK) {
        ++wrong;
      }
      // A graph that any thread may destroy while others ask it: each of these is answered, whoever is first.
      heed_graph* fresh = nullptr;
      wrong += heed_graph_create(&fresh) != HEED_OK;
      heed_graph* const old = shared.exchange(fresh);
      const heed_dim extent =
          heed_graph_extent(fresh, "n", 9);  // 0 if another thread has it, or was faster to destroy it
      wrong += extent > 0;
      if (old != nullptr) wrong += heed_graph_destroy(old) != HEED_OK;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  done(heed_graph_destroy(shared));
  done(heed_plan_destroy(all.plan));
  done(heed_graph_destroy(all.graph));
  done(heed_device_destroy(all.device));
}

TEST_CASE("C: messages belong to their thread, and logs are called on it", "[c]") {
  struct Told {
    std::thread::id thread = std::this_thread::get_id();
    int count = 0, elsewhere = 0;
  } told;
  heed_log log = {};
  log.callback = [](void* user, int32_t level, const char* message) {
    Told& to = *static_cast<Told*>(user);
    if (level == HEED_LOG_ERROR && message[0] != 0) ++to.count;
    if (std::this_thread::get_id() != to.thread) ++to.elsewhere;
  };
  log.user = &told;
  heed_device_options options = on_cpu();
  options.log = &log;
  Doubler all(options);
  Job job(3, "z");  // no input of this name
  const heed_status status = heed_plan_run(all.plan, &job.info);
  CHECK(status != HEED_OK);
  const std::string message = heed_last_message();
  CHECK(message.find("'") != std::string::npos);
  CHECK(told.count == 1);
  std::thread([&] {
    CHECK(std::string(heed_last_message()) == "");
    CHECK(heed_blob_data(nullptr) == nullptr);
    CHECK(std::string(heed_last_message()) == "heed_blob_data: the blob is NULL");
  }).join();
  CHECK(heed_last_message() == message);
  Job good(5);
  done(heed_plan_run(all.plan, &good.info));
  CHECK(heed_last_message() == message);  // what goes well leaves the last failure
  CHECK(told.elsewhere == 0);
  done(heed_plan_destroy(all.plan));
  done(heed_graph_destroy(all.graph));
  done(heed_device_destroy(all.device));
}

TEST_CASE("C: the host's threads and the host's passes", "[c]") {
  struct Host {
    std::atomic<int> loops{0}, passes{0};
  } host;
  heed_parallel_for threads = {};
  threads.user = &host;
  threads.run = [](void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
    ++static_cast<Host*>(user)->loops;
    for (uint32_t i = count; i > 0; --i) task(context, i - 1);
  };
  heed_device_options options = on_cpu();
  options.parallel_for = &threads;
  KeptDevice device;
  done(heed_device_open(&options, device.out()));
  threads = {};  // it was copied

  KeptGraph graph;
  done(heed_graph_create(graph.out()));
  const heed_dim n = heed_graph_extent(graph, "n", Doubler::kMost);
  const heed_tensor x = heed_graph_input(graph, "x", &n, 1, HEED_F32);
  const heed_custom_output made = {&n, 1, HEED_F32, 0};
  heed_custom_word push[2] = {};
  push[0].dim = n;
  push[0].is_size = 1;
  push[1].bits = 7;
  auto pass = sized<heed_custom_pass>();
  pass.name = "twice";
  pass.push = push;
  pass.push_count = 2;
  pass.outputs = &made;
  pass.output_count = 1;
  pass.user = &host;
  pass.cpu = [](void* user, const heed_custom_call* call) {
    ++static_cast<Host*>(user)->passes;
    if (call->push_count != 2 || call->push[1] != 7 || call->outputs[0].dtype != HEED_F32) return;
    const auto* from = static_cast<const float*>(call->inputs[0].data);
    auto* to = static_cast<float*>(call->outputs[0].data);
    for (uint32_t i = 0; i < call->push[0]; ++i) to[i] = from[i] + from[i];
  };
  heed_tensor y = 0;
  done(heed_graph_custom(graph, &pass, &x, 1, &y));
  REQUIRE(y != 0);
  done(heed_graph_output(graph, "y", y));
  KeptPlan plan;
  done(heed_device_compile(device, graph, nullptr, nullptr, plan.out()));
  (void)graph.gone();  // the plan keeps the pass
  Job job(777);
  done(heed_plan_run(plan, &job.info));
  CHECK(job.is_done());
  CHECK(host.passes == 1);
  heed_run* run = nullptr;
  refused(heed_plan_start(plan, &job.info, &run), HEED_UNSUPPORTED, "");  // the host gave no `start`
  CHECK(run == nullptr);
}

}  // namespace heed::test
