#include <atomic>
#include <mutex>
#include <thread>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "cpu/device/cpu_plan.hpp"
#include "cpu/device/thread_pool.hpp"
#include "cpu/device/work_list.hpp"
#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

Plan plan_on(const DeviceOptions& options) {
  DeviceOptions cpu = options;
  cpu.select = "cpu";
  Device device = test::open_device(cpu);
  Plan plan = test::compiled(device, network(), {}, {.training = true});
  return plan;  // keeps the device alive
}

// A host's threads: a new thread for each index, and a count of the calls.
struct HostThreads {
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;

  static void run(void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
    auto* host = static_cast<HostThreads*>(user);
    ++host->calls;
    std::vector<std::thread> running;
    for (uint32_t i = 0; i < count; ++i) {
      running.emplace_back([=] {
        task(context, i);
        const std::lock_guard<std::mutex> lock(host->mutex);
        host->threads.insert(std::this_thread::get_id());
      });
    }
    for (std::thread& thread : running) thread.join();
  }
};

}  // namespace

TEST_CASE("results do not depend on the number of threads", "[cpu]") {
  Plan reference = plan_on({.threads = 1});
  for (const int64_t tokens : {150, 1, 37}) {
    const Result expected = run_network(reference, tokens, 3);
    CHECK(expected.status == Status::Ok);
    for (const float v : expected.y) REQUIRE(std::isfinite(v));
    for (const uint32_t threads : {2u, 3u, 8u}) {
      INFO(tokens << " tokens, " << threads << " threads");
      Plan plan = plan_on({.threads = threads});
      for (int repeat = 0; repeat < 3; ++repeat) CHECK(run_network(plan, tokens, 3) == expected);
    }
  }
}

TEST_CASE("the host's threads are used", "[cpu]") {
  HostThreads host;
  const DeviceOptions options = {.threads = 4, .parallel_for = {HostThreads::run, &host}};
  Plan plan = plan_on(options), reference = plan_on({.threads = 1});
  CHECK(run_network(plan, 150, 4) == run_network(reference, 150, 4));
  CHECK(host.calls > 0);
  CHECK(host.threads.size() > 1);
  CHECK(host.threads.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("a plan that runs is not run beside itself", "[cpu]") {
  struct Again {
    Plan* plan = nullptr;
    Status status = Status::Ok;
    static void run(void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
      auto& again = *static_cast<Again*>(user);
      if (again.plan != nullptr) again.status = again.plan->run(std::span<const HostBuffer>());
      for (uint32_t i = 0; i < count; ++i) task(context, i);
    }
  } again;
  Plan plan = plan_on({.threads = 2, .parallel_for = {Again::run, &again}});
  again.plan = &plan;
  Plan reference = plan_on({.threads = 1});
  CHECK(run_network(plan, 150, 4) == run_network(reference, 150, 4));
  CHECK(again.status == Status::InvalidArgument);
  again.plan = nullptr;
  CHECK(run_network(plan, 20, 1) == run_network(reference, 20, 1));
}

TEST_CASE("plans of one device run at the same time", "[cpu]") {
  Device device = test::open_cpu({.threads = 3});
  Plan reference = plan_on({.threads = 1});
  const Result expected[] = {run_network(reference, 150, 0), run_network(reference, 150, 1),
                             run_network(reference, 150, 2)};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> hosts;
  for (uint32_t i = 0; i < 3; ++i) {
    Plan plan = test::compiled(device, network(), {}, {.training = true});
    hosts.emplace_back([&wrong, &expected, plan, i]() mutable {
      for (int repeat = 0; repeat < 20; ++repeat) wrong += !(run_network(plan, 150, i) == expected[i]);
    });
  }
  for (std::thread& host : hosts) host.join();
  CHECK(wrong == 0);
}

TEST_CASE("a plan may be compiled while the host's threads pack weights for another", "[cpu]") {
  // A host whose thread runs other work, here another plan, while it waits for heed.
  struct Host {
    Device device;
    Weights weights;
    Graph graph;
    Plan other;
    int calls = 0;
    static void run(void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
      auto* host = static_cast<Host*>(user);
      if (++host->calls == 1) CHECK(host->device.compile(host->graph, host->weights, &host->other) == Status::Ok);
      for (uint32_t i = 0; i < count; ++i) task(context, i);
    }
  } host;
  const std::vector<float> w = floats({512, 512}, 5), x = floats({8, 512}, 6);
  host.graph.output("y", host.graph.matmul(host.graph.input("x", {8, 512}), host.graph.weight("w", {512, 512})));
  REQUIRE(Device::open({.select = "cpu", .threads = 2, .parallel_for = {Host::run, &host}}, &host.device) ==
          Status::Ok);
  const int64_t shape[] = {512, 512};
  const HostTensor tensor = {"w", DType::F32, shape, std::as_bytes(std::span(w))};
  REQUIRE(host.device.upload({&tensor, 1}, &host.weights) == Status::Ok);
  Plan plan = test::compiled(host.device, host.graph, host.weights);
  CHECK(host.calls > 1);
  REQUIRE(host.other.valid());
  std::vector<float> y(8 * 512), z(y.size());
  CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
  CHECK(host.other.run({{"x", x}, {"y", z}}) == Status::Ok);
  CHECK(y == z);
}

TEST_CASE("packed weights are held by some plans while the last plan of others ends", "[cpu]") {
  std::vector<float> w = floats({4, 4}, 5);
  View b;
  b.rank = 2;
  b.dim[0] = b.dim[1] = b.stride[0] = 4;
  b.stride[1] = 1;
  cpu::ThreadPool pool(1, {});
  cpu::TensorForms forms(reinterpret_cast<const std::byte*>(w.data()));
  const cpu::Kernels& kernels = cpu::supported_kernels().front();
  std::atomic<int> missing = 0;
  std::vector<std::thread> hosts;
  for (int i = 0; i < 4; ++i)
    hosts.emplace_back([&] {
      for (int repeat = 0; repeat < 400000; ++repeat) missing += forms.packed(b, kernels, pool) == nullptr;
    });
  for (std::thread& host : hosts) host.join();
  CHECK(missing == 0);
}

#if defined(__linux__)
TEST_CASE("a forked process runs a plan on its one thread and lets go of it", "[cpu]") {
  Plan plan = plan_on({.threads = 3});
  const Result expected = run_network(plan, 37, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the pool's threads sleep
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    const bool same = run_network(plan, 37, 3) == expected;
    plan = Plan();
    _exit(same ? 0 : 1);
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(state == 0);
  CHECK(run_network(plan, 37, 3) == expected);
}
#endif

TEST_CASE("the pool runs every index once, from several callers", "[cpu]") {
  cpu::ThreadPool pool(5, {});
  CHECK(pool.workers() == 5);
  constexpr uint32_t kCount = 13;
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        std::array<std::atomic<int>, kCount> seen{};
        pool.run(kCount, [](void* context, uint32_t i) { ++static_cast<std::atomic<int>*>(context)[i]; }, seen.data());
        for (const std::atomic<int>& s : seen) wrong += s != 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("a work list gives every item once, a worker's own ones first and in order", "[cpu]") {
  for (const int64_t items : {1, 2, 7, 64, 1000})
    for (const int64_t grain : {1, 3, 2000})
      for (const uint32_t workers : {1u, 2u, 5u, 70u}) {
        INFO(items << " items, " << grain << " at a time, " << workers << " workers");
        const uint32_t runs = std::min(workers, cpu::WorkList::kMostShares), last = workers - 1;
        cpu::WorkList list(items, grain, workers);
        std::vector<int> seen(static_cast<size_t>(items));
        int64_t expected = items * (last % runs) / runs;
        const int64_t own_end = items * (last % runs + 1) / runs;
        for (int64_t begin = 0, end = 0; list.take(last, &begin, &end);) {
          REQUIRE((begin >= 0 && begin < end && end <= items && end - begin <= grain));
          if (expected < own_end) {
            CHECK(begin == expected);
            expected = end;
          }
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        }
        CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
      }
}

TEST_CASE("a work list's chunks become smaller towards the end of a run", "[cpu]") {
  const auto taken = [](cpu::WorkList& list, uint32_t worker) {
    int64_t begin = 0, end = 0;
    return list.take(worker, &begin, &end) ? end - begin : 0;
  };
  cpu::WorkList own(40, 10, 1);
  std::vector<int64_t> sizes;
  for (int64_t size = 0; (size = taken(own, 0)) > 0;) sizes.push_back(size);
  CHECK(sizes == std::vector<int64_t>{10, 10, 10, 5, 2, 1, 1, 1});

  // Worker 1 has finished its 40 and helps worker 0, which keeps most of its own.
  cpu::WorkList shared(80, 10, 2);
  for (int64_t done = 0; done < 40;) done += taken(shared, 1);
  CHECK(taken(shared, 1) == 10);  // 40 were left
  CHECK(taken(shared, 1) == 7);   // 30 were left
  CHECK(taken(shared, 0) == 10);  // 23 were left
  CHECK(taken(shared, 1) == 3);   // 13 were left
}

}  // namespace heed::cpu_test
