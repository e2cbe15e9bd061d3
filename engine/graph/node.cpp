#include "graph/node.hpp"

#include <span>

namespace heed {
namespace {

bool fit(std::span<const OperandInfo> named, std::span<const Tensor> tensors) {
  bool rest = false;  // `several` has occurred: all further operands are optional
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool known = rest || named[i].name != nullptr, optional = rest || named[i].optional || !known;
    if (tensors[i].valid() ? !known : !optional) return false;
    rest = rest || named[i].several;
  }
  return true;
}

}  // namespace

bool fits_sheet(const Node& node) {
  const OperationInfo& row = info_of(node.op);
  return node.attrs.index() == row.attributes && fit(row.inputs, node.inputs) && fit(row.outputs, node.outputs);
}

}  // namespace heed
