// Reads the files that tests/gpu/peer/trace.hpp writes.
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "gpu/profile/run.hpp"

namespace heed::gpu_tests {
namespace {

using interpreter::Binding;
using interpreter::Memory;

struct Pipeline {
  std::vector<uint32_t> words;
  KernelKey key;
  std::string constants;
};

std::vector<char> read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Trace {
 public:
  Trace(const std::string& folder, Compiler& compiler, Profile* result)
      : folder_(folder), compiler_(compiler), result_(result) {}
  bool run();

 private:
  void add_buffer(std::istream& line);
  bool add_pipeline(std::istream& line);
  bool dispatch(std::istream& line);

  // Dispatches that differ only in the places of their tensors do the same work. The first push constants count: ggml leaves unused ones
  // uninitialized.
  static constexpr size_t kWordsThatCount = 16;
  struct Same {
    uint32_t pipeline = 0;
    std::array<uint32_t, 3> groups{};
    std::string push;
    auto operator<=>(const Same&) const = default;
  };

  const std::string folder_;
  Compiler& compiler_;
  Profile* result_;
  std::map<uint32_t, std::unique_ptr<Memory>> buffers_;
  std::map<uint32_t, Pipeline> pipelines_;
  std::map<Same, size_t> same_;
  interpreter::Interpreter interpreter_;
};

void Trace::add_buffer(std::istream& line) {
  uint32_t number = 0;
  uint64_t bytes = 0;
  line >> number >> bytes;
  auto memory = std::make_unique<Memory>((bytes + 3) / 4 * 4, true, false);
  const std::vector<char> content = read_file(folder_ + "/buffer-" + std::to_string(number));
  std::memcpy(memory->data(), content.data(), std::min<size_t>(content.size(), memory->bytes()));
  buffers_[number] = std::move(memory);
}

bool Trace::add_pipeline(std::istream& line) {
  uint32_t number = 0;
  line >> number;
  Pipeline& pipeline = pipelines_[number];
  line >> pipeline.key.subgroup;
  pipeline.key.spec_count = 0;
  for (std::string constant; line >> constant;) {
    const auto id = static_cast<uint32_t>(std::stoul(constant));
    if (id >= kMaxSpecConstants || id != pipeline.key.spec_count) return false;
    pipeline.key.set(id, static_cast<uint32_t>(std::stoul(constant.substr(constant.find('=') + 1))));
    pipeline.constants.append(id == 0 ? "" : " ").append(std::to_string(pipeline.key.spec[id]));
  }
  const std::vector<char> code = read_file(folder_ + "/pipeline-" + std::to_string(number));
  pipeline.words.resize(code.size() / 4);
  std::memcpy(pipeline.words.data(), code.data(), pipeline.words.size() * 4);
  return !pipeline.words.empty();
}

bool Trace::dispatch(std::istream& line) {
  Same same;
  std::string all;
  line >> same.pipeline >> same.groups[0] >> same.groups[1] >> same.groups[2] >> all;
  same.push = all.substr(0, 8 * kWordsThatCount);
  std::array<Binding, 16> bindings;
  for (std::string text; line >> text;) {
    unsigned number = 0, buffer = 0;
    unsigned long long offset = 0, range = 0;
    if (std::sscanf(text.c_str(), "%u:%u:%llu:%llu", &number, &buffer, &offset, &range) != 4) return false;
    if (number >= bindings.size()) return false;
    bindings[number] = {buffers_.at(buffer).get(), offset, range, true};
  }
  const auto [known, is_new] = same_.emplace(same, result_->kernels.size());
  if (!is_new) {
    ++result_->kernels[known->second].dispatches;
    return true;
  }
  const Pipeline& pipeline = pipelines_.at(same.pipeline);
  Measured& fresh = result_->kernels.emplace_back();
  fresh.kernel = "spirv of " + std::to_string(pipeline.words.size() * 4) + " bytes";
  fresh.constants = pipeline.constants;
  fresh.groups = same.groups;
  fresh.dispatches = 1;
  fresh.subgroup = pipeline.key.subgroup != 0 ? pipeline.key.subgroup : compiler_.capabilities().subgroup_size;
  std::vector<std::byte> push;
  for (size_t i = 0; i + 1 < all.size(); i += 2)
    push.push_back(static_cast<std::byte>(std::stoul(all.substr(i, 2), nullptr, 16)));
  Compiled compiled;
  constexpr uint32_t kBindings = 12;  // more bindings than heed's kernels have
  if (compiler_.compile(pipeline.key, {fresh.kernel.c_str(), pipeline.words, kBindings}, &compiled)) {
    fresh.figures = figures_of(compiler_.physical().driver, compiled);
    fresh.listing = compiled.listing();
  }
  // The peer's kernels may break rules that heed's keep. Their counts are valid nevertheless.
  interpret(interpreter_,
            {.words = pipeline.words,
             .constants = {pipeline.key.spec.data(), pipeline.key.spec_count},
             .subgroup = fresh.subgroup,
             .bindings = bindings,
             .push = push,
             .groups = same.groups},
            &fresh);
  return true;
}

bool Trace::run() {
  std::ifstream file(folder_ + "/trace");
  // A barrier without a dispatch before the next barrier does not separate dispatches.
  bool between = false;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string what;
    line >> what;
    if (what == "buffer") add_buffer(line);
    if (what == "pipeline" && !add_pipeline(line)) return false;
    if (what == "barrier") between = !result_->kernels.empty();
    if (what != "dispatch") continue;
    result_->barriers += between ? 1 : 0;
    between = false;
    if (!dispatch(line)) return false;
  }
  return !result_->kernels.empty();
}

}  // namespace

bool profile_trace(const std::string& folder, Compiler& compiler, Profile* result) {
  return Trace(folder, compiler, result).run();
}

}  // namespace heed::gpu_tests
