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
  return std::any_of(heads.begin(), heads.end(),
                     [&](std::string_view head) { return word.starts_with(head); });
}

}  // namespace

Mix mix_of(std::string_view listing) {
  Mix mix;
  while (!listing.empty()) {
    const size_t end = listing.find('\n');
    const std::string_view word = instruction_of(listing.substr(0, end));
    listing.remove_prefix(end == std::string_view::npos ? listing.size() : end + 1);
    // Scalar, vector, memory and shared memory instructions; the rest are labels, comments and copies to
    // come.
    if (!starts_with_any(word, {"s_", "v_", "ds_", "global_", "buffer_", "flat_", "scratch_", "image_"}))
      continue;
    ++mix.all;
    if (starts_with_any(word, {"v_wmma", "v_mfma", "v_swmmac"})) ++mix.matrix;
    if (starts_with_any(word, {"v_fma", "v_pk_fma", "v_mac", "v_mad_f", "v_mad_mix", "v_dual_fmac", "v_dot"}))
      ++mix.multiply_adds;
  }
  return mix;
}

}  // namespace heed::gpu_tests
