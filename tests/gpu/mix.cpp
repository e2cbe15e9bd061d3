#include "gpu/mix.hpp"

#include <algorithm>

namespace heed::gpu_tests {
namespace {

std::string_view instruction_of(std::string_view line) {
  const size_t equals = line.find(" = ");
  if (equals != std::string_view::npos) line.remove_prefix(equals + 3);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

bool starts_with_any(std::string_view word, std::initializer_list<std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(), [&](std::string_view head) { return word.starts_with(head); });
}

// Removes flags of an IR3 instruction, and returns how many instructions it stands for.
int take_flags(std::string_view* word) {
  int times = 1;
  while (word->starts_with("(")) {
    if (word->starts_with("(rpt") && word->size() > 4) times = 1 + ((*word)[4] - '0');
    const size_t end = word->find(')');
    if (end == std::string_view::npos) break;
    word->remove_prefix(end + 1);
  }
  return times;
}

// Scalar, vector, memory and shared memory instructions of ACO. Other lines are labels, comments and pseudo-copies.
bool is_of_aco(std::string_view word) {
  return starts_with_any(word, {"s_", "v_", "ds_", "global_", "buffer_", "flat_", "scratch_", "image_"});
}
bool is_of_ir3(std::string_view line) {
  return !line.empty() && (line[0] == '(' || (line[0] >= 'a' && line[0] <= 'z')) && line.back() != ':';
}

// A GEN instruction starts at the left margin, and may have a second line.
bool is_of_gen(std::string_view line) {
  return !line.empty() && (line[0] == '(' || (line[0] >= 'a' && line[0] <= 'z')) && line.back() != ':';
}
// "(+f0.0) mad(16)" starts with its predicate.
std::string_view word_of_gen(std::string_view line) {
  if (line.starts_with("(")) line.remove_prefix(std::min(line.find(") ") + 2, line.size()));
  return line.substr(0, line.find('('));
}

// ACO's "BB12", NAK's "block 3 ...", GEN's "LABEL3:" and IR3's "l204:".
bool is_label(std::string_view line) {
  return line.starts_with("BB") || line.starts_with("block") ||
         ((line.starts_with("l") || line.starts_with("LABEL")) && line.ends_with(":"));
}

}  // namespace

Listing read_listing(std::string_view text) {
  Listing result;
  Mix block;
  const auto weight = [](const Mix& mix) { return mix.multiply_adds + 32 * mix.matrix; };
  const auto end_block = [&] {
    if (weight(block) > weight(result.hottest)) result.hottest = block;
    block = {};
  };
  const bool gen = text.find("{ align1 ") != std::string_view::npos;
  const bool ir3 = text.find("Native code") != std::string_view::npos;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (is_label(line)) end_block();
    std::string_view word = gen ? word_of_gen(line) : instruction_of(line);
    if (!(gen   ? is_of_gen(line)
          : ir3 ? is_of_ir3(line)
                : is_of_aco(word) || line.find("// delay=") != std::string_view::npos))
      continue;
    const bool fused_of_gen = gen && word == "mad" && line.find("<1>F") != std::string_view::npos;
    const int times = gen ? 1 : take_flags(&word);
    result.whole.all += times;
    if (!word.starts_with("s_")) block.all += times;
    for (Mix* mix : {&result.whole, &block}) {
      if (starts_with_any(word, {"v_wmma", "v_mfma", "v_swmmac", "hmma", "imma", "dpas"})) mix->matrix += times;
      if (starts_with_any(word, {"v_fma", "v_pk_fma", "v_mac", "v_mad_f", "v_mad_mix", "v_dual_fmac", "v_dot", "ffma",
                                 "hfma2", "mad.f", "idp4", "dp4a"}) ||
          fused_of_gen)
        mix->multiply_adds += times;
      if (starts_with_any(word, {"v_fma", "v_pk_fma", "v_mad_mix", "v_dual_fmac", "v_dot", "ffma", "hfma2"}) ||
          fused_of_gen)
        mix->fused += times;
      if (starts_with_any(word, {"v_exp_",   "v_log_",    "v_rsq_",   "v_sqrt_",   "v_sin_",   "v_cos_",   "v_div_",
                                 "mufu.ex2", "mufu.lg2",  "mufu.rsq", "mufu.sqrt", "mufu.sin", "mufu.cos", "rsq",
                                 "sqrt",     "exp2",      "log2",     "sin",       "cos",      "math exp", "math log",
                                 "math rsq", "math sqrt", "math sin", "math cos",  "math pow"}))
        mix->approximations += times;
    }
  }
  end_block();
  return result;
}

}  // namespace heed::gpu_tests
