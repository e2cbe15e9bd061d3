#include "cases/op_case.hpp"

namespace heed {

std::vector<const OpCase*> all_cases() {
  std::vector<const OpCase*> all;
  for (const std::span<const OpCase> some : {element_cases(), matmul_cases(), attention_cases(), row_cases(),
                                             projection_cases(), gradient_cases(), update_cases(), layer_cases()})
    for (const OpCase& one : some) all.push_back(&one);
  return all;
}

}  // namespace heed
