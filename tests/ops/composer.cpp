#include "ops/composer.hpp"

#include "harness/catch.hpp"

namespace heed::ops {
namespace {

constexpr int kRuns = 4;
constexpr int64_t kMostElements = 1 << 16;
// If a value's bounds exceed its size by this ratio, later operations do not read it: no error could show in them.
constexpr double kLoose = 0.03, kLooseHalf = 0.15;
// Devices may flush subnormal numbers, also in each of several products that are summed.
constexpr double kSubnormal = 0x1p-118;

double root_mean_square(const std::vector<double>& x) {
  double squares = 0.0;
  for (const double v : x) squares += v * v;
  return x.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(x.size()));
}

std::string output_name(size_t i) { return std::string("y").append(std::to_string(i)); }

bool is_fit_to_read(const Array& x, DType dtype) {
  const double loose = dtype == DType::F32 ? kLoose : kLooseHalf;
  const bool small = std::all_of(x.value.begin(), x.value.end(), [](double v) { return std::abs(v) < 1e3; });
  return small && x.size() <= kMostElements && root_mean_square(x.bound) <= loose * root_mean_square(x.value);
}

}  // namespace

Sizes Evaluation::operator()(const Shape& shape) const {
  Sizes all;
  for (int i = 0; i < shape.rank; ++i) all.push_back((*this)(shape[i]));
  return all;
}

Composer::Composer(DType dtype, uint64_t seed) : random_(seed) {
  composition_.trial = std::make_unique<Trial>(dtype);
  t().options.training = random_.coin();
  batch_ = g().extent("batch", 3);
  tokens_ = g().extent("tokens", 24);
  keys_ = g().extent("keys", random_.pick({24, 40, 150}));
  first_.emplace(start(0));
}

Evaluation Composer::start(int number) {
  std::vector<ExtentValue> extents;
  std::map<int32_t, int64_t> sizes;
  const std::pair<const char*, Dim> all[] = {{"batch", batch_}, {"tokens", tokens_}, {"keys", keys_}};
  for (const auto& [name, dim] : all) {
    const int64_t size = random_.one_in(8) ? dim.value : random_.size(dim.value);
    extents.push_back({name, size});
    sizes[dim.expr] = size;
  }
  Run& run = t().run(extents);
  run.options.seed = static_cast<uint32_t>(random_.next());
  return {run, number, std::move(sizes), {}, {}, {}};
}

// --- Values ----------------------------------------------------------------------------------------------------

int Composer::view(const char* what, const std::vector<int>& from, const std::string& more, Tensor tensor,
                   Compute compute) {
  return add(what, from, more, tensor, false, std::move(compute));
}

int Composer::operation(const char* what, const std::vector<int>& from, const std::string& more, Tensor tensor,
                        const Compute& compute) {
  const DType type = g().dtype(tensor);
  return add(what, from, more, tensor, true, [=](Evaluation& e) {
    Array y = stored(type, compute(e));
    for (double& bound : y.bound) bound += kSubnormal;
    return y;
  });
}

int Composer::add(const char* what, const std::vector<int>& from, const std::string& more, Tensor tensor, bool computed,
                  Compute compute) {
  std::string line = std::string("  ").append(name_of(static_cast<int>(values_.size()))).append(" = ").append(what);
  for (const int f : from)
    if (f >= 0) line.append(" ").append(name_of(f)), at(f).read = true;
  if (!more.empty()) line.append(" ").append(more);
  INFO(composition_.text << line << ": " << g().error());
  REQUIRE(g().status() == Status::Ok);
  const int number = static_cast<int>(values_.size());
  values_.push_back({tensor, std::move(compute), computed, computed || from.empty() ? number : at(from[0]).origin});
  const int v = last_value();
  at(v).usable = is_fit_to_read(evaluate(at(v), &*first_), dtype(v));
  line += std::string(" -> ") + to_string(dtype(v));
  for (int i = 0; i < rank(v); ++i) {
    const Dim d = shape(v)[i];
    const char* name = d == batch_ ? "batch" : d == tokens_ ? "tokens" : d == keys_ ? "keys" : nullptr;
    line.append(" ").append(name != nullptr ? name : std::to_string(d.value));
    if (name == nullptr && !d.is_constant()) line.append("?");
  }
  composition_.text += line + (at(v).usable ? "\n" : " (read by none)\n");
  composition_.operations += computed;
  return v;
}

const Array& Composer::evaluate(const Value& value, Evaluation* e) {
  Array y = value.compute(*e);
  for (double& bound : y.bound)
    if (std::isnan(bound)) bound = INFINITY;  // 0 times an infinite bound
  const Shape shape = g().shape(value.tensor);
  REQUIRE(y.shape.size() == static_cast<size_t>(shape.rank));
  for (int i = 0; i < shape.rank; ++i) {
    const int64_t size = y.shape[static_cast<size_t>(i)];
    if (shape[i].is_constant())
      REQUIRE(size == shape[i].value);
    else
      REQUIRE(e->sizes.try_emplace(shape[i].expr, size).first->second == size);
  }
  return e->values.emplace_back(std::move(y));
}

// --- What operations read --------------------------------------------------------------------------------------

Shape Composer::drawn_shape(int64_t rank) {
  const Dim rows = random_.one_in(4) ? Dim(random_.pick({1, 5, 16, 20})) : random_.coin() ? tokens_ : keys_;
  if (rank == 2) return {rows, width()};
  if (rank == 3) return {random_.one_in(4) ? Dim(2) : batch_, rows, width()};
  return {batch_, random_.pick({1, 2, 3}), rows, width()};
}

Shape Composer::broadcast_to(Shape like) {
  if (random_.coin()) return {like[like.rank - 1]};
  for (int i = 0; i < like.rank; ++i)
    if (random_.one_in(3)) like[i] = 1;
  return like;
}

int Composer::source(const Shape& shape, double most, std::optional<DType> of_type) {
  const DType type = of_type.value_or(t().dtype);
  const uint64_t seed = random_.next();
  bool constant = true;
  Sizes sizes;
  for (int i = 0; i < shape.rank; ++i) constant &= shape[i].is_constant(), sizes.push_back(shape[i].value);
  if (constant && !random_.one_in(3)) {
    Array values = uniform(sizes, seed, -most, most);
    const Tensor weight = t().weight(fresh_name("w"), &values, type);
    return view("weight", {}, "", weight, [values](Evaluation&) { return values; });
  }
  const std::string name = fresh_name("x");
  return view("input", {}, "", g().input(name, shape, type), [=](Evaluation& e) {
    return e.run.input(name, uniform(e(shape), seed + static_cast<uint64_t>(e.number), -most, most), type);
  });
}

Composer::DrawnMask Composer::drawn_mask(const Shape& shape) {
  const bool keeps = random_.coin();
  const std::string name = fresh_name("m");
  const Tensor tensor = g().input(name, shape, DType::U8);
  return {keeps ? keep(tensor) : exclude(tensor), name, shape, random_.next(), keeps};
}

Composer::DrawnPosition Composer::drawn_position(int64_t most) {
  if (most == 0 || random_.one_in(4)) {
    const int64_t at = random_.below(most + 1);
    return {at, [at](Evaluation&) { return at; }};
  }
  const std::string& name = composition_.positions.emplace_back(fresh_name("p"));
  return {g().position(name, most), [name = std::string_view(name), most, seed = random_.next()](Evaluation& e) {
            const int64_t at = Random(seed + static_cast<uint64_t>(e.number)).below(most + 1);
            e.run.extents.push_back({name, at});
            return at;
          }};
}

const Array& Composer::values_of(Evaluation& e, const DrawnMask& mask) {
  const auto found = e.masks.find(mask.name);
  if (found != e.masks.end()) return found->second;
  Random random(mask.seed + static_cast<uint64_t>(e.number));
  return e.masks[mask.name] = e.run.input(mask.name, random_mask(e(mask.shape), random), DType::U8);
}

std::optional<int> Composer::pick_of(const std::vector<int>& fitting) {
  if (fitting.empty()) return {};
  if (link_ >= 0 && std::find(fitting.begin(), fitting.end(), link_) != fitting.end()) return std::exchange(link_, -1);
  const auto count = static_cast<int64_t>(fitting.size());  // prefers late values
  return fitting[static_cast<size_t>(std::max(random_.below(count), random_.below(count)))];
}

int Composer::of_rank(int64_t least, int64_t most) {
  const auto found = pick([&](int v) { return rank(v) >= least && rank(v) <= most && dtype(v) == t().dtype; });
  return found ? *found : source(drawn_shape(std::clamp<int64_t>(3, least, most)));
}

int Composer::beside(int x) {
  if (random_.coin())
    if (const auto same = pick([&](int v) {
          const Shape a = shape(v), b = shape(x);
          return a.rank == b.rank && a.dims == b.dims && dtype(v) == dtype(x);
        }))
      return *same;
  return source(random_.one_in(3) ? shape(x) : broadcast_to(shape(x)), 1.0, dtype(x));
}

// --- Outputs ---------------------------------------------------------------------------------------------------

Composition Composer::finish() {
  give_outputs();
  expect(*first_);
  for (int i = 1; i < kRuns; ++i) {
    Evaluation evaluation = start(i);
    for (const Value& value : values_) evaluate(value, &evaluation);
    expect(evaluation);
  }
  return std::move(composition_);
}

// Makes outputs of most values that nothing reads, of some others, and sometimes of views and sources.
void Composer::give_outputs() {
  const auto give = [&](int v) {
    const std::string name = output_name(outputs_.size());
    g().output(name, tensor(v));
    composition_.text.append("  output ").append(name).append(" = ").append(name_of(v)).append("\n");
    outputs_.push_back(v);
  };
  for (int v = 0; v <= last_value(); ++v)
    if (at(v).usable && !at(v).read && !random_.one_in(5)) give(v);
  for (int64_t i = random_.below(3); i > 0 || outputs_.empty(); --i) {
    const bool any = random_.one_in(5);
    auto v = pick([&](int value) { return any || at(value).computed; });
    if (!v) v = pick([](int) { return true; });
    give(*v);
  }
}

void Composer::expect(Evaluation& e) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int v = outputs_[i];
    ++composition_.outputs;
    composition_.loose += !is_fit_to_read(of(e, v), dtype(v));
    e.run.expectations.push_back({output_name(i), dtype(v), of(e, v), INFINITY, false});
  }
}

}  // namespace heed::ops
