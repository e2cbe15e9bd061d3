#include "golden/case.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace heed::goldens {

namespace {

constexpr std::string_view kVariable = "bqk";
constexpr const char* kExtentNames[] = {"batch", "queries", "keys"};

std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  return quoted.append(text.substr(0, 80)).append("'");
}

}  // namespace

Case::Case(const SafeTensors& file, const CaseOptions& options) : file_(file), options_(options) {}

Tensor Case::problem(const std::string& text) {
  if (problem_.empty()) problem_ = text;
  return {};
}

int Case::rank(std::string_view tensor) const {
  const SafeTensors::Entry* found = file_.find(tensor);
  return found ? static_cast<int>(found->shape.size()) : 0;
}

int64_t Case::number(std::string_view hyper_parameter, int64_t most) {
  const std::string_view text = file_.metadata(hyper_parameter);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
    problem("hyper-parameter " + in_quotes(hyper_parameter) + " is " + in_quotes(text) + ", must be 0 .. " +
            std::to_string(most));
    return 0;
  }
  return value;
}

float Case::real(std::string_view hyper_parameter) {
  const std::string text(file_.metadata(hyper_parameter));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) {
    problem("hyper-parameter " + in_quotes(hyper_parameter) + " is " + in_quotes(text) + ", must be a number");
    return 1.0f;
  }
  return static_cast<float>(value);
}

const SafeTensors::Entry* Case::entry(std::string_view tensor, std::string_view axes) {
  const SafeTensors::Entry* found = file_.find(tensor);
  if (!found) {
    problem("tensor " + in_quotes(tensor) + " is missing");
  } else if (found->shape.size() != axes.size()) {
    problem("tensor " + in_quotes(tensor) + " has rank " + std::to_string(found->shape.size()) + ", must have " +
            std::to_string(axes.size()));
    return nullptr;
  }
  return found;
}

// The first tensor with a letter defines its size. Other tensors must have the same size, or 1.
Dim Case::dim(std::string_view tensor, char letter, int64_t value) {
  const size_t index = kVariable.find(letter);
  if (index == std::string_view::npos) return value;
  int64_t& known = sizes_[index];
  if (known == 0) known = value;
  if (known != value && value != 1)
    problem("tensor " + in_quotes(tensor) + " has size " + std::to_string(value) + " where others have " +
            std::to_string(known));
  if (!options_.extents || value != known) return value;
  return graph.extent(kExtentNames[index], known * 2 + 1);
}

Tensor Case::add_input(std::string_view name, std::string_view axes, const std::vector<int64_t>& sizes, DType dtype,
                       const void* data, size_t bytes) {
  Shape shape;
  for (size_t i = 0; i < axes.size(); ++i) shape.push_back(dim(name, axes[i], sizes[i]));
  return add_input(name, shape, dtype, data, bytes);
}

Tensor Case::add_input(std::string_view name, const Shape& shape, DType dtype, const void* data, size_t bytes) {
  const Tensor tensor = graph.input(name, shape, dtype);
  Input& input = inputs_.emplace_back();
  input.name = name;
  input.tensor = tensor;
  input.data.resize(bytes);
  if (bytes > 0) std::memcpy(input.data.data(), data, bytes);
  return tensor;
}

Tensor Case::floats(std::string_view tensor, std::string_view axes) {
  const SafeTensors::Entry* found = entry(tensor, axes);
  std::vector<float> values;
  if (!found) return {};
  if (read_f32(*found, no_log(), &values) != Status::Ok)
    return problem("tensor " + in_quotes(tensor) + " is " + to_string(found->type) + ", must be a floating-point type");
  return add_input(tensor, axes, found->shape, DType::F32, values.data(), values.size() * sizeof(float));
}

Tensor Case::tokens(std::string_view tensor, char letter) {
  std::string axes = "bqc";
  axes[1] = letter;
  return floats(tensor, rank(tensor) == 2 ? std::string_view(axes).substr(1) : std::string_view(axes));
}

std::vector<int32_t> Case::integer_values(std::string_view tensor) {
  std::vector<int32_t> values;
  const SafeTensors::Entry* found = file_.find(tensor);
  if (!found) {
    problem("tensor " + in_quotes(tensor) + " is missing");
  } else if (read_i32(*found, no_log(), &values) != Status::Ok) {
    problem("tensor " + in_quotes(tensor) + " has values that are no 32-bit integers");
  }
  return values;
}

Tensor Case::integers(std::string_view tensor, std::string_view axes) {
  const SafeTensors::Entry* found = entry(tensor, axes);
  if (!found) return {};
  const std::vector<int32_t> values = integer_values(tensor);
  if (!problem_.empty()) return {};
  return add_input(tensor, axes, found->shape, DType::I32, values.data(), values.size() * sizeof(int32_t));
}

Tensor Case::optional_mask(std::string_view tensor, std::string_view axes) {
  const SafeTensors::Entry* found = file_.find(tensor);
  if (!found) return {};
  if (found->type != SafeTensors::Type::U8 && found->type != SafeTensors::Type::Bool)
    return problem("mask " + in_quotes(tensor) + " is " + to_string(found->type) + ", must be BOOL or U8");
  if (found->shape.size() > axes.size())
    return problem("mask " + in_quotes(tensor) + " has rank " + std::to_string(found->shape.size()) + ", at most " +
                   std::to_string(axes.size()) + " fit");
  return add_input(tensor, axes.substr(axes.size() - found->shape.size()), found->shape, DType::U8, found->data.data(),
                   found->data.size());
}

int64_t Case::size(char letter) const {
  const size_t index = kVariable.find(letter);
  return index == std::string_view::npos ? 0 : sizes_[index];
}

namespace {

template <class T>
bool fits(const std::vector<int64_t>& sizes, const std::vector<T>& values) {
  int64_t count = 1;
  for (int64_t s : sizes) count *= s;
  return count == static_cast<int64_t>(values.size());
}

}  // namespace

Tensor Case::computed(std::string_view name, std::string_view axes, std::vector<float> values) {
  std::vector<int64_t> sizes;
  for (char letter : axes) sizes.push_back(size(letter));
  if (!fits(sizes, values)) return problem("computed input " + in_quotes(name) + " does not fit the other inputs");
  return add_input(name, axes, sizes, DType::F32, values.data(), values.size() * sizeof(float));
}

Tensor Case::computed(std::string_view name, std::string_view axes, std::vector<uint8_t> values) {
  std::vector<int64_t> sizes;
  for (char letter : axes) sizes.push_back(size(letter));
  if (!fits(sizes, values)) return problem("computed input " + in_quotes(name) + " does not fit the other inputs");
  return add_input(name, axes, sizes, DType::U8, values.data(), values.size());
}

void Case::expect(std::string_view name, Tensor tensor) {
  if (!tensor.valid()) return;
  const SafeTensors::Entry* found = file_.find(name);
  if (!found) return;  // files need not have every result of their system
  const Shape shape = graph.shape(tensor);
  bool same = shape.rank == static_cast<int>(found->shape.size());
  for (int i = 0; same && i < shape.rank; ++i)
    same = !shape[i].is_constant() || shape[i].value == found->shape[static_cast<size_t>(i)];
  if (!same) {
    problem("tensor " + in_quotes(name) + " has another shape than its system computes");
    return;
  }
  graph.output(name, tensor);
  expected_.emplace_back(name);
  outputs_.push_back(tensor);
}

void Case::dead_rows(Tensor weights) {
  if (!weights.valid() || !has("nan_rows")) return;
  dead_.push_back("dead_rows." + std::to_string(dead_.size()));
  dead_shapes_.push_back(graph.shape(weights));
  graph.output(dead_.back(), weights);
}

std::vector<ExtentValue> Case::extent_values() const {
  std::vector<ExtentValue> values;
  if (!options_.extents) return values;
  for (size_t i = 0; i < std::size(sizes_); ++i)
    if (sizes_[i] > 0) values.push_back({kExtentNames[i], sizes_[i]});
  return values;
}

}  // namespace heed::goldens
