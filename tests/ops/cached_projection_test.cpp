// Queries, keys and values of few rows. Keys and values are written directly into a cache: after the earlier rows, or at a position for
// each row of a batch, in the type of the rows or a narrower one. On GPUs all three are one pass; tests/graph/project_test.cpp tests which
// ones are joined.
#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

constexpr int64_t kRoom = 20, kWidth = 12, kDepth = 256, kQueryHeads = 3, kHeads = 2;

// Positions of rows: one number for all; I32 [B], combined with heads without rotation; or I32 [B, 1, S], some of them negative.
enum class Places { One, EachRow, EachToken };

struct Cached {
  int64_t batch = 1, tokens = 1;
  Places places = Places::EachRow;
  std::optional<DType> cache = {}, weights = {};  // none: the type of the rows
  bool turns = true, bias = false;
  double behind = 0;  // the position of the first row, if it is past the end
};

std::string text_of(const Cached& c) {
  const char* const places[] = {"one place", "a place for each row", "a place for each token"};
  return ops::text_of({c.batch, c.tokens}) + " at " + places[static_cast<int>(c.places)] +
         (c.cache ? std::string(", cache ") + to_string(*c.cache) : "") +
         (c.weights ? std::string(", weights ") + to_string(*c.weights) : "") + (c.turns ? "" : ", not turned") +
         (c.bias ? ", bias" : "") + (c.behind > 0 ? ", one behind the end" : "");
}

// Heads [B, H, S, d] at the positions of their rows, in a state that was zero before.
Array put(const Array& heads, const Array& places) {
  const int64_t batch = heads.dim(3), count = heads.dim(2), tokens = heads.dim(1);
  Array all({batch, count, kRoom, kWidth});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < count; ++h)
      for (int64_t s = 0; s < tokens; ++s) {
        const double place = places.at(b * tokens + s);
        if (place < 0 || place >= static_cast<double>(kRoom)) continue;
        for (int64_t i = 0; i < kWidth; ++i) {
          const int64_t from = ((b * count + h) * tokens + s) * kWidth + i,
                        to = ((b * count + h) * kRoom + static_cast<int64_t>(place)) * kWidth + i;
          all.at(to) = heads.at(from), all.err(to) = heads.err(from);
        }
      }
  return all;
}

Array places_of(const Cached& c) {
  Array places({c.batch, 1, c.tokens});
  for (int64_t i = 0; i < places.size(); ++i) {
    const int64_t b = i / c.tokens, s = i % c.tokens;
    const double begin = c.places == Places::One ? 5.0 : static_cast<double>((3 + 5 * b) % 12);
    places.at(i) = c.places == Places::EachToken && s == 1 ? -1.0 : begin + static_cast<double>(s);
    if (c.behind > 0 && b == 0) places.at(i) = c.behind + static_cast<double>(s);
  }
  return places;
}

class Builder {
 public:
  Builder(Trial& trial, const Cached& what)
      : t_(trial), c_(what), run_(t_.run({{"past", 5}})), places_(places_of(what)) {}

  void build() {
    const Tensor x = t_.graph.scale(t_.input("x", {c_.batch, c_.tokens, kDepth}), 0.5f);
    const Array v = t_.stored(scale(run_.input("x", uniform({c_.batch, c_.tokens, kDepth}, 181)), 0.5));
    Array gamma = uniform({kDepth}, 182, 0.5, 1.5);
    rows_ = t_.graph.rmsnorm(x, t_.weight("gamma", &gamma), 1e-5f);
    values_ = t_.stored(rmsnorm(v, &gamma, 1e-5));
    past_ = t_.graph.position("past", kRoom);
    if (c_.places == Places::EachRow) {
      at_ = t_.graph.input("at", {c_.batch}, DType::I32);
      Array begins({c_.batch});
      for (int64_t b = 0; b < c_.batch; ++b) begins.at(b) = places_.at(b * c_.tokens);
      run_.input("at", begins, DType::I32);
    }
    if (c_.places == Places::EachToken) {
      at_ = t_.graph.input("at", {c_.batch, 1, c_.tokens}, DType::I32);
      run_.input("at", places_, DType::I32);
    }
    const auto [q, q_values] = heads("q", kQueryHeads, c_.turns);
    t_.graph.output("q", q);
    run_.expect("q", q_values, 4.0 * static_cast<double>(kDepth), 6);
    keep("k", c_.turns);
    keep("v", false);
    if (c_.behind > 0) run_.status = Status::IndexOutOfRange, run_.message = "append";
  }

 private:
  std::pair<Tensor, Array> heads(const std::string& name, int64_t count, bool turns) {
    Array w, b = uniform({count * kWidth}, 184);
    Tensor y = t_.graph.linear(rows_, matrix(name, count * kWidth, &w));
    Array product = t_.stored(matmul(values_, transposed(w)));
    if (c_.bias) {
      y = t_.graph.add(y, t_.weight(name + ".bias", &b));
      product = t_.stored(add(product, b));
    }
    y = t_.graph.transpose(t_.graph.reshape(y, {c_.batch, c_.tokens, count, kWidth}), 1, 2);
    Array turned = permute(reshape(product, {c_.batch, c_.tokens, count, kWidth}), {0, 2, 1, 3});
    if (!turns || c_.places == Places::EachRow) return {y, turned};
    RotaryOptions options{.width = 8};
    if (c_.places == Places::One)
      options.first = past_;
    else
      options.positions = at_;
    return {t_.graph.rotary(y, options), t_.stored(rotary(turned, {.width = 8}, &places_))};
  }

  Tensor matrix(const std::string& name, int64_t columns, Array* w) {
    if (c_.weights && is_quantized(*c_.weights)) return t_.blocks(name, {columns, kDepth}, *c_.weights, 183, w);
    const double limit = 1.0 / std::sqrt(static_cast<double>(kDepth));
    *w = uniform({columns, kDepth}, 183, -limit, limit);
    return t_.weight(name, w, t_.dtype == DType::F32 && c_.weights ? *c_.weights : t_.dtype);
  }

  void keep(const std::string& name, bool turns) {
    const auto [y, y_values] = heads(name, kHeads, turns);
    const DType type = t_.dtype == DType::F32 ? c_.cache.value_or(t_.dtype) : t_.dtype;
    t_.keeps_narrow = type != DType::F32;
    const Tensor state = t_.graph.state(name + ".state", {c_.batch, kHeads, kRoom, kWidth}, type);
    const Tensor kept =
        c_.places == Places::One ? t_.graph.append(state, y, 2, past_) : t_.graph.append(state, y, 2, at_);
    t_.graph.output(name, kept);
    run_.expect_within(name, put(stored(type, y_values), places_), type);
  }

  Trial& t_;
  const Cached& c_;
  Run& run_;
  Array places_, values_;
  Tensor rows_, at_;
  Dim past_ = 0;
};

Case cached_case(const Cached& c) {
  return {text_of(c), [c](Trial& t) { Builder(t, c).build(); }};
}

}  // namespace

TEST_CASE("projections into caches on every device", "[ops][quantized]") {
  Operation operation{"projection", {}};
  auto& cases = operation.cases;
  for (const Places places : {Places::One, Places::EachRow, Places::EachToken})
    for (const std::optional<DType> cache :
         {std::optional<DType>(), std::optional(DType::F16), std::optional(DType::BF16)}) {
      cases.push_back(cached_case({.batch = 1, .tokens = 1, .places = places, .cache = cache}));
      cases.push_back(cached_case({.batch = 8, .tokens = 1, .places = places, .cache = cache, .bias = true}));
      cases.push_back(cached_case({.batch = 2, .tokens = 3, .places = places, .cache = cache, .weights = DType::F16}));
      cases.push_back(
          cached_case({.batch = 3, .tokens = 2, .places = places, .cache = cache, .turns = false, .bias = true}));
    }
  for (const double behind : {20.0, 2147483640.0})
    for (const Places places : {Places::EachRow, Places::EachToken})
      cases.push_back(cached_case({.batch = 2, .tokens = 2, .places = places, .cache = DType::F16, .behind = behind}));
  check(operation);
}

TEST_CASE("projections by quantized weights into caches on every device", "[ops][quantized]") {
  Operation operation{"projection", {}};
  for (const DType weights : {DType::Q4_1, DType::Q8_0, DType::Q6_K})
    for (const std::optional<DType> cache : {std::optional<DType>(), std::optional(DType::F16)}) {
      operation.cases.push_back(
          cached_case({.batch = 8, .places = Places::EachToken, .cache = cache, .weights = weights}));
      operation.cases.push_back(cached_case({.places = Places::One, .cache = cache, .weights = weights}));
    }
  const std::vector<TestDevice> devices = devices_for_quantized_projections();
  if (!devices.empty()) check(operation, devices);
}

}  // namespace heed::ops
