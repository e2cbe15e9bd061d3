// Memory that plans of the CPU device share: scratch, and weights in packed form.
#include "cpu/device/page_pool.hpp"
#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

// A chain of matmuls whose scratch grows with `rows`.
Graph chain(int64_t rows) {
  Graph g;
  const Tensor x = g.input("x", {rows, 64});
  g.output("y", g.matmul(g.activation(g.matmul(x, x, {.transpose_b = true}), Activation::Tanh), x));
  return g;
}

std::vector<float> run_chain(Plan& plan, int64_t rows) {
  const std::vector<float> x = floats({rows, 64}, 3);
  std::vector<float> y(x.size());
  REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
  return y;
}

}  // namespace

TEST_CASE("plans of one device share scratch", "[cpu]") {
  Device device = test::open_cpu({.threads = 2});
  CHECK(device.scratch_bytes() == 0);
  Plan small = test::compiled(device, chain(40)), large = test::compiled(device, chain(300));
  const uint64_t least = small.scratch_bytes(), most = large.scratch_bytes();
  REQUIRE(least < most);
  CHECK(device.scratch_bytes() == most);
  const std::vector<float> y = run_chain(small, 40), z = run_chain(large, 300);
  CHECK(run_chain(small, 40) == y);
  CHECK(run_chain(large, 300) == z);
  CHECK(device.scratch_bytes() == most);
  large = Plan();
  CHECK(device.scratch_bytes() == least);
  CHECK(run_chain(small, 40) == y);
  small = Plan();
  CHECK(device.scratch_bytes() == 0);
}

TEST_CASE("a run beside another has scratch of its own", "[cpu]") {
  // A host that runs another plan whenever heed asks for its threads.
  struct Host {
    Plan inner;
    std::vector<float> expected;
    int depth = 0, runs = 0;
    static void run(void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
      auto* host = static_cast<Host*>(user);
      if (host->inner.valid() && host->depth++ == 0) {
        CHECK(run_chain(host->inner, 300) == host->expected);
        ++host->runs;
        host->depth = 0;
      }
      for (uint32_t i = 0; i < count; ++i) task(context, i);
    }
  } host;
  Device device = test::open_cpu({.threads = 2, .parallel_for = {Host::run, &host}});
  Plan outer = test::compiled(device, chain(300)), inner = test::compiled(device, chain(300));
  const uint64_t one = device.scratch_bytes();
  CHECK(one == outer.scratch_bytes());
  host.expected = run_chain(outer, 300);
  host.inner = inner;
  CHECK(run_chain(outer, 300) == host.expected);
  CHECK(host.runs > 0);
  CHECK(device.scratch_bytes() == 2 * one);
  host.inner = inner = Plan();
  CHECK(device.scratch_bytes() == one);  // one plan never needs two
  outer = Plan();
  CHECK(device.scratch_bytes() == 0);
}

TEST_CASE("a weight is held in the forms that plans read, and in no other", "[cpu]") {
  struct Case {
    int64_t rows, columns;
    bool transpose;
  };
  const Case cases[] = {{1, 1, false},  {3, 7, true},    {40, 70, false},
                        {64, 64, true}, {301, 33, true}, {130, 513, false}};
  on_every_set([&](Device& device, const char* set) {
    for (const Case& c : cases)
      for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
        INFO(set << ", " << to_string(type) << " " << c.rows << " x " << c.columns << ", " << c.transpose);
        const std::vector<float> w = floats({c.rows, c.columns}, 5);
        const int64_t shape[] = {c.rows, c.columns};
        const HostTensor tensor = {"w", DType::F32, shape, std::as_bytes(std::span(w))};
        Weights weights;
        REQUIRE(device.upload({&tensor, 1}, &weights, {.keep_dtype = false, .dtype = type}) == Status::Ok);
        const uint64_t plain = weights.bytes();
        CHECK(plain == (w.size() * size_of(type) + 3) / 4 * 4);

        Graph reads;
        std::vector<int32_t> ids(static_cast<size_t>(c.rows));
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(ids.size() - 1 - i);
        reads.output("y", reads.embedding(reads.weight("w", {c.rows, c.columns}, type),
                                          reads.input("ids", {c.rows}, DType::I32), DType::F32));
        const auto rows_of = [&](Plan& plan) {
          std::vector<float> y(w.size());
          REQUIRE(plan.run({{"ids", ids}, {"y", y}}) == Status::Ok);
          return y;
        };
        Plan reader = test::compiled(device, reads, weights);
        const std::vector<float> expected = rows_of(reader);
        CHECK(weights.bytes() == plain);
        reader = Plan();

        const int64_t k = c.transpose ? c.columns : c.rows, n = c.transpose ? c.rows : c.columns;
        Graph product;
        product.output("y", product.matmul(product.input("x", {2, k}), product.weight("w", {c.rows, c.columns}, type),
                                           {.transpose_b = c.transpose}));
        const auto multiply = [&](Plan& plan) {
          const std::vector<float> x = floats({2, k}, 6);
          std::vector<float> y(static_cast<size_t>(2 * n));
          REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
          return y;
        };
        Plan first = test::compiled(device, product, weights), second = test::compiled(device, product, weights);
        const uint64_t packed = weights.bytes();
        CHECK(first.weight_bytes() == packed);
        CHECK(second.weight_bytes() == packed);
        const std::vector<float> y = multiply(first);
        CHECK(multiply(second) == y);

        reader = test::compiled(device, reads, weights);
        CHECK(reader.weight_bytes() == plain);
        CHECK(weights.bytes() == packed + plain);
        CHECK(rows_of(reader) == expected);
        first = second = Plan();
        CHECK(rows_of(reader) == expected);
        reader = Plan();
        CHECK(weights.bytes() == packed);
        first = test::compiled(device, product, weights);
        CHECK(multiply(first) == y);
      }
  });
}

TEST_CASE("small buffers share huge pages, apart from each other, for as long as any of them lives", "[cpu]") {
  auto pool = std::make_unique<cpu::PagePool>();
  std::vector<cpu::PooledBuffer> all;
  const uint64_t sizes[] = {1, 300'000, 64, 1'000'000, 0, 700'001};
  for (size_t i = 0; i < 60; ++i) {
    const uint64_t bytes = sizes[i % std::size(sizes)];
    REQUIRE(all.emplace_back().allocate(bytes, pool.get()));
    REQUIRE(all.back().bytes() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(all.back().data()) % cpu::kAlignment == 0);
    std::fill_n(all.back().data(), bytes, static_cast<std::byte>(i));
  }
  cpu::PooledBuffer large, own;
  REQUIRE(large.allocate(3 * cpu::kHugePage, pool.get()));
  CHECK(reinterpret_cast<uintptr_t>(large.data()) % cpu::kHugePage == 0);  // has its own pages
  REQUIRE(own.allocate(100, nullptr));
  pool.reset();
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % 7 == 0) all[i] = {};  // other tensors in its block stay
    const auto same = [&](std::byte b) { return b == static_cast<std::byte>(i); };
    CHECK(std::all_of(all[i].data(), all[i].data() + all[i].bytes(), same));
  }
}

TEST_CASE("a weight of which a plan packs a part stays as it is", "[cpu]") {
  Device device = test::open_cpu();
  const std::vector<float> w = floats({4, 4}, 5);
  const int64_t shape[] = {4, 4};
  const HostTensor tensor = {"w", DType::F32, shape, std::as_bytes(std::span(w))};
  const Weights weights = test::uploaded(device, {&tensor, 1});
  const auto plan_of = [&](int64_t from) {
    Graph g;
    g.output("y", g.matmul(g.input("x", {1, 3}), g.slice(g.weight("w", {4, 4}), 0, from, 3)));
    return test::compiled(device, g, weights);
  };
  Plan first = plan_of(0);
  const uint64_t with_one = weights.bytes();
  CHECK(with_one == 64 + first.weight_bytes());
  Plan second = plan_of(1);
  CHECK(weights.bytes() == with_one + second.weight_bytes());
  const std::vector<float> x = {1, 0, 0};
  std::vector<float> y(4);
  REQUIRE(second.run({{"x", x}, {"y", y}}) == Status::Ok);
  CHECK(std::equal(y.begin(), y.end(), w.begin() + 4));
  first = second = Plan();
  CHECK(weights.bytes() == 64);
}

}  // namespace heed::cpu_test
