#include "api/self_test_suspects.hpp"

#include <algorithm>
#include <iterator>

namespace heed {
namespace {

bool is_second_pass(const std::string& kernel) {
  return kernel.find("_combine_") != std::string::npos || kernel.ends_with("_sum");
}

template <class Predicate>
std::vector<std::string> only(const std::vector<std::string>& kernels, const Predicate& predicate) {
  std::vector<std::string> found;
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(found), predicate);
  return found;
}

}  // namespace

std::vector<std::string> suspects_among(const std::vector<std::string>& kernels) {
  std::vector<std::string> second = only(kernels, is_second_pass);
  if (!second.empty()) return second;
  return only(kernels, [&](const std::string& name) {
    return std::none_of(kernels.begin(), kernels.end(),
                        [&](const std::string& other) { return other.starts_with(name + "_"); });
  });
}

}  // namespace heed
