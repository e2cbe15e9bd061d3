// Runs that the CPU device executes while the host's thread is free.
#include <atomic>
#include <deque>
#include <thread>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

// Inputs and outputs of the network, in memory with fixed addresses.
struct Io {
  std::vector<float> x;
  Result result;
  int64_t tokens;

  explicit Io(int64_t count) : x(floats({1, count, 48}, 9)), tokens(count) {
    result.y.resize(static_cast<size_t>(count) * 48);
    result.pooled.resize(48);
    result.best.resize(static_cast<size_t>(count));
  }
  Status start(Plan& plan, uint32_t seed, StartedRun* started) {
    return plan.start({{"x", x}, {"y", result.y}, {"pooled", result.pooled}, {"best", result.best}},
                      {{"tokens", tokens}}, {.seed = seed}, started);
  }
};

// A host with one thread, which executes its work when the test says so.
struct OneThread {
  struct Task {
    void (*task)(void*);
    void* context;
  };
  std::deque<Task> tasks;

  static void run(void*, uint32_t count, void (*task)(void*, uint32_t), void* context) {
    for (uint32_t i = 0; i < count; ++i) task(context, i);
  }
  static void start(void* user, void (*task)(void*), void* context) {
    static_cast<OneThread*>(user)->tasks.push_back({task, context});
  }
  ParallelFor threads() { return {run, this, start}; }
  void work() {
    for (; !tasks.empty(); tasks.pop_front()) tasks.front().task(tasks.front().context);
  }
};

Graph counter() {
  Graph g;
  const Tensor x = g.input("x", {1, 16});
  g.output("y", g.assign(g.state("sum", {1, 16}), g.add(g.state("sum", {1, 16}), x)));
  return g;
}

Graph lookup() {
  Graph g;
  const std::vector<float> table = floats({5, 3}, 3);
  g.output("y",
           g.embedding(g.constant("table", {5, 3}, std::span<const float>(table)), g.input("ids", {4}, DType::I32)));
  return g;
}

}  // namespace

TEST_CASE("a started run gives what run gives, on heed's threads", "[cpu][started]") {
  for (const uint32_t threads : {1u, 3u}) {
    INFO(threads << " threads");
    Device device = test::open_cpu({.threads = threads});
    Plan plan = test::compiled(device, network(), {}, {.training = true});
    const Result expected = run_network(plan, 150, 3);
    for (int repeat = 0; repeat < 20; ++repeat) {
      Io io(150);
      StartedRun started;
      CHECK(started.done());
      CHECK(started.wait() == Status::InvalidArgument);
      REQUIRE(io.start(plan, 3, &started) == Status::Ok);
      if (repeat % 2 == 0)
        while (!started.done()) std::this_thread::yield();
      CHECK(started.wait() == Status::Ok);
      CHECK(started.wait() == Status::Ok);
      CHECK(started.done());
      CHECK(io.result == expected);
    }
    CHECK(run_network(plan, 150, 3) == expected);
  }
}

TEST_CASE("started runs of several plans, waited for in any order or never", "[cpu][started]") {
  Device device = test::open_cpu({.threads = 3});
  std::vector<Plan> plans;
  std::vector<Result> expected;
  for (uint32_t i = 0; i < 4; ++i) {
    plans.push_back(test::compiled(device, network(), {}, {.training = true}));
    expected.push_back(run_network(plans[i], 150, i));
  }
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::deque<Io> ios;
    {
      std::vector<StartedRun> started(4);
      for (uint32_t i = 0; i < 4; ++i) REQUIRE(ios.emplace_back(150).start(plans[i], i, &started[i]) == Status::Ok);
      CHECK(started[3].wait() == Status::Ok);
      CHECK(ios[3].result == expected[3]);
      StartedRun moved = std::move(started[0]);
      CHECK(started[0].wait() == Status::InvalidArgument);
      CHECK(moved.wait() == Status::Ok);
      CHECK(ios[0].result == expected[0]);
    }  // the destructors wait for the other runs here
    for (uint32_t i = 0; i < 4; ++i) CHECK(ios[i].result == expected[i]);
  }
}

TEST_CASE("a started run keeps the plan and the State for itself until it is done", "[cpu][started]") {
  test::Messages messages;
  OneThread host;
  Device device = test::open_cpu({.log = messages.log(LogLevel::Error), .threads = 2, .parallel_for = host.threads()});
  Plan plan = test::compiled(device, counter(), {}, {.timestamps = true}), other = test::compiled(device, counter());
  State state = test::state_of(plan);
  const std::vector<float> x(16, 2.0f);
  std::vector<float> y(16), z(16);
  const HostBuffer buffers[] = {{"x", x}, {"y", y}}, others[] = {{"x", x}, {"y", z}};
  StartedRun started, again;
  REQUIRE(plan.start(buffers, {}, {.state = state}, &started) == Status::Ok);
  CHECK_FALSE(started.done());
  const auto refuses = [&](Status status, const char* words) {
    messages.refused(status, Status::InvalidArgument, words);
  };
  const auto refuses_all = [&] {
    std::vector<std::byte> blob;
    std::vector<PassTime> times;
    refuses(plan.run(others, {}, {.state = state}), "run: the plan is in use already");
    refuses(plan.start(others, {}, {.state = state}, &again), "start: the plan is in use already");
    refuses(other.run(others, {}, {.state = state}), "run: the State is in use already");
    refuses(other.start(others, {}, {.state = state}, &again), "start: the State is in use already");
    refuses(state.reset(), "reset: the State is in use already");
    refuses(state.save(&blob), "save: the State is in use already");
    refuses(plan.timings(&times), "timings: the plan is running");
    refuses(other.start(others, {}, {.state = state}, &started), "*started holds a run");
    CHECK(again.wait() == Status::InvalidArgument);
  };
  refuses_all();
  CHECK(y == std::vector<float>(16));
  host.work();
  refuses_all();  // nobody has called done() or wait() yet
  CHECK(started.done());
  CHECK(y == x);
  std::vector<PassTime> times;
  CHECK(plan.timings(&times) == Status::Ok);
  CHECK(other.run(others, {}, {.state = state}) == Status::Ok);
  CHECK(z == std::vector<float>(16, 4.0f));
  CHECK(started.wait() == Status::Ok);
  REQUIRE(plan.start(buffers, {}, {.state = state}, &started) == Status::Ok);
  CHECK(started.wait() == Status::Ok);  // executed here, since the host's thread is this one
  CHECK(y == std::vector<float>(16, 6.0f));
  host.work();  // too late, and without effect
  CHECK(messages.text == "");

  // The host destroys its handles while a run still uses them.
  const std::shared_ptr<detail::StateImpl> kept = state.impl();
  REQUIRE(plan.start(buffers, {}, {.state = state}, &started) == Status::Ok);
  plan = other = Plan();
  state = State();
  device = Device();
  CHECK(kept.use_count() > 1);
  CHECK(started.wait() == Status::Ok);
  CHECK(y == std::vector<float>(16, 8.0f));
  started = StartedRun();
  CHECK(kept.use_count() == 1);
  host.work();
}

TEST_CASE("what is wrong with a started run is told at once or by wait", "[cpu][started]") {
  test::Messages messages;
  Device device = test::open_cpu({.log = messages.log(LogLevel::Error), .threads = 2});
  Plan plan = test::compiled(device, lookup());
  const std::vector<int32_t> ids = {4, 0, 99, -3};
  std::vector<float> y(12, 7.0f);
  StartedRun started;
  CHECK(plan.start({{"ids", ids}}, {}, {}, &started) == Status::MissingBuffer);
  CHECK(plan.start({{"ids", ids}, {"y", y}}, {{"n", 1}}, {}, &started) != Status::Ok);
  CHECK(plan.start({{"ids", ids}, {"y", y}}, {}, {}, nullptr) == Status::InvalidArgument);
  CHECK(Plan().start({{"ids", ids}, {"y", y}}, {}, {}, &started) == Status::InvalidArgument);
  CHECK(started.wait() == Status::InvalidArgument);
  messages.take();
  REQUIRE(plan.start({{"ids", ids}, {"y", y}}, {}, {}, &started) == Status::Ok);
  CHECK(started.wait() == Status::IndexOutOfRange);
  messages.refused(started.wait(), Status::IndexOutOfRange, "id 99 at position 2");
  CHECK(y[6] == 0.0f);
  {
    StartedRun forgotten;
    REQUIRE(plan.start({{"ids", ids}, {"y", y}}, {}, {}, &forgotten) == Status::Ok);
  }
  CHECK_THAT(messages.take(), holds("id 99 at position 2"));
  CHECK(plan.run({{"ids", std::vector<int32_t>(4)}, {"y", y}}) == Status::Ok);

  OneThread host;
  const Device shy = test::open_cpu({.log = messages.log(LogLevel::Error), .parallel_for = {OneThread::run, &host}});
  Plan unstarted = test::compiled(shy, lookup());
  messages.refused(unstarted.start({{"ids", ids}, {"y", y}}, {}, {}, &started), Status::Unsupported,
                   "ParallelFor has no `start`");
  CHECK(unstarted.run({{"ids", std::vector<int32_t>(4)}, {"y", y}}) == Status::Ok);
}

#if defined(__linux__)
TEST_CASE("a forked process does not wait for a run that goes on in the other", "[cpu][started]") {
  Device device = test::open_cpu({.threads = 2});
  Plan plan = test::compiled(device, network(), {}, {.training = true});
  const Result expected = run_network(plan, 37, 3);
  Io io(37);
  StartedRun started, other;
  REQUIRE(io.start(plan, 3, &started) == Status::Ok);
  while (!started.done()) std::this_thread::yield();  // the computing thread sleeps afterwards, and holds no lock
  OneThread host;
  Plan slow = test::compiled(test::open_cpu({.parallel_for = host.threads()}), network());
  Io late(37);
  REQUIRE(late.start(slow, 3, &other) == Status::Ok);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    bool right = other.done() && other.wait() == Status::InvalidArgument;
    right = right && io.start(plan, 3, &started) == Status::Unsupported;
    right = right && run_network(plan, 37, 3) == expected;
    other = StartedRun();
    started = StartedRun();
    plan = slow = Plan();
    device = Device();
    _exit(right ? 0 : 1);
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(state == 0);
  CHECK(other.wait() == Status::Ok);
  host.work();
  CHECK(io.start(plan, 3, &started) == Status::Ok);
  CHECK(started.wait() == Status::Ok);
  CHECK(io.result == expected);
}
#endif

}  // namespace heed::cpu_test
