// `heed onnx`: the contents of an ONNX file, heed's plan for it, and whether results are right.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <heed/onnx.hpp>

#include "commands.hpp"
#include "golden/run.hpp"
#include "npz.hpp"

namespace heed::program {
namespace {

using goldens::Messages;
using Arrays = std::map<std::string, NumpyArray>;

constexpr double kAbsolute = 1e-4, kRelative = 1e-4;
constexpr int64_t kLargest = 128;  // for dims that neither the command line nor a file of arrays sets

std::string shape_text_of(const OnnxTensor& tensor) {
  std::string text = tensor.name + " " + to_string(tensor.dtype) + " [";
  for (const OnnxDim& dim : tensor.dims)
    text += (text.back() == '[' ? "" : ", ") + (dim.symbol.empty() ? std::to_string(dim.size) : dim.symbol);
  return text + "]";
}

// "24 MatMul, 12 Softmax": the most frequent first.
std::string counts_of(std::vector<std::pair<std::string, int64_t>> counts) {
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

// The cases in a file of arrays: in.CASE.INPUT and out.CASE.OUTPUT.
std::vector<std::string> cases_of(const Arrays& arrays) {
  std::vector<std::string> cases;
  for (const auto& [name, array] : arrays) {
    if (!name.starts_with("in.")) continue;
    const std::string one = name.substr(3, name.find('.', 3) - 3);
    if (std::find(cases.begin(), cases.end(), one) == cases.end()) cases.push_back(one);
  }
  return cases;
}

// The array's values, as a tensor of this type.
std::vector<std::byte> bytes_of(const NumpyArray& array, DType dtype) {
  const auto n = static_cast<size_t>(array.elements());
  std::vector<std::byte> bytes(n * size_of(dtype));
  if (array.type == NumpyArray::Type::F16) return array.data;
  for (size_t i = 0; i < n; ++i) {
    const double value = array.at(static_cast<int64_t>(i));
    const auto put = [&](auto typed) { std::memcpy(bytes.data() + i * sizeof typed, &typed, sizeof typed); };
    if (dtype == DType::F32)
      put(static_cast<float>(value));
    else if (dtype == DType::I32)
      put(static_cast<int32_t>(std::clamp(value, -2147483648.0, 2147483647.0)));
    else
      put(static_cast<uint8_t>(value));
  }
  return bytes;
}

double value_at(const std::vector<std::byte>& bytes, DType dtype, size_t i) {
  const auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  return dtype == DType::F32 ? read(float{}) : dtype == DType::I32 ? read(int32_t{}) : read(uint8_t{});
}

class Command {
 public:
  explicit Command(const OnnxFileOptions& options) : options_(options) {}

  int run() {
    Status status = OnnxModel::open(options_.path, messages_.log(), &model_);
    if (status != Status::Ok) return bad(options_.path, status);
#if HEED_HAS_NPZ
    std::string wrong;
    if (!options_.check.empty() && !read_npz(options_.check, &arrays_, &wrong)) {
      complain(wrong);
      return kBadInput;
    }
#endif
    cases_ = cases_of(arrays_);
    if (!options_.brief) describe();
    find_largest(cases_);
    int exit_code = kSuccess;
    // A graph for each choice of dims that are 0, such as those of a cache before the first token. With states, one for each case, so that
    // a state has the shape that the case has at the end.
    std::map<std::set<std::string>, std::vector<std::string>> groups;
    for (const std::string& one : cases_)
      groups[options_.state ? std::set<std::string>{one} : empty_dims(one)].push_back(one);
    if (groups.empty()) groups[{}] = {};
    if (options_.state) states_.assign(model_.states().begin(), model_.states().end());
    for (const auto& [key, cases] : groups) {
      if (options_.state && !cases.empty()) find_largest(cases);
      const std::set<std::string> empty = cases.empty() ? std::set<std::string>{} : empty_dims(cases[0]);
      std::vector<OnnxExtent> extents;
      for (const auto& [symbol, size] : largest_)
        extents.push_back({symbol, empty.contains(symbol) ? 0 : std::max<int64_t>(size, 1)});
      status = model_.build({.extents = extents, .largest = kLargest, .states = states_}, messages_.log(), &graph_);
      if (status != Status::Ok) return bad(options_.path, status);
      for (const std::string& select : selections(options_.device))
        exit_code = std::max(exit_code, run_on(select, cases));
    }
    return exit_code;
  }

 private:
  int bad(const std::string& what, Status status) {
    const std::vector<std::string> said = messages_.take();
    complain(said.empty() ? what + ": " + to_string(status) : said.front());
    return kBadInput;
  }

  // Symbols that are 0 in a case.
  std::set<std::string> empty_dims(const std::string& one) const {
    std::set<std::string> empty;
    for (const OnnxTensor& input : model_.inputs()) {
      const auto found = arrays_.find("in." + one + "." + input.name);
      if (found == arrays_.end()) continue;
      for (size_t i = 0; i < input.dims.size() && i < found->second.shape.size(); ++i)
        if (found->second.shape[i] == 0) empty.insert(input.dims[i].symbol);
    }
    return empty;
  }

  void describe() const {
    for (const OnnxTensor& input : model_.inputs()) std::printf("input      %s\n", shape_text_of(input).c_str());
    for (const OnnxTensor& output : model_.outputs()) std::printf("output     %s\n", shape_text_of(output).c_str());
    for (const OnnxState& state : model_.states())
      std::printf("state      %s, %s\n", std::string(state.past).c_str(), std::string(state.present).c_str());
    const auto operators = model_.operators();
    std::printf("operators  %s\n", counts_of({operators.begin(), operators.end()}).c_str());
  }

  // The size of each symbol: from the command line, or the largest among the cases.
  void find_largest(const std::vector<std::string>& cases) {
    largest_.clear();
    for (const std::string& one : cases)
      for (const OnnxTensor& input : model_.inputs()) {
        const auto found = arrays_.find("in." + one + "." + input.name);
        if (found == arrays_.end()) continue;
        for (size_t i = 0; i < input.dims.size() && i < found->second.shape.size(); ++i)
          if (!input.dims[i].symbol.empty()) {
            int64_t& largest = largest_[input.dims[i].symbol];
            largest = std::max(largest, found->second.shape[i]);
          }
      }
    for (const auto& [symbol, size] : options_.largest) largest_[symbol] = size;
  }

  int run_on(const std::string& select, const std::vector<std::string>& cases) {
    Device device;
    Status status = Device::open(device_options(select, messages_.log()), &device);
    if (status != Status::Ok) return bad("device '" + select + "'", status);
    Weights weights;
    Plan plan;
    status = model_.upload(device, graph_, messages_.log(), &weights);
    if (status == Status::Ok) status = device.compile(graph_, weights, &plan);
    const std::string word = device.info().word;
    if (status != Status::Ok) return bad(options_.path + " on " + word, status);
    if (!options_.brief) describe(plan, word);
    int exit_code = kSuccess;
    for (const std::string& one : cases) exit_code = std::max(exit_code, check(plan, one, word));
    return exit_code;
  }

  void describe(const Plan& plan, const std::string& word) const {
    std::map<std::string, int64_t> ops;
    for (const PassInfo& pass : plan.passes()) ++ops[pass.op];
    std::printf("passes     %s (%s)\n", counts_of({ops.begin(), ops.end()}).c_str(), word.c_str());
    for (const PassInfo& pass : plan.passes())
      if (pass.op == "softmax") std::printf("unfused    %s: %s\n", pass.label.c_str(), pass.why.c_str());
    if (!options_.passes) return;
    for (const PassInfo& pass : plan.passes())
      std::printf("  %-24s %-28s %s\n", pass.op.c_str(), pass.kernel.c_str(), pass.label.c_str());
  }

  // A case's value of an input or output; null, with a message, if it has none.
  const NumpyArray* array_of(const char* prefix, const std::string& one, const std::string& name) const {
    const std::string whole = prefix + one + "." + name;
    const auto found = arrays_.find(whole);
    if (found != arrays_.end()) return &found->second;
    complain(options_.check + ": '" + whole + "' is missing");
    return nullptr;
  }

  // Writes a case's earlier values into a State. For a cache that grows, sets its length in *extents.
  Status fill(State* state, const std::string& one, std::vector<ExtentValue>* extents) const {
    Status status = Status::Ok;
    for (const OnnxTensor& input : model_.inputs()) {
      const auto pair =
          std::find_if(states_.begin(), states_.end(), [&](const OnnxState& s) { return s.past == input.name; });
      if (pair == states_.end() || status != Status::Ok) continue;
      const NumpyArray &before = arrays_.at("in." + one + "." + input.name),
                       &after = arrays_.at("out." + one + "." + std::string(pair->present));
      StatePart part;
      for (size_t i = 0; i < before.shape.size(); ++i)
        if (before.shape[i] != after.shape[i]) part = {static_cast<int>(i), 0, before.shape[i]};
      if (before.elements() == 0) continue;
      status = state->write(input.name, bytes_of(before, input.dtype), part);
      if (part.size == 0) continue;
      const std::string& symbol = input.dims[static_cast<size_t>(part.axis)].symbol;
      if (std::none_of(extents->begin(), extents->end(), [&](const ExtentValue& e) { return e.name == symbol; }))
        extents->push_back({symbol, part.size});
    }
    return status;
  }

  bool is_past(const std::string& name) const {
    return std::any_of(states_.begin(), states_.end(), [&](const OnnxState& s) { return s.past == name; });
  }
  const OnnxState* state_of(const std::string& output) const {
    const auto found =
        std::find_if(states_.begin(), states_.end(), [&](const OnnxState& s) { return s.present == output; });
    return found != states_.end() ? &*found : nullptr;
  }

  int check(Plan& plan, const std::string& one, const std::string& word) {
    std::vector<OnnxShape> shapes;
    std::vector<std::vector<std::byte>> memory;
    std::vector<HostBuffer> buffers;
    memory.reserve(model_.inputs().size() + model_.outputs().size());
    for (const OnnxTensor& input : model_.inputs()) {
      const NumpyArray* array = array_of("in.", one, input.name);
      if (array == nullptr) return kBadInput;
      shapes.push_back({input.name, array->shape});
      memory.push_back(bytes_of(*array, input.dtype));
      if (array->elements() > 0 && !is_past(input.name)) buffers.emplace_back(input.name, memory.back());
    }
    for (const OnnxTensor& output : model_.outputs()) {
      const NumpyArray* array = array_of("out.", one, output.name);
      if (array == nullptr) return kBadInput;
      memory.emplace_back(static_cast<size_t>(array->elements()) * size_of(output.dtype));
      if (state_of(output.name) == nullptr) buffers.emplace_back(output.name, memory.back());
    }
    std::vector<ExtentValue> extents;
    RunOptions run_options;
    Status status = model_.find_extents(graph_, shapes, messages_.log(), &extents);
    if (status == Status::Ok && !states_.empty()) status = plan.make_state(&run_options.state);
    if (status == Status::Ok && !states_.empty()) status = fill(&run_options.state, one, &extents);
    double milliseconds = 0;
    if (status == Status::Ok) {
      const auto begin = std::chrono::steady_clock::now();
      status = plan.run(buffers, extents, run_options);
      milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    }
    for (size_t i = 0; i < model_.outputs().size() && status == Status::Ok; ++i)
      if (const OnnxState* pair = state_of(model_.outputs()[i].name))
        status = run_options.state.read(pair->past, memory[model_.inputs().size() + i]);
    const std::vector<std::string> said = messages_.take();
    if (status != Status::Ok) {
      std::printf("FAIL %s %s: %s\n", one.c_str(), word.c_str(),
                  said.empty() ? to_string(status) : said.front().c_str());
      return kFailed;
    }
    int exit_code = kSuccess;
    for (size_t i = 0; i < model_.outputs().size(); ++i) {
      const OnnxTensor& output = model_.outputs()[i];
      const NumpyArray& expected = arrays_.at("out." + one + "." + output.name);
      double worst = 0;
      bool ok = true;
      for (int64_t k = 0; k < expected.elements(); ++k) {
        const double a = value_at(memory[model_.inputs().size() + i], output.dtype, static_cast<size_t>(k)),
                     b = expected.at(k);
        const double difference = a == b || (std::isnan(a) && std::isnan(b)) ? 0.0 : std::abs(a - b);
        ok = ok && difference <= kAbsolute + kRelative * std::abs(b);
        if (!(difference <= worst)) worst = difference;
      }
      std::printf("%s %s %s %s %.1e %.2f ms\n", ok ? "ok" : "FAIL", one.c_str(), output.name.c_str(), word.c_str(),
                  worst, milliseconds);
      if (!ok) exit_code = kFailed;
    }
    return exit_code;
  }

  const OnnxFileOptions& options_;
  Messages messages_;
  OnnxModel model_;
  Graph graph_;
  Arrays arrays_;
  std::vector<std::string> cases_;
  std::map<std::string, int64_t> largest_;
  std::vector<OnnxState> states_;
};

}  // namespace

int onnx(const OnnxFileOptions& options) { return Command(options).run(); }

}  // namespace heed::program
