#include "golden/run.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "golden/case.hpp"

namespace heed::goldens {

Log Messages::log() {
  const auto callback = [](void* user, LogLevel, const char* message) {
    auto* self = static_cast<Messages*>(user);
    const std::lock_guard lock(self->mutex_);
    self->lines_.emplace_back(message);
  };
  return {callback, this, LogLevel::Warning};
}

std::vector<std::string> Messages::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

std::string case_name(std::string_view path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (static_cast<unsigned char>(c) <= ' ') c = '_';
  return name;
}

namespace {

bool is_damage(Status status) {
  return status == Status::InvalidGraph || status == Status::ShapeMismatch || status == Status::DTypeMismatch ||
         status == Status::MissingWeight || status == Status::InvalidArgument || status == Status::IndexOutOfRange;
}

bool is_expected(std::string_view name) { return name.starts_with("expected") || name.starts_with("grad."); }
bool is_weight(std::string_view name) {
  return !is_expected(name) && name != "nan_rows" && !name.starts_with("grad_out");
}

// All tensors of the file that may be weights: floating-point tensors that are no inputs or results.
std::vector<HostTensor> weights_of(const Case& c) {
  std::vector<HostTensor> weights;
  for (const HostTensor& tensor : c.file().host_tensors()) {
    const auto same = [&](const Case::Input& input) { return input.name == tensor.name; };
    const bool input = std::any_of(c.inputs().begin(), c.inputs().end(), same);
    const bool floating = tensor.dtype != DType::I32 && tensor.dtype != DType::U8;
    if (floating && !input && is_weight(tensor.name)) weights.push_back(tensor);
  }
  return weights;
}

// One output of a run.
struct Output {
  std::string name;
  std::vector<float> values;
};

struct Run {
  Result& result;
  Messages& messages;

  bool stop(Verdict verdict, std::string text) {
    result.verdict = verdict;
    result.detail = std::move(text);
    return false;
  }
  // Ends with the text of `status` and heed's messages.
  bool stop(Status status) {
    std::string text = to_string(status);
    const std::vector<std::string> lines = messages.take();
    if (!lines.empty()) text += ": " + lines.front();
    return stop(is_damage(status) ? Verdict::Damaged : Verdict::Failed, std::move(text));
  }
};

int64_t count_of(const Shape& shape) {
  int64_t n = 1;
  for (int i = 0; i < shape.rank; ++i) n *= shape[i].value;
  return n;
}

bool execute(Device& device, Case& c, bool reproducible, Run& run, std::vector<Output>* outputs) {
  Weights weights;
  const std::vector<HostTensor> tensors = weights_of(c);
  Status status =
      tensors.empty() ? Status::Ok : device.upload(tensors, &weights, {.keep_dtype = false, .dtype = DType::F32});
  if (status != Status::Ok) return run.stop(status);
  Plan plan;
  status = device.compile(c.graph, weights, &plan, {.reproducible = reproducible});
  if (status != Status::Ok) return run.stop(status);

  for (const std::string& name : c.expected())
    outputs->push_back({name, std::vector<float>(static_cast<size_t>(c.file().find(name)->elements()), NAN)});
  for (size_t i = 0; i < c.dead().size(); ++i)
    outputs->push_back({c.dead()[i], std::vector<float>(static_cast<size_t>(count_of(c.dead_shapes()[i])), NAN)});
  std::vector<HostBuffer> buffers;
  for (const Case::Input& input : c.inputs()) buffers.emplace_back(input.name, input.data);
  for (Output& output : *outputs) buffers.emplace_back(output.name, output.values);
  status = plan.run(buffers, c.extent_values());
  return status == Status::Ok || run.stop(status);
}

// Compares with the results of another device for the same case.
bool compare_bits(Device& beside, Case& c, const std::vector<Output>& outputs, Run& run) {
  std::vector<Output> others;
  if (!execute(beside, c, true, run, &others)) return false;
  for (size_t o = 0; o < outputs.size(); ++o)
    for (size_t i = 0; i < outputs[o].values.size(); ++i) {
      const float a = outputs[o].values[i], b = others[o].values[i];
      if (std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b)) continue;
      char text[200];
      std::snprintf(text, sizeof text, "%s[%zu] is %a, on %s %a", outputs[o].name.c_str(), i, static_cast<double>(a),
                    beside.info().word.c_str(), static_cast<double>(b));
      return run.stop(Verdict::Failed, text);
    }
  return true;
}

bool compare(const Case& c, const Output& output, Run& run) {
  std::vector<float> expected;
  if (read_f32(*c.file().find(output.name), no_log(), &expected) != Status::Ok)
    return run.stop(Verdict::Damaged, "tensor '" + output.name + "' is no floating-point tensor");
  size_t worst = SIZE_MAX;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = output.values[i], b = expected[i], difference = std::abs(a - b);
    // Comparisons with NaN are false. These are written so that NaN fails, and stays in the maxima.
    if (!(difference <= run.result.max_abs)) {
      run.result.max_abs = difference;
      worst = i;
    }
    const double relative = difference / std::max(std::abs(b), kSmallest);
    if (!(relative <= run.result.max_rel)) run.result.max_rel = relative;
    if (difference <= kAbsolute + kRelative * std::abs(b) || run.result.verdict == Verdict::Failed) continue;
    char text[200];
    std::snprintf(text, sizeof text, "%s[%zu] is %.9g, expected %.9g", output.name.c_str(), i, a, b);
    run.stop(Verdict::Failed, text);
  }
  if (worst != SIZE_MAX) run.result.worst = output.name + "[" + std::to_string(worst) + "]";
  return run.result.verdict == Verdict::Ok;
}

// A row is dead if all weights of some head are zero in it. nan_rows [B, S_q] must list exactly the dead rows.
bool compare_dead_rows(const Case& c, const std::vector<Output>& outputs, Run& run) {
  std::vector<int32_t> listed;
  const SafeTensors::Entry* entry = c.file().find("nan_rows");
  if (!entry || c.dead().empty()) return true;
  if (entry->shape.size() != 2 || read_i32(*entry, no_log(), &listed) != Status::Ok)
    return run.stop(Verdict::Damaged, "tensor 'nan_rows' is no mask [B, S_q]");
  const size_t batch = static_cast<size_t>(entry->shape[0]), queries = static_cast<size_t>(entry->shape[1]);
  std::vector<int32_t> dead(listed.size(), 0);
  for (size_t t = 0; t < c.dead().size(); ++t) {
    const auto same = [&](const Output& o) { return o.name == c.dead()[t]; };
    const std::vector<float>& values = std::find_if(outputs.begin(), outputs.end(), same)->values;
    const Shape& shape = c.dead_shapes()[t];
    const size_t heads = static_cast<size_t>(shape[1].value), keys = static_cast<size_t>(shape[3].value);
    if (static_cast<size_t>(shape[0].value) != batch || static_cast<size_t>(shape[2].value) != queries)
      return run.stop(Verdict::Damaged, "tensor 'nan_rows' has another shape than the attention's rows");
    for (size_t row = 0; row < batch * heads * queries; ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * keys);
      const bool empty = std::all_of(begin, begin + static_cast<std::ptrdiff_t>(keys), [](float w) { return w == 0; });
      if (empty) dead[row / (heads * queries) * queries + row % queries] = 1;
    }
  }
  for (size_t i = 0; i < dead.size(); ++i)
    if (dead[i] != (listed[i] != 0))
      return run.stop(Verdict::Failed, "row " + std::to_string(i) + (dead[i] ? " has" : " should have") +
                                           " no visible key, nan_rows says otherwise");
  return true;
}

// Builds, runs and compares one variant; `done` collects the compared tensors.
bool run_variant(Device& device, Device* beside, const SafeTensors& file, const CaseOptions& options, Run& run,
                 std::vector<std::string>* done, bool* weights_used) {
  Case c(file, options);
  build(c);
  if (options.gradients) c.differentiate();
  *weights_used = c.weights_used();
  if (!c.problem().empty()) return run.stop(Verdict::Damaged, c.problem());
  if (c.graph.status() != Status::Ok)
    return run.stop(is_damage(c.graph.status()) ? Verdict::Damaged : Verdict::Failed, c.graph.error());
  if (c.expected().empty() && c.dead().empty()) return true;
  std::vector<Output> outputs;
  if (!execute(device, c, beside != nullptr, run, &outputs)) return false;
  if (beside != nullptr && !compare_bits(*beside, c, outputs, run)) return false;
  for (const Output& output : outputs) {
    const bool dead = std::find(c.dead().begin(), c.dead().end(), output.name) != c.dead().end();
    if (!dead && !compare(c, output, run)) return false;
    done->push_back(output.name);
  }
  return compare_dead_rows(c, outputs, run);
}

}  // namespace

Result verify(Device& device, Messages& messages, const SafeTensors& file, std::string_view path, bool extents,
              Device* beside) {
  Result result;
  result.name = case_name(path);
  result.system = file.metadata("system");
  result.verdict = Verdict::Ok;
  messages.take();
  Run run{result, messages};
  const std::string_view kind = file.metadata("kind");
  if (!kind.empty() && kind != "gradients") {
    run.stop(Verdict::Damaged, "files of kind '" + std::string(kind.substr(0, 80)) + "' are not known");
    return result;
  }
  const bool gradients = !kind.empty();

  // The first variant is what an application would run. If the file has more to compare, the second one also returns the attention weights.
  std::vector<std::string> done;
  bool weights_used = false;
  // Dead rows are found in the weights, whose shape is known only with constant sizes, so without extents.
  if (!run_variant(device, beside, file, {.extents = extents, .gradients = gradients}, run, &done, &weights_used))
    return result;
  const auto is_done = [&](std::string_view name) { return std::find(done.begin(), done.end(), name) != done.end(); };
  const auto all_done = [&] {
    return std::all_of(file.entries().begin(), file.entries().end(), [&](const SafeTensors::Entry& entry) {
      return !is_expected(entry.name) || is_done(entry.name);
    });
  };
  const bool rows = file.find("nan_rows") != nullptr;
  if (weights_used && (rows || !all_done()) &&
      !run_variant(device, beside, file, {.extents = extents && !rows, .weights = true, .gradients = gradients}, run,
                   &done, &weights_used))
    return result;
  if (done.empty()) {
    run.stop(Verdict::Damaged, "no tensor 'expected' to compare with");
  } else if (!all_done()) {
    run.stop(Verdict::Damaged, "an expected tensor is unknown to its system");
  }
  return result;
}

}  // namespace heed::goldens
