// States on every device: values that one run writes and a later run reads.
#include <array>
#include <cstring>

#include "graph/schedule/backend.hpp"
#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> floats(const Array& x) {
  std::vector<float> values;
  for (const double v : x.value) values.push_back(static_cast<float>(v));
  return values;
}

Bytes saved(const State& state) {
  Bytes blob;
  REQUIRE(state.save(&blob) == Status::Ok);
  return blob;
}

// Lengths that add up to `total`.
const std::vector<std::vector<int64_t>> kSplits = {
    {24},     {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {7, 1, 9, 7}, {23, 1}, {1, 23},
    {8, 8, 8}};
constexpr int64_t kTotal = 24;

}  // namespace

// Inputs are copied, scaled, transposed, joined, looked up and converted into states. All of these are elementwise.
TEST_CASE("states: what was appended in any split is the same bit for bit", "[state]") {
  on_each([](const TestDevice& device) {
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
      if (!device.device.impl()->supports(type)) continue;
      Graph g;
      const Dim past = g.position("past", kTotal - 1), tokens = g.extent("tokens", kTotal);
      const Tensor x = g.input("x", {2, tokens, 6}, type), ids = g.input("ids", {tokens}, DType::I32),
                   flags = g.input("flags", {tokens, 3}, DType::U8);
      (void)g.append(g.state("copied", {2, kTotal, 6}, type), x, 1, past);
      (void)g.append(g.state("scaled", {2, kTotal, 6}, type), g.scale(x, 0.75f), 1, past);
      (void)g.append(g.state("turned", {6, 2, kTotal}, type), g.permute(g.scale(x, 1.25f), {2, 0, 1}), 2, past);
      (void)g.append(g.state("joined", {2, kTotal, 12}, type), g.concat({x, g.scale(x, 3.0f)}, 2), 1, past);
      (void)g.append(g.state("ids", {kTotal}, DType::I32), ids, 0, past);
      (void)g.append(g.state("flags", {kTotal, 3}, DType::U8), flags, 0, past);
      (void)g.append(g.state("wide", {2, kTotal, 6}), x, 1, past);
      (void)g.append(g.state("rotated", {2, kTotal, 6}, type), g.rotary(x, {.first = past}), 1, past);
      Plan plan = test::compiled(device.device, g);

      const Array all = uniform({2, kTotal, 6}, 301);
      std::vector<int32_t> all_ids(kTotal);
      std::vector<uint8_t> all_flags(kTotal * 3);
      for (int64_t i = 0; i < kTotal; ++i) all_ids[static_cast<size_t>(i)] = static_cast<int32_t>(i * 77 - 9);
      for (size_t i = 0; i < all_flags.size(); ++i) all_flags[i] = static_cast<uint8_t>(i * 31);
      Bytes want;
      for (const std::vector<int64_t>& split : kSplits) {
        State state = test::state_of(plan);
        int64_t at = 0;
        for (const int64_t n : split) {
          Run run;
          run.dtype = type;
          const Array part = run.input("x", slice(all, 1, at, n));
          const std::span part_ids(all_ids.data() + at, static_cast<size_t>(n));
          const std::span part_flags(all_flags.data() + 3 * at, static_cast<size_t>(3 * n));
          REQUIRE(plan.run({{"x", run.inputs[0].bytes}, {"ids", part_ids}, {"flags", part_flags}},
                           {{"past", at}, {"tokens", n}}, {.state = state}) == Status::Ok);
          at += n;
        }
        const Bytes got = saved(state);
        if (want.empty()) want = got;
        CHECK(got == want);
        // And the states equal the inputs.
        Run whole;
        whole.dtype = type;
        (void)whole.input("x", all);
        Bytes read(whole.inputs[0].bytes.size());
        CHECK(state.read("copied", read) == Status::Ok);
        CHECK(read == whole.inputs[0].bytes);
        Bytes read_ids(all_ids.size() * 4), read_flags(all_flags.size());
        CHECK(state.read("ids", read_ids) == Status::Ok);
        CHECK(read_ids == bytes_of(all_ids));
        CHECK(state.read("flags", read_flags) == Status::Ok);
        CHECK(read_flags == bytes_of(all_flags));
      }
    }
  });
}

TEST_CASE("states: reads see what the writes before them left, in one run and in the next", "[state]") {
  on_each([](const TestDevice& device) {
    Graph g;
    const Tensor x = g.input("x", {4, 5});
    Tensor s = g.state("s", {4, 5});
    g.output("before", s);
    g.output("doubled", g.scale(s, 2.0f));
    s = g.assign(s, g.add(s, x));  // computed from itself
    g.output("sum", g.scale(s, 1.0f));
    s = g.append(s, g.slice(x, 0, 0, 1), 0, 3);
    (void)g.assign(g.slice(s, 0, 0, 2), g.slice(s, 0, 1, 2));  // rows move up and overlap themselves
    g.output("after", g.state("s", {4, 5}));
    Plan plan = test::compiled(device.device, g);
    State state = test::state_of(plan);
    std::vector<float> value(20, 0.0f), before(20), doubled(20), sum(20), after(20);
    for (int run = 0; run < 4; ++run) {
      const std::vector<float> given = floats(uniform({4, 5}, static_cast<uint64_t>(310 + run)));
      REQUIRE(plan.run({{"x", given}, {"before", before}, {"doubled", doubled}, {"sum", sum}, {"after", after}}, {},
                       {.state = state}) == Status::Ok);
      CHECK(before == value);
      for (size_t i = 0; i < 20; ++i) {
        CHECK(doubled[i] == 2.0f * value[i]);
        value[i] += given[i];
      }
      CHECK(sum == value);
      for (size_t i = 0; i < 5; ++i) value[15 + i] = given[i];
      for (size_t i = 0; i < 10; ++i) value[i] = value[i + 5];
      CHECK(after == value);
    }
  });
}

// A decoder's layer, compared with one attention over all tokens, in double.
TEST_CASE("states: attention over keys and values that stay", "[state]") {
  constexpr int64_t kWidth = 32, kHeads = 4, kGroups = 2, kHead = 8;
  const Array x = uniform({1, kTotal, kWidth}, 321);
  const auto matrix = [](int64_t rows, uint64_t seed) { return uniform({rows, kWidth}, seed, -0.3, 0.3); };
  on_each([&](const TestDevice& device) {
    for (const DType type : {DType::F32, DType::F16}) {
      if (!device.device.impl()->supports(type)) continue;
      Trial t(type);
      Graph& g = t.graph;
      Array wq = matrix(kWidth, 322), wk = matrix(kGroups * kHead, 323), wv = matrix(kGroups * kHead, 324);
      const Dim past = g.position("past", kTotal - 1), tokens = g.extent("tokens", kTotal);
      const Dim keys = g.sum(past, tokens, kTotal);
      const Tensor in = t.input("x", {1, tokens, kWidth});
      const auto heads = [&](Tensor rows, int64_t n) { return g.reshape(rows, {1, tokens, n, kHead}); };
      const Tensor q = g.rotary(g.transpose(heads(g.linear(in, t.weight("wq", &wq)), kHeads), 1, 2), {.first = past});
      const Tensor k = g.rotary(g.transpose(heads(g.linear(in, t.weight("wk", &wk)), kGroups), 1, 2), {.first = past});
      const Tensor v = heads(g.linear(in, t.weight("wv", &wv)), kGroups);
      const Tensor all_k = g.append(g.state("k", {1, kGroups, kTotal, kHead}, type), k, 2, past);
      const Tensor all_v = g.append(g.state("v", {1, kTotal, kGroups, kHead}, type), v, 1, past);
      const AttentionResult attention =
          g.attention(q, g.slice(all_k, 2, 0, keys), g.transpose(g.slice(all_v, 1, 0, keys), 1, 2),
                      {.causal = Causal::BottomRight});
      g.output("y", attention.output);
      Plan plan = test::compiled(device.device, g, test::uploaded(device.device, t.host_weights()));

      Run whole;
      whole.dtype = type;
      const Array vx = whole.input("x", x);
      const auto projected = [&](const Array& w, int64_t n) {
        const Array rows = t.stored(matmul(reshape(vx, {kTotal, kWidth}), transposed(w)));
        return permute(reshape(rows, {1, kTotal, n, kHead}), {0, 2, 1, 3});
      };
      const auto spread = [&](const Array& heads_of_keys) {
        std::vector<Array> parts;
        for (int64_t h = 0; h < kHeads; ++h) parts.push_back(slice(heads_of_keys, 1, h * kGroups / kHeads, 1));
        return concat(parts, 1);
      };
      const Array vq = t.stored(rotary(projected(wq, kHeads), {}, nullptr));
      const Array vk = spread(t.stored(rotary(projected(wk, kGroups), {}, nullptr)));
      const Array vv = spread(projected(wv, kGroups));
      const SoftmaxReference causal = {.causal = Causal::TopLeft};
      const Array want = matmul(softmax(matmul(vq, transposed(vk), 1.0 / std::sqrt(double{kHead})), causal), vv);

      for (const std::vector<int64_t>& split : kSplits) {
        State state = test::state_of(plan);
        int64_t at = 0;
        for (const int64_t n : split) {
          Run run;
          run.dtype = type;
          (void)run.input("x", slice(x, 1, at, n));
          run.expect("y", slice(want, 2, at, n), 256.0, 4);
          Bytes y(static_cast<size_t>(kHeads * n * kHead) * size_of(type));
          REQUIRE(plan.run({{"x", run.inputs[0].bytes}, {"y", y}}, {{"past", at}, {"tokens", n}}, {.state = state}) ==
                  Status::Ok);
          Tally tally;
          INFO("at " << at << ", " << n << " tokens, " << to_string(type));
          CHECK(difference(run.expectations[0], y, &tally) == "");
          at += n;
        }
        // Cut back to 5 rows and continued with other rows: later rows are not visible.
        if (split.size() != 4) continue;
        Run again;
        again.dtype = type;
        (void)again.input("x", slice(x, 1, 5, 3));
        again.expect("y", slice(want, 2, 5, 3), 256.0, 4);
        Bytes y(static_cast<size_t>(kHeads * 3 * kHead) * size_of(type));
        REQUIRE(plan.run({{"x", again.inputs[0].bytes}, {"y", y}}, {{"past", 5}, {"tokens", 3}}, {.state = state}) ==
                Status::Ok);
        Tally tally;
        CHECK(difference(again.expectations[0], y, &tally) == "");
      }
    }
  });
}

namespace {

constexpr int64_t kRoom = 40, kHeadWidth = 16;

// One token of each of `batch` conversations: its keys and values are appended at the end of that conversation.
Graph step_of(int64_t batch, DType type, int64_t window) {
  Graph g;
  const auto input = [&](const char* name, int64_t heads) {
    return g.input(name, {batch, 1, heads, kHeadWidth}, type);
  };
  const Tensor fresh[] = {input("k", 2), input("v", 2)};
  const char* names[] = {"keys", "values"};
  Tensor all[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto state = [&] { return g.state(names[i], {batch, kRoom, 2, kHeadWidth}, type); };
    for (int64_t b = 0; b < batch; ++b)
      (void)g.append(g.slice(state(), 0, b, 1), g.slice(fresh[i], 0, b, 1), 1,
                     g.position("past" + std::to_string(b), kRoom - 1));
    all[i] = g.transpose(state(), 1, 2);
  }
  const Tensor q = g.transpose(input("q", 4), 1, 2);
  g.output(
      "y",
      g.attention(q, all[0], all[1],
                  {.causal = Causal::BottomRight, .window = window, .lengths = g.input("lengths", {batch}, DType::I32)})
          .output);
  return g;
}

}  // namespace

TEST_CASE("states: conversations of different lengths in a batch are as each is alone", "[state]") {
  constexpr int64_t kBatch = 3, kSteps = 6, kPast[kBatch] = {0, 9, kRoom - kSteps};
  on_each([&](const TestDevice& device) {
    for (const DType type : {DType::F32, DType::F16})
      for (const int64_t window : {int64_t{0}, int64_t{7}}) {
        if (!device.device.impl()->supports(type)) continue;
        Plan batch = test::compiled(device.device, step_of(kBatch, type, window)),
             alone = test::compiled(device.device, step_of(1, type, window));
        // Rows after the end of a conversation are NaN, which must not reach any result.
        State all = test::state_of(batch);
        std::vector<State> own;
        Run given;
        given.dtype = type;
        for (const char* name : {"keys", "values"}) {
          Array rows = uniform({kBatch, kRoom, 2, kHeadWidth}, 401);
          const int64_t row = 2 * kHeadWidth;
          for (int64_t i = 0; i < rows.size(); ++i)
            if (i / row % kRoom >= kPast[i / row / kRoom]) rows.at(i) = NAN;
          (void)given.input(name, rows);
          const Bytes& bytes = given.inputs.back().bytes;
          REQUIRE(all.write(name, bytes) == Status::Ok);
          for (size_t b = 0; b < kBatch; ++b) {
            if (own.size() <= b) own.push_back(test::state_of(alone));
            const size_t size = bytes.size() / kBatch;
            REQUIRE(own[b].write(name, std::span(bytes).subspan(b * size, size)) == Status::Ok);
          }
        }
        for (int64_t step = 0; step < kSteps; ++step) {
          // Runs conversations first .. first + count - 1, and returns their outputs.
          const auto outputs = [&](Plan& plan, const State& state, int64_t first, int64_t count) {
            Run run;
            run.dtype = type;
            const auto input = [&](const char* name, int64_t heads, uint64_t seed) {
              (void)run.input(name, slice(uniform({kBatch, 1, heads, kHeadWidth}, seed + 10 * step), 0, first, count));
            };
            input("q", 4, 402), input("k", 2, 403), input("v", 2, 404);
            std::vector<int32_t> lengths;
            std::vector<std::string> names;
            std::vector<ExtentValue> past;
            for (int64_t b = 0; b < count; ++b) {
              lengths.push_back(static_cast<int32_t>(kPast[first + b] + step + 1));
              names.push_back("past" + std::to_string(b));
            }
            for (int64_t b = 0; b < count; ++b)
              past.push_back({names[static_cast<size_t>(b)], kPast[first + b] + step});
            Bytes y(static_cast<size_t>(count * 4 * kHeadWidth) * size_of(type));
            const HostBuffer io[] = {{"q", run.inputs[0].bytes},
                                     {"k", run.inputs[1].bytes},
                                     {"v", run.inputs[2].bytes},
                                     {"lengths", lengths},
                                     {"y", y}};
            REQUIRE(plan.run(io, past, {.state = state}) == Status::Ok);
            return y;
          };
          const Bytes together = outputs(batch, all, 0, kBatch);
          Bytes apart;
          for (int64_t b = 0; b < kBatch; ++b) {
            const Bytes one = outputs(alone, own[static_cast<size_t>(b)], b, 1);
            apart.insert(apart.end(), one.begin(), one.end());
          }
          // The same kernel processes the same keys.
          INFO(to_string(type) << ", window " << window << ", step " << step);
          CHECK(together == apart);
        }
      }
  });
}

namespace {

// Adds x to "sum", and counts runs in row `at` of "log" if requested.
Graph counter(bool logs) {
  Graph g;
  const Tensor x = g.input("x", {3});
  const Tensor sum = g.assign(g.state("sum", {3}), g.add(g.state("sum", {3}), x));
  if (logs) (void)g.append(g.state("log", {8, 3}), g.reshape(sum, {1, 3}), 0, g.position("at", 7));
  g.output("y", sum);
  return g;
}

std::vector<float> step(Plan& plan, const State& state, float x, std::vector<ExtentValue> extents = {}) {
  const std::vector<float> given(3, x);
  std::vector<float> y(3);
  const HostBuffer buffers[] = {{"x", given}, {"y", y}};
  REQUIRE(plan.run(buffers, extents, {.state = state}) == Status::Ok);
  return y;
}

std::vector<float> three(float x) { return std::vector<float>(3, x); }

}  // namespace

TEST_CASE("states: one plan serves many, and plans share one", "[state]") {
  on_each([](const TestDevice& device) {
    Plan logs = test::compiled(device.device, counter(true)), plain = test::compiled(device.device, counter(false));
    CHECK(logs.state_bytes() >= 9 * 3 * 4);
    CHECK(plain.state_bytes() == 12);
    State a = test::state_of(logs), b = test::state_of(logs), c = test::state_of(plain);
    CHECK(a.bytes() == logs.state_bytes());
    CHECK(step(logs, a, 1.0f, {{"at", 0}}) == three(1.0f));
    CHECK(step(logs, b, 10.0f) == three(10.0f));
    CHECK(step(plain, c, 100.0f) == three(100.0f));
    CHECK(step(plain, a, 2.0f) == three(3.0f));  // this plan has no "log"
    CHECK(step(logs, a, 4.0f, {{"at", 2}}) == three(7.0f));
    CHECK(step(plain, b, 0.0f) == three(10.0f));

    std::vector<float> log(24);
    REQUIRE(a.read("log", std::as_writable_bytes(std::span(log))) == Status::Ok);
    CHECK(log[0] == 1.0f);
    CHECK(log[3] == 0.0f);
    CHECK(log[6] == 7.0f);

    // A fork develops independently.
    REQUIRE(b.copy(a) == Status::Ok);
    CHECK(step(plain, b, 1.0f) == three(8.0f));
    CHECK(step(plain, a, 0.0f) == three(7.0f));
    REQUIRE(a.copy(a) == Status::Ok);
    REQUIRE(b.reset() == Status::Ok);
    CHECK(step(plain, b, 5.0f) == three(5.0f));
    CHECK(saved(b) != saved(a));
    Bytes zero(12), part(12);
    CHECK(b.read("log", part, {.axis = 0, .begin = 2, .size = 1}) == Status::Ok);
    CHECK(part == zero);
  });
}

TEST_CASE("states: a row of one becomes a row of another, or of the same", "[state]") {
  on_each([](const TestDevice& device) {
    constexpr int64_t kRows = 3;
    Graph g;
    const Tensor x = g.input("x", {kRows, 2, 5});
    (void)g.assign(g.state("wide", {kRows, 2, 5}), x);
    (void)g.assign(g.state("odd", {kRows, 3}, DType::U8), g.input("odd", {kRows, 3}, DType::U8));
    Plan plan = test::compiled(device.device, g);
    const auto filled = [&](float first) {
      std::vector<float> wide(30);
      std::vector<uint8_t> odd(9);
      for (size_t i = 0; i < wide.size(); ++i) wide[i] = first + static_cast<float>(i);
      for (size_t i = 0; i < odd.size(); ++i) odd[i] = static_cast<uint8_t>(wide[i]);
      State state = test::state_of(plan);
      REQUIRE(plan.run({{"x", wide}, {"odd", odd}}, {}, {.state = state}) == Status::Ok);
      return state;
    };
    const auto row_of = [](const State& state, int64_t row) {
      Bytes wide(40), odd(3);
      REQUIRE(state.read("wide", wide, {.axis = 0, .begin = row, .size = 1}) == Status::Ok);
      REQUIRE(state.read("odd", odd, {.axis = 0, .begin = row, .size = 1}) == Status::Ok);
      wide.insert(wide.end(), odd.begin(), odd.end());
      return wide;
    };
    State a = filled(0), b = filled(100);
    const Bytes a0 = row_of(a, 0), a2 = row_of(a, 2), b0 = row_of(b, 0), b1 = row_of(b, 1), b2 = row_of(b, 2);
    REQUIRE(b.copy_row(a, 2, 0) == Status::Ok);
    CHECK(row_of(b, 0) == a2);
    CHECK(row_of(b, 1) == b1);
    CHECK(row_of(b, 2) == b2);
    CHECK(row_of(a, 2) == a2);
    REQUIRE(a.copy_row(a, 0, 1) == Status::Ok);
    CHECK(row_of(a, 0) == a0);
    CHECK(row_of(a, 1) == a0);
    CHECK(row_of(a, 2) == a2);
    REQUIRE(a.copy_row(a, 2, 2) == Status::Ok);
    CHECK(row_of(a, 2) == a2);

    const Bytes kept = saved(a);
    for (const auto& [from, to] : {std::pair(-1, 0), std::pair(0, -1), std::pair(3, 0), std::pair(0, 3)}) {
      take_messages();
      CHECK(a.copy_row(b, from, to) == Status::InvalidArgument);
      CHECK(take_checked_messages().find("which has 3") != std::string::npos);
      CHECK(a.copy_row(a, from, to) == Status::InvalidArgument);
      CHECK(take_checked_messages().find("which has 3") != std::string::npos);
    }
    CHECK(a.copy_row(State(), 0, 0) == Status::InvalidArgument);
    CHECK(State().copy_row(a, 0, 0) == Status::InvalidArgument);
    Plan other = test::compiled(device.device, counter(false));
    CHECK(test::state_of(other).copy_row(a, 0, 0) == Status::NotFound);
    CHECK(a.copy_row(test::state_of(other), 0, 0) == Status::NotFound);
    take_messages();
    CHECK(saved(a) == kept);
  });
}

TEST_CASE("states: parts are read and written", "[state]") {
  on_each([](const TestDevice& device) {
    Graph g;
    const Tensor s = g.state("s", {3, 4, 5}), bytes = g.state("bytes", {7}, DType::U8);
    g.output("y", s);
    g.output("z", bytes);
    Plan plan = test::compiled(device.device, g);
    State state = test::state_of(plan);
    Array value = filled({3, 4, 5}, 0.0);
    std::vector<float> y(60);
    std::vector<uint8_t> z(7);
    uint64_t seed = 340;
    for (const StatePart& part : {StatePart{}, {0, 1, 2}, {1, 3, 1}, {-2, 0, 3}, {2, 1, 3}, {-1, 4, 1}, {0, 0, 3}}) {
      const size_t axis = static_cast<size_t>(part.axis < 0 ? part.axis + 3 : part.axis);
      Sizes shape = value.shape;
      if (part.size != 0) shape[axis] = part.size;
      const Array given = uniform(shape, ++seed);
      const std::vector<float> values = floats(given);
      REQUIRE(state.write("s", std::as_bytes(std::span(values)), part) == Status::Ok);
      std::vector<Array> pieces;
      if (part.begin > 0) pieces.push_back(slice(value, static_cast<int>(axis), 0, part.begin));
      pieces.push_back(given);
      const int64_t end = part.begin + shape[axis], rest = value.shape[axis] - end;
      if (rest > 0) pieces.push_back(slice(value, static_cast<int>(axis), end, rest));
      value = concat(pieces, static_cast<int>(axis));
      std::vector<float> back(values.size());
      REQUIRE(state.read("s", std::as_writable_bytes(std::span(back)), part) == Status::Ok);
      CHECK(back == values);
      REQUIRE(plan.run({{"y", y}, {"z", z}}, {}, {.state = state}) == Status::Ok);
      CHECK(y == floats(value));
    }
    const std::vector<uint8_t> three_bytes = {1, 2, 3};
    REQUIRE(state.write("bytes", std::as_bytes(std::span(three_bytes)), {0, 3, 3}) == Status::Ok);
    REQUIRE(plan.run({{"y", y}, {"z", z}}, {}, {.state = state}) == Status::Ok);
    CHECK(z == std::vector<uint8_t>{0, 0, 0, 1, 2, 3, 0});

    const auto refused = [&](Status status, const char* text, std::string_view name, size_t bytes, StatePart part) {
      Bytes data(bytes, std::byte{1});
      CHECK(state.write(name, data, part) == status);
      CHECK(take_checked_messages().find(text) != std::string::npos);
      CHECK(state.read(name, data, part) == status);
      CHECK(take_checked_messages().find(text) != std::string::npos);
      CHECK(data == Bytes(bytes, std::byte{1}));
    };
    refused(Status::NotFound, "no 't'", "t", 4, {});
    refused(Status::InvalidArgument, "axis 3", "s", 4, {3, 0, 1});
    refused(Status::InvalidArgument, "axis -4", "s", 4, {-4, 0, 1});
    refused(Status::InvalidArgument, "2 + 2 of axis 0", "s", 160, {0, 2, 2});
    refused(Status::InvalidArgument, "-1 + 1", "s", 80, {0, -1, 1});
    refused(Status::InvalidArgument, "1 + 0", "s", 80, {0, 1, 0});
    refused(Status::InvalidArgument, "of axis 0", "s", 80, {0, INT64_MAX, INT64_MAX});
    refused(Status::ShapeMismatch, "has 240 bytes; 236 were given", "s", 236, {});
    REQUIRE(plan.run({{"y", y}, {"z", z}}, {}, {.state = state}) == Status::Ok);
    CHECK(y == floats(value));
  });
}

TEST_CASE("states: saved bytes are good for every device, and damaged ones are refused", "[state]") {
  Bytes first;
  on_each([&](const TestDevice& device) {
    Plan plan = test::compiled(device.device, counter(true));
    State state = test::state_of(plan), other = test::state_of(plan);
    (void)step(plan, state, 1.0f, {{"at", 1}});
    (void)step(plan, state, 2.0f, {{"at", 5}});
    const Bytes blob = saved(state);
    if (first.empty()) first = blob;
    CHECK(blob == first);
    REQUIRE(other.load(first) == Status::Ok);
    CHECK(saved(other) == blob);
    CHECK(step(plan, other, 0.0f) == three(3.0f));

    const Bytes kept = saved(other);
    for (size_t i = 0; i < blob.size(); i += device.interpreted ? 7 : 1) {
      Bytes damaged = blob;
      damaged[i] ^= std::byte{1};
      CHECK(other.load(damaged) == Status::InvalidFile);
      CHECK(other.load(std::span(blob).first(i)) == Status::InvalidFile);
    }
    Graph renamed;
    (void)renamed.assign(renamed.state("total", {3}), renamed.input("x", {3}));
    Graph reshaped;
    (void)reshaped.assign(reshaped.state("sum", {4}), reshaped.input("x", {4}));
    Graph retyped;
    (void)retyped.assign(retyped.state("sum", {3}, DType::I32), retyped.input("x", {3}, DType::I32));
    const auto refused = [&](const Graph& g, Status status, const char* text) {
      Plan of = test::compiled(device.device, g);
      const State wrong = test::state_of(of);
      Plan plain = test::compiled(device.device, counter(false));
      State sum = test::state_of(plain);
      (void)step(plain, sum, 9.0f);
      take_messages();
      CHECK(sum.load(saved(wrong)) == status);
      CHECK(take_checked_messages().find(text) != std::string::npos);
      CHECK(sum.copy(wrong) == status);
      CHECK(take_checked_messages().find(text) != std::string::npos);
      CHECK(step(plain, sum, 0.0f) == three(9.0f));
      std::vector<float> x(3), y(3, -1.0f);
      CHECK(plain.run({{"x", x}, {"y", y}}, {}, {.state = wrong}) == status);
      CHECK(take_checked_messages().find(text) != std::string::npos);
      CHECK(y == three(-1.0f));
    };
    refused(renamed, Status::NotFound, "'sum'");
    refused(reshaped, Status::ShapeMismatch, "state 'sum' is f32 [4]; f32 [3] is needed");
    refused(retyped, Status::DTypeMismatch, "state 'sum' is i32 [3]; f32 [3] is needed");
    CHECK(saved(other) == kept);
    Plan plain = test::compiled(device.device, counter(false));
    State less = test::state_of(plain);
    CHECK(less.copy(other) == Status::NotFound);
    CHECK(other.copy(less) == Status::NotFound);
    CHECK(less.load(blob) == Status::NotFound);
    const std::vector<StateInfo> tensors = less.tensors();
    REQUIRE(tensors.size() == 1);
    CHECK(tensors[0].name == "sum");
    CHECK(tensors[0].dtype == DType::F32);
    CHECK(tensors[0].shape == std::vector<int64_t>{3});
    CHECK(State().tensors().empty());
    take_messages();
  });
}

TEST_CASE("states: wrong uses are refused, and leave the State as it was", "[state]") {
  Device another = test::open_cpu({.threads = 1});
  Plan elsewhere = test::compiled(another, counter(true));
  const State foreign = test::state_of(elsewhere);
  on_each([&](const TestDevice& device) {
    Plan plan = test::compiled(device.device, counter(true));
    State state = test::state_of(plan);
    (void)step(plan, state, 1.0f, {{"at", 7}});
    const Bytes kept = saved(state);
    std::vector<float> x(3, 1.0f), y(3, -1.0f);
    const auto refused = [&](const State& given, std::vector<ExtentValue> extents, Status status, const char* text) {
      const HostBuffer buffers[] = {{"x", x}, {"y", y}};
      CHECK(plan.run(buffers, extents, {.state = given}) == status);
      const std::string messages = take_checked_messages();
      INFO(messages);
      CHECK(messages.find(text) != std::string::npos);
      CHECK(y == three(-1.0f));
      CHECK(saved(state) == kept);
    };
    refused({}, {}, Status::MissingBuffer, "was given no State");
    refused(foreign, {}, Status::InvalidArgument, "another device");
    refused(state, {{"at", 8}}, Status::ExtentOutOfRange, "0 to 7");
    CHECK(state.copy(foreign) == Status::InvalidArgument);
    CHECK(take_checked_messages().find("different devices") != std::string::npos);
    CHECK(State().reset() == Status::InvalidArgument);
    CHECK(state.copy({}) == Status::InvalidArgument);
    CHECK(state.save(nullptr) == Status::InvalidArgument);
    CHECK(plan.make_state(nullptr) == Status::InvalidArgument);
    State none;
    CHECK(Plan().make_state(&none) == Status::InvalidArgument);
    CHECK_FALSE(none.valid());
    CHECK(none.bytes() == 0);
    CHECK(saved(state) == kept);

    Graph g;  // rows that exceed the state's end in some runs
    const Dim at = g.position("at", 7), n = g.extent("n", 4);
    (void)g.append(g.state("log", {8, 3}), g.input("rows", {n, 3}), 0, at);
    Plan append = test::compiled(device.device, g);
    const std::vector<float> rows(12, 2.0f);
    CHECK(append.run({{"rows", rows}}, {{"at", 6}, {"n", 3}}, {.state = state}) == Status::ExtentOutOfRange);
    CHECK(take_checked_messages().find("of axis 0 of 'log' f32 [8, 3] end at 9; there are 8") != std::string::npos);
    CHECK(saved(state) == kept);
    CHECK(append.run({{"rows", rows}}, {{"at", 6}, {"n", 2}}, {.state = state}) == Status::Ok);

    Graph stateless;
    stateless.output("y", stateless.scale(stateless.input("x", {3}), 2.0f));
    Plan other = test::compiled(device.device, stateless);
    CHECK(other.state_bytes() == 0);
    CHECK(other.run({{"x", x}, {"y", y}}, {}, {.state = state}) == Status::Ok);
    State empty = test::state_of(other);
    CHECK(empty.bytes() == 0);
    CHECK(empty.reset() == Status::Ok);
    CHECK(empty.copy(test::state_of(other)) == Status::Ok);
    CHECK(empty.load(saved(test::state_of(other))) == Status::Ok);
  });
}

TEST_CASE("states: one in use by a run is refused to others", "[state][cpu]") {
  // While a run uses the host's threads, they make calls that another thread might make.
  struct Attempts {
    Plan *other = nullptr, *stateless = nullptr;
    State state, spare;
    std::vector<Status> statuses;
    Status without = Status::InvalidArgument;
    void make() {
      if (other == nullptr) return;
      std::vector<float> x(3), y(3);
      Bytes blob;
      statuses = {other->run({{"x", x}, {"y", y}}, {}, {.state = state}),
                  state.reset(),
                  state.save(&blob),
                  state.load(blob),
                  state.copy(spare),
                  spare.copy(state),
                  state.read("sum", blob),
                  state.write("sum", blob)};
      without = stateless->run({{"x", x}, {"y", y}}, {}, {.state = state});
    }
  } attempts;
  const auto run = [](void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
    static_cast<Attempts*>(user)->make();
    for (uint32_t i = 0; i < count; ++i) task(context, i);
  };
  Device cpu = test::open_cpu({.threads = 2, .parallel_for = {run, &attempts}});
  Graph large;  // more than one thread is worth
  const Tensor rows = large.input("rows", {4096, 64});
  (void)large.assign(large.state("rows", {4096, 64}), large.scale(rows, 2.0f));
  (void)large.assign(large.state("sum", {3}), large.slice(large.reshape(rows, {4096 * 64}), 0, 0, 3));
  Plan plan = test::compiled(cpu, large), plain = test::compiled(cpu, counter(false));
  State state = test::state_of(plan), spare = test::state_of(plan);
  Graph twice;
  twice.output("y", twice.scale(twice.input("x", {3}), 2.0f));
  Plan stateless = test::compiled(cpu, twice);
  attempts.other = &plain;
  attempts.stateless = &stateless;
  attempts.state = state;
  attempts.spare = spare;
  const std::vector<float> x(4096 * 64, 3.0f);
  REQUIRE(plan.run({{"rows", x}}, {}, {.state = state}) == Status::Ok);
  CHECK(attempts.statuses == std::vector<Status>(8, Status::InvalidArgument));
  CHECK(attempts.without == Status::Ok);  // a run without a State is allowed
  attempts = {};
  CHECK(step(plain, state, 1.0f) == three(4.0f));  // free again
}

TEST_CASE("states: in memory of the host's, on the CPU", "[state][cpu]") {
  Device cpu = test::open_cpu({.threads = 2});
  Plan plan = test::compiled(cpu, counter(true));
  alignas(64) std::array<std::byte, 512> memory;
  memory.fill(std::byte{0});
  REQUIRE(plan.state_bytes() <= 256);
  State state, bad;
  CHECK(plan.make_state(std::span(memory).first(plan.state_bytes() - 1), &bad) == Status::BufferTooSmall);
  CHECK(plan.make_state(std::span(memory).subspan(4), &bad) == Status::InvalidArgument);
  CHECK_FALSE(bad.valid());
  const auto place = std::span(memory).first(plan.state_bytes());
  REQUIRE(plan.make_state(place, &state) == Status::Ok);
  CHECK(step(plan, state, 2.0f) == three(2.0f));
  State again;  // transfers the contents
  REQUIRE(plan.make_state(place, &again) == Status::Ok);
  CHECK(step(plan, again, 2.0f) == three(4.0f));
  for (size_t i = plan.state_bytes(); i < memory.size(); ++i) CHECK(memory[i] == std::byte{0});
  // Buffers inside the State's memory are copied: the input has its value from before the run, and the output is complete after it.
  const StatePart row = {0, 7, 1};
  const std::vector<float> ones(3, 1.0f);
  REQUIRE(state.write("log", std::as_bytes(std::span(ones)), row) == Status::Ok);
  float* const last = reinterpret_cast<float*>(memory.data()) + 21;  // row 7 of "log", which is first in memory
  CHECK(last[0] == 1.0f);
  std::vector<float> y(3);
  REQUIRE(plan.run({{"x", std::span<const float>(last, 3)}, {"y", y}}, {{"at", 7}}, {.state = state}) == Status::Ok);
  CHECK(y == three(5.0f));
  CHECK(last[0] == 5.0f);
}

}  // namespace heed::ops
