#include "onnx/importer.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <type_traits>

#include "base/logging.hpp"
#include "graph/graph_data.hpp"

namespace heed::onnx {
namespace {

constexpr int kDeepest = 16;            // nesting depth of functions and branches
constexpr int64_t kMostNumbers = 4096;  // most numbers of an initializer that is read into memory for computations
constexpr int64_t kLargestIota = 1 << 24;
constexpr int64_t kMostNodes = 1 << 20;  // counting the nodes of a function at each call
constexpr int64_t kFirstOpset = 7, kLastOpset = 28;

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
    if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
  return nullptr;
}

std::string symbol_of(const FileDim& dim, std::string_view input, size_t axis) {
  return dim.symbol.empty() ? std::string(input) + "." + std::to_string(axis) : dim.symbol;
}

// --- One node

Call::Call(Importer& importer, const FileNode& file_node, int64_t version, const Scope& scope,
           const Arguments* arguments)
    : g(importer.graph()), node(file_node), opset(version), importer_(importer), scope_(scope), arguments_(arguments) {
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      inputs_.emplace_back();
      continue;
    }
    const Value* value = scope.find(name);
    if (value == nullptr) {
      fail("input '%s' is made by no node before it", name.c_str());
      value = &inputs_.emplace_back();
      continue;
    }
    inputs_.push_back(*value);
  }
}

bool Call::failed() const { return importer_.failed() || g.status() != Status::Ok; }

void Call::fail(const char* pattern, ...) {
  if (failed()) return;
  char text[512];
  va_list list;
  va_start(list, pattern);
  std::vsnprintf(text, sizeof text, pattern, list);
  va_end(list);
  importer_.fail(Status::Unsupported, text);
}

const Value& Call::in(size_t i) {
  if (has(i)) return inputs_[i];
  fail("input %zu is absent", i);
  return none_;
}

ElementType Call::type(size_t i) { return in(i).type; }
int Call::rank(size_t i) { return static_cast<int>(dims(i).size()); }
std::vector<Dim> Call::dims(size_t i) { return importer_.dims_of(in(i)); }

Tensor Call::tensor(size_t i) {
  const Value& value = in(i);
  if (failed()) return {};
  return importer_.tensor_of(value, node.inputs[i]);
}

const Known* Call::known(size_t i) { return has(i) && !failed() ? importer_.known_of(&inputs_[i]) : nullptr; }

const Known* Call::need_known(size_t i) {
  const Known* known = has(i) ? this->known(i) : nullptr;
  if (known == nullptr)
    fail("input %zu ('%s') depends on data; it must be a constant, or be made of shapes", i,
         i < node.inputs.size() ? node.inputs[i].c_str() : "");
  return known;
}

bool Call::are_known(size_t most) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].valid() || importer_.known_of(&inputs_[i], most) == nullptr) return false;
  return !inputs_.empty();
}

bool Call::integers(size_t i, std::vector<int64_t>* numbers) {
  const Known* known = need_known(i);
  if (known == nullptr) return false;
  numbers->clear();
  for (const Number& number : known->numbers) {
    if (number.is_size()) {
      fail("input %zu ('%s') differs from run to run; constants are needed", i, node.inputs[i].c_str());
      return false;
    }
    numbers->push_back(number.whole());
  }
  return true;
}

const FileAttribute* Call::find(std::string_view attribute) const {
  const FileAttribute* found = node.find(attribute);
  if (found == nullptr || found->reference.empty()) return found;
  if (arguments_ == nullptr) return nullptr;
  const auto given = arguments_->find(found->reference);
  return given != arguments_->end() ? given->second : nullptr;
}

int64_t Call::integer(std::string_view attribute, int64_t otherwise) {
  const FileAttribute* found = find(attribute);
  return found != nullptr ? found->integer : otherwise;
}
float Call::number(std::string_view attribute, float otherwise) {
  const FileAttribute* found = find(attribute);
  return found != nullptr ? found->number : otherwise;
}
std::string_view Call::text(std::string_view attribute, std::string_view otherwise) {
  const FileAttribute* found = find(attribute);
  return found != nullptr ? std::string_view(found->text) : otherwise;
}
std::vector<int64_t> Call::integers(std::string_view attribute, std::vector<int64_t> otherwise) {
  const FileAttribute* found = find(attribute);
  return found != nullptr ? found->integers : otherwise;
}

int Call::axis(int64_t axis, int rank) {
  const int64_t counted = axis < 0 ? axis + rank : axis;
  if (counted >= 0 && counted < rank) return static_cast<int>(counted);
  fail("axis %lld is outside a tensor of rank %d", static_cast<long long>(axis), rank);
  return 0;
}

bool Call::axes(size_t i, std::vector<int64_t>* axes) {
  if (has(i)) return integers(i, axes);
  *axes = integers("axes");
  return true;
}

void Call::give(Tensor tensor, ElementType type, bool is_scalar) {
  Value value;
  value.type = type;
  value.tensor = tensor;
  value.is_scalar = is_scalar;
  out.push_back(value);
}

void Call::give(ElementType type, Known known) { out.push_back(known_value(type, std::move(known))); }

bool Call::agree(const Dim& a, const Dim& b) { return a == b || importer_.unite(a, b); }

std::vector<Dim> Call::broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<Dim> dims(rank, Dim(1));
  for (size_t i = 0; i < rank; ++i) {
    const Dim one = 1, x = i < a.size() ? a[a.size() - 1 - i] : one, y = i < b.size() ? b[b.size() - 1 - i] : one;
    if (x != one && y != one && !agree(x, y)) fail("shapes do not broadcast along axis -%zu", i + 1);
    dims[rank - 1 - i] = x == one ? y : x;
  }
  return dims;
}

// --- The graph

void Importer::fail(Status status, std::string message) {
  if (failed()) return;
  status_ = status;
  message_ = std::move(message);
}

std::string Importer::new_name(std::string_view base) {
  return "onnx/" + std::to_string(names_++) + "/" + std::string(base);
}

const SameSize* find_same(std::span<const SameSize> same, std::string_view symbol) {
  const auto found = std::find_if(same.begin(), same.end(), [&](const SameSize& s) { return s.symbol == symbol; });
  return found != same.end() ? &*found : nullptr;
}

Dim Importer::symbol_dim(const std::string& symbol, std::string_view input) {
  const auto known = options_.largest.find(symbol);
  if (const auto given = given_.find(symbol); given != given_.end()) return given->second;
  if (const SameSize* stands = find_same(same, symbol)) {
    if (stands->terms.empty()) return stands->size;
    Dim sum = symbol_dim(stands->terms[0], input);
    for (size_t i = 1; i < stands->terms.size(); ++i) sum = g_.sum(sum, symbol_dim(stands->terms[i], input));
    return sum;
  }
  if (known != options_.largest.end() && known->second == 0) return 0;
  const int64_t largest = known != options_.largest.end() ? known->second : options_.largest_otherwise;
  if (largest < 1) {
    fail(Status::InvalidArgument, format("the largest size of '%s', a dim of input '%s', is not given", symbol.c_str(),
                                         std::string(input).c_str()));
    return 1;
  }
  const Dim extent = positions_.contains(symbol) ? g_.position(symbol, largest) : g_.extent(symbol, largest);
  if (!extent.is_constant()) symbols_.emplace(extent.expr, symbol);
  return extent;
}

Dim Importer::dim_of(const FileDim& dim, std::string_view input, size_t axis) {
  if (dim.symbol.empty() && dim.size >= 0) return dim.size;
  // A dim without a name is a separate size.
  return symbol_dim(symbol_of(dim, input, axis), input);
}

bool Importer::stand_for(const std::string& symbol, std::vector<std::string> terms, int64_t size) {
  same.push_back({symbol, std::move(terms), where_, size});
  must_retry_ = true;
  return true;
}

bool Importer::unite(const Dim& a, const Dim& b) {
  if (must_retry_) return true;
  const auto first = symbols_.find(a.expr), second = symbols_.find(b.expr);
  const bool is_first = !a.is_constant() && first != symbols_.end(),
             is_second = !b.is_constant() && second != symbols_.end();
  if (is_first && is_second && first->second == second->second) return true;
  if (is_first && is_second) {
    if (!given_.contains(second->second)) return stand_for(second->second, {first->second});
    return !given_.contains(first->second) && stand_for(first->second, {second->second});
  }
  if (!is_first && !is_second) return false;
  const auto& [own, symbol] = is_first ? *first : *second;
  const Dim& other = is_first ? b : a;
  if (given_.contains(symbol)) return false;
  if (other.is_constant()) return !given_.empty() && stand_for(symbol, {}, other.value);
  const std::map<int32_t, std::string> all = symbols_;
  for (auto p = all.begin(); p != all.end(); ++p)
    for (auto q = p; q != all.end(); ++q) {
      if (p->first == own || q->first == own) continue;
      const Dim x = symbol_dim(p->second, ""), y = symbol_dim(q->second, "");
      if (g_.sum(x, y) == other) return stand_for(symbol, {p->second, q->second});
    }
  return false;
}

bool Importer::unite_multiple(const Dim& symbol, const Dim& product, int64_t times) {
  if (must_retry_) return true;
  const std::map<int32_t, std::string> all = symbols_;
  for (const auto& [index, name] : all)
    if (g_.dim_product(symbol_dim(name, ""), times) == product) return unite(symbol, symbol_dim(name, ""));
  return false;
}

const Known* Importer::known_of(Value* value, size_t most) {
  if (value->known == nullptr && value->file != nullptr) {
    const FileTensor& file = *value->file;
    const bool is_small = file.elements() <= (is_whole(file.type) ? int64_t{1} << 20 : kMostNumbers);
    const bool is_empty = file.elements() == 0 && file.dims.size() != 1;
    Known known;
    if ((file.data.empty() && file.elements() > 0) || !is_small || is_empty || !read_numbers(file, &known))
      return nullptr;
    value->known = std::make_shared<const Known>(std::move(known));
  }
  return value->known != nullptr && value->known->numbers.size() <= most ? value->known.get() : nullptr;
}

std::vector<Dim> Importer::dims_of(const Value& value) {
  std::vector<Dim> dims = value.dims;
  if (!dims.empty()) return dims;
  if (value.known != nullptr) {
    dims.assign(value.known->dims.begin(), value.known->dims.end());
  } else if (value.file != nullptr) {
    dims.assign(value.file->dims.begin(), value.file->dims.end());
  } else if (!value.is_scalar) {
    const Shape shape = g_.shape(value.tensor);
    dims.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  }
  return dims;
}

Tensor Importer::iota(const Dim& n) {
  if (n.value < 1 || n.value > kLargestIota) {
    fail(Status::Unsupported, format("a range of %lld numbers", static_cast<long long>(n.value)));
    return {};
  }
  const std::string name = "onnx/range/" + std::to_string(n.value);
  Tensor& all = tensors_[name];
  if (!all.valid()) {
    std::vector<int32_t> numbers(static_cast<size_t>(n.value));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
    all = g_.constant(name, {n.value}, std::span<const int32_t>(numbers));
  }
  return n.is_constant() ? all : g_.slice(all, 0, 0, n);
}

Tensor Importer::constant(const Known& known, DType dtype, std::string_view name) {
  Shape shape;
  for (const int64_t dim : known.dims) shape.push_back(dim);
  if (shape.rank == 0) shape = {1};
  const auto constant = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values;
    for (const Number& number : known.numbers) {
      constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::lowest());
      constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
      values.push_back(
          static_cast<T>(std::is_floating_point_v<T> ? number.value : std::clamp(number.value, kLow, kHigh)));
    }
    return g_.constant(new_name(name), shape, std::span<const T>(values));
  };
  if (dtype == DType::I32) return constant(int32_t{});
  if (dtype == DType::U8) return constant(uint8_t{});
  const Tensor made = constant(float{});
  return dtype == DType::F32 ? made : g_.cast(made, dtype);
}

Tensor Importer::tensor_of(const Value& value, std::string_view name) {
  if (value.tensor.valid() || failed()) return value.tensor;
  const std::optional<DType> dtype = device_type(value.type);
  if (!dtype) {
    fail(Status::Unsupported,
         format("'%s' is of type %s, which heed does not support", std::string(name).c_str(), to_string(value.type)));
    return {};
  }
  if (value.cache >= 0) {
    fail(Status::Unsupported,
         format("'%s' stays in a State; all that can be done with it is to join it with what comes behind it, once, by "
                "Concat or Attention",
                std::string(name).c_str()));
    return {};
  }
  if (value.filled) {
    fail(Status::Unsupported,
         format("'%s' is as long as a cache, and may have no elements", std::string(name).c_str()));
    return {};
  }
  if (value.is_empty || (value.file != nullptr && value.file->elements() == 0)) {
    fail(Status::Unsupported, format("'%s' has no elements", std::string(name).c_str()));
    return {};
  }
  const std::string key = value.file != nullptr
                              ? "weight/" + value.file->name
                              : "known/" + std::to_string(reinterpret_cast<uintptr_t>(value.known.get()));
  Tensor& tensor = tensors_[key];
  if (tensor.valid()) return tensor;
  if (value.file != nullptr && is_real(value.type) && value.type != ElementType::F64 && value.file->elements() > 1) {
    Shape shape;
    for (const int64_t dim : value.file->dims) shape.push_back(dim);
    return tensor = g_.weight(value.file->name, shape, *dtype);
  }
  kept_.push_back(value.known);  // keeps the address from being reused
  Value copy = value;
  Known all;
  const Known* known = known_of(&copy, SIZE_MAX);
  if (known == nullptr && value.file != nullptr && read_numbers(*value.file, &all)) known = &all;
  if (known == nullptr) {
    fail(Status::Unsupported, format("'%s' cannot be read", std::string(name).c_str()));
    return {};
  }
  if (known->has_sizes()) {
    // A size as data: an element of a range of numbers.
    std::vector<Tensor> parts;
    for (const Number& number : known->numbers)
      parts.push_back(number.is_size()
                          ? g_.slice(iota(number.size.value + 1), 0, number.size, 1)
                          : g_.constant(new_name(name), {1},
                                        std::span<const int32_t>(std::array{static_cast<int32_t>(number.value)})));
    Shape shape;
    for (const int64_t dim : known->dims) shape.push_back(dim);
    const Tensor joined = parts.size() == 1 ? parts[0] : g_.concat(parts, 0);
    return tensor = g_.cast(shape.rank == 0 ? joined : g_.reshape(joined, shape), *dtype);
  }
  if (known->numbers.size() == 1) {
    // As operands of elementwise functions, constants need no load.
    const double number = known->numbers[0].value;
    const DType of = *dtype == DType::I32 || *dtype == DType::U8 ? *dtype : DType::F32;
    const double kept = of == DType::F32 ? number
                                         : std::clamp(number, of == DType::U8 ? 0.0 : -2147483648.0,
                                                      of == DType::U8 ? 255.0 : 2147483647.0);
    tensor = g_.number(kept, of);
    if (*dtype != of) tensor = g_.cast(tensor, *dtype);
    Shape shape;
    for (const int64_t dim : known->dims) shape.push_back(dim);
    return shape.rank < 2 ? tensor : tensor = g_.reshape(tensor, shape);
  }
  return tensor = constant(*known, *dtype, name);
}

int64_t Importer::opset_of(std::string_view domain, std::span<const FileOpset> opsets) const {
  for (const FileOpset& opset : opsets)
    if (opset.domain == domain) return opset.version;
  return 0;
}

const FileFunction* Importer::find_function(std::string_view domain, std::string_view name) const {
  for (const FileFunction& function : file_.functions)
    if (function.name == name && function.domain == domain) return &function;
  return nullptr;
}

void Importer::run_node(const FileNode& node, int64_t opset, Scope* scope, const Arguments* arguments) {
  where_ = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0];
  g_.push_label(where_);
  Call call(*this, node, opset, *scope, arguments);
  const FileFunction* function = find_function(node.domain, node.op);
  const Operator* known = node.domain.empty() ? find_operator(node.op) : nullptr;
  if (function != nullptr)
    call.out = run_function(*function, call);
  else if (known != nullptr)
    known->import(call);
  else
    call.fail("heed has no operator %s%s%s", node.domain.c_str(), node.domain.empty() ? "" : ".", node.op.c_str());
  if (must_retry_) return;
  if (g_.status() != Status::Ok && message_.empty()) {
    status_ = g_.status();
    message_ = g_.error();
    const std::string label = g_.data().labels.back() + ": ";  // fail() names the node
    if (message_.starts_with(label)) message_.erase(0, label.size());
  }
  g_.pop_label();
  if (!message_.empty()) return;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= call.out.size() || !call.out[i].valid())
      return call.fail("output %zu ('%s') is not supported", i, node.outputs[i].c_str());
    scope->values.insert_or_assign(node.outputs[i], call.out[i]);
  }
}

void Importer::run_nodes(std::span<const FileNode> nodes, int64_t opset, Scope* scope, const Arguments* arguments) {
  if (++depth_ > kDeepest) fail(Status::Unsupported, "functions and branches lie too deep within each other");
  for (const FileNode& node : nodes) {
    if (++nodes_ > kMostNodes) fail(Status::Unsupported, "functions call each other too often");
    if (failed()) break;
    run_node(node, opset, scope, arguments);
    if (!message_.empty() && !message_.starts_with("node ")) {
      message_ = format("node '%s' (%s): ", where_.c_str(), node.op.c_str()) + message_;
    }
  }
  --depth_;
}

std::vector<Value> Importer::run_graph(const FileGraph& graph, const Scope& scope) {
  Scope inner;
  inner.outer = &scope;
  for (const FileTensor& tensor : graph.initializers) {
    Value value;
    value.type = tensor.type;
    value.file = &tensor;
    inner.values.emplace(tensor.name, value);
  }
  run_nodes(graph.nodes, opset_of("", file_.opsets), &inner, nullptr);
  std::vector<Value> values;
  for (const FileValue& output : graph.outputs) {
    const Value* value = inner.find(output.name);
    values.push_back(value != nullptr ? *value : Value{});
  }
  return values;
}

std::vector<Value> Importer::run_function(const FileFunction& function, Call& call) {
  Scope inner;
  Arguments arguments;
  for (const FileAttribute& attribute : function.defaults) arguments.emplace(attribute.name, &attribute);
  for (const FileAttribute& attribute : call.node.attributes)
    if (const FileAttribute* given = call.find(attribute.name); given != nullptr)
      arguments.insert_or_assign(attribute.name, given);
  for (size_t i = 0; i < function.inputs.size(); ++i)
    if (call.has(i)) inner.values.emplace(function.inputs[i], call.in(i));
  const int64_t opset = opset_of("", function.opsets);
  run_nodes(function.nodes, opset > 0 ? opset : call.opset, &inner, &arguments);
  std::vector<Value> values;
  for (const std::string& output : function.outputs) {
    const Value* value = inner.find(output);
    values.push_back(value != nullptr ? *value : Value{});
  }
  return values;
}

bool Importer::take_inputs() {
  for (const OnnxInput& given : options_.inputs) {
    const std::string name(given.name);
    const auto input = std::find_if(file_.graph.inputs.begin(), file_.graph.inputs.end(),
                                    [&](const FileValue& one) { return one.name == given.name; });
    const bool is_past =
        std::any_of(caches_.begin(), caches_.end(), [&](const Cache& c) { return c.past->name == given.name; });
    if (input == file_.graph.inputs.end() || is_past || scope_.find(name) != nullptr) {
      fail(Status::InvalidArgument,
           format("the file has no input '%s' that can be given, or it is given twice", name.c_str()));
      return false;
    }
    if (!take_input(*input, given.tensor)) return false;
  }
  return true;
}

bool Importer::take_input(const FileValue& input, Tensor tensor) {
  const Shape shape = g_.shape(tensor);
  const DType dtype = device_type(input.type).value_or(DType::F32);
  const bool is_scalar = input.dims.empty() && shape.rank == 1 && shape[0] == Dim(1);
  if (shape.rank == 0 || g_.dtype(tensor) != dtype) {
    fail(shape.rank == 0 ? Status::InvalidArgument : Status::DTypeMismatch,
         format("the tensor for input '%s' is %s; it must be %s", input.name.c_str(),
                shape.rank == 0 ? "none" : heed::to_string(g_.dtype(tensor)), heed::to_string(dtype)));
    return false;
  }
  bool fits = is_scalar || shape.rank == static_cast<int>(input.dims.size());
  for (int i = 0; fits && !is_scalar && i < shape.rank; ++i) {
    const FileDim& dim = input.dims[static_cast<size_t>(i)];
    if (dim.symbol.empty() && dim.size >= 0) {
      fits = shape[i] == Dim(dim.size);
      continue;
    }
    const std::string symbol = symbol_of(dim, input.name, static_cast<size_t>(i));
    fits = given_.emplace(symbol, shape[i]).first->second == shape[i];
    if (!shape[i].is_constant()) symbols_.emplace(shape[i].expr, symbol);
  }
  if (!fits) {
    fail(Status::ShapeMismatch,
         format("the tensor for input '%s' is not of the shape that the file says", input.name.c_str()));
    return false;
  }
  Value value;
  value.type = input.type;
  value.tensor = tensor;
  value.is_scalar = is_scalar;
  scope_.values.emplace(input.name, value);
  return true;
}

bool Importer::add_inputs() {
  for (const FileTensor& tensor : file_.graph.initializers) {
    Value value;
    value.type = tensor.type;
    value.file = &tensor;
    scope_.values.emplace(tensor.name, value);
  }
  for (const FileValue& input : file_.graph.inputs) {
    // The input is replaced by a tensor of the existing graph, or its default is an initializer.
    if (scope_.find(input.name) != nullptr) continue;
    const auto cache = std::find_if(caches_.begin(), caches_.end(), [&](const Cache& c) { return c.past == &input; });
    const std::optional<DType> dtype = device_type(input.type);
    if (!dtype || input.type == ElementType::F64) {
      fail(Status::Unsupported,
           format("input '%s' is of type %s, which heed does not support", input.name.c_str(), to_string(input.type)));
      return false;
    }
    if (!input.has_shape) {
      fail(Status::Unsupported, format("input '%s' has no shape", input.name.c_str()));
      return false;
    }
    if (input.dims.size() > static_cast<size_t>(kMaxRank)) {
      fail(Status::Unsupported,
           format("input '%s' has %zu dims; %d are the most", input.name.c_str(), input.dims.size(), kMaxRank));
      return false;
    }
    Shape shape;
    for (size_t i = 0; i < input.dims.size(); ++i) shape.push_back(dim_of(input.dims[i], input.name, i));
    Value value;
    value.type = input.type;
    value.is_scalar = shape.rank == 0;
    if (failed()) return false;
    if (cache != caches_.end()) {
      cache->dims.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
      if (!add_past(static_cast<int>(cache - caches_.begin()))) return false;
      continue;
    }
    for (int i = 0; i < shape.rank; ++i) value.is_empty = value.is_empty || shape[i] == Dim(0);
    if (value.is_empty) {  // not an input of the graph
      value.dims.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
      scope_.values.emplace(input.name, value);
      continue;
    }
    value.tensor = g_.input(input.name, value.is_scalar ? Shape{1} : shape, *dtype);
    scope_.values.emplace(input.name, value);
  }
  if (g_.status() != Status::Ok) fail(g_.status(), g_.error());
  return !failed();
}

bool Importer::add_outputs() {
  for (const FileValue& output : file_.graph.outputs) {
    outputs.emplace_back();
    if (std::any_of(caches_.begin(), caches_.end(), [&](const Cache& c) { return c.present == output.name; })) continue;
    const Value* value = scope_.find(output.name);
    if (value == nullptr) {
      fail(Status::InvalidFile, format("output '%s' is made by no node", output.name.c_str()));
      return false;
    }
    const Tensor tensor = tensor_of(*value, output.name);
    if (failed()) return false;
    outputs.back() = tensor;
    if (options_.gives_outputs) g_.output(output.name, tensor);
  }
  // Outputs may show values that states had before this run's writes.
  for (const Cache& cache : caches_)
    if (!add_present(cache)) return false;
  if (g_.status() != Status::Ok) fail(g_.status(), g_.error());
  return !failed();
}

Status Importer::run() {
  const int64_t opset = opset_of("", file_.opsets);
  if (opset != 0 && (opset < kFirstOpset || opset > kLastOpset))
    fail(Status::Unsupported, format("operators of opset %lld; %lld to %lld are known", static_cast<long long>(opset),
                                     static_cast<long long>(kFirstOpset), static_cast<long long>(kLastOpset)));
  if (!failed() && find_caches() && take_inputs() && add_inputs())
    run_nodes(file_.graph.nodes, opset, &scope_, nullptr);
  if (!failed()) add_outputs();
  return status_;
}

}  // namespace heed::onnx
