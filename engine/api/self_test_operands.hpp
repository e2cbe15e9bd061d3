// Operands: the buffers that a probe reads and writes in one run.
#pragma once

#include <cstddef>
#include <heed/device.hpp>
#include <heed/plan.hpp>
#include <string>
#include <vector>

#include "api/self_test_probes.hpp"
#include "graph/graph_data.hpp"

namespace heed::probes {

// One input or output at the sizes of one run.
struct Operand {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::byte> data;
  uint32_t tensor = 0;  // a tensor of the graph

  size_t count() const { return data.size() / size_of(dtype); }
  double value(size_t i) const;
};

// The probe's graph. All graphs have both extents, whether they use them or not.
Graph graph_of(const Probe& probe, DType storage);
// The tensors of a list at these sizes, filled with ones, sorted by name. Sorting makes fill_all independent of the order in which a graph
// declares its tensors, which depends on the compiler's order of evaluating arguments.
std::vector<Operand> operands_of(const detail::GraphData& graph, const std::vector<detail::NamedTensor>& list,
                                 const ProbeSize& size);
void fill_all(std::vector<Operand>* operands);
Status upload_weights(Device& device, const detail::GraphData& graph, Weights* weights);
Status run_probe_plan(Plan& plan, const std::vector<Operand>& inputs, std::vector<Operand>& outputs,
                      const ProbeSize& size, uint32_t timeout_ms);

}  // namespace heed::probes
