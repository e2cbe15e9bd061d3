// Fingerprints of the operations of reproducible plans.
#include <algorithm>
#include <cstring>
#include <heed/reproducible.hpp>
#include <string_view>

#include "api/self_test_operands.hpp"
#include "base/fingerprint.hpp"
#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"

namespace heed {
namespace {

struct Known {
  std::string_view operation;
  uint64_t bits;
};
// Output of `heed bits`. It changes if a rule of tests/reproducible/README.md or a probe changes.
constexpr Known kKnown[] = {
#include "api/known_bits.inc"
};

// Fills floats with values of all magnitudes: normal, subnormal and close to the least normal number.
void fill_wild(std::vector<probes::Operand>* operands, bool strange) {
  uint32_t state = 12345;
  for (probes::Operand& operand : *operands) {
    if (operand.dtype != DType::F32) continue;
    for (size_t i = 0; i < operand.count(); ++i) {
      state = state * 1664525u + 1013904223u;
      const uint32_t random = state >> 8, kind = random % 32u, exponent = 127u + random / 32u % 40u - 20u;
      uint32_t bits = (state & 0x807fffffu) | exponent << 23;
      if (kind < 3) bits = (state & 0x80000000u) | (0x00800000u + random / 32u % 5u - 2u);
      if (kind == 3) bits = state & 0x807fffffu;
      if (kind == 4) bits = (state & 0x807fffffu) | (64u + random / 32u % 128u) << 23;
      if (strange && random % 97u == 0) bits = (state & 0x80000000u) | (random % 2u == 0 ? 0x7f800000u : 0x7fc12345u);
      std::memcpy(operand.data.data() + i * sizeof bits, &bits, sizeof bits);
    }
  }
}

Status add_probe(Device& device, const Probe& probe, Fingerprint* fingerprint) {
  const Graph graph = probes::graph_of(probe, DType::F32);
  const detail::GraphData& data = graph.data();
  Weights weights;
  Plan plan;
  Status status = probes::upload_weights(device, data, &weights);
  if (status == Status::Ok)
    status = device.compile(graph, weights, &plan, {.training = probe.of->training, .reproducible = true});
  for (const ProbeSize& size : self_test_sizes())
    for (int values = 0; values < 3 && status == Status::Ok; ++values) {
      std::vector<probes::Operand> inputs = probes::operands_of(data, data.inputs, size);
      std::vector<probes::Operand> outputs = probes::operands_of(data, data.outputs, size);
      probes::fill_all(&inputs);
      if (values > 0) fill_wild(&inputs, values == 2);
      status = probes::run_probe_plan(plan, inputs, outputs, size, 0);
      for (const probes::Operand& output : outputs) fingerprint->add(output.data);
    }
  return status;
}

// Whether the device can store the probe's types: some have no 16-bit storage.
bool can_store(const Device& device, const Probe& probe) {
  const Graph graph = probes::graph_of(probe, DType::F32);
  const auto& outputs = graph.data().outputs;
  return std::all_of(outputs.begin(), outputs.end(), [&](const detail::NamedTensor& output) {
    return device.impl()->supports(graph.data().tensors[output.tensor].dtype);
  });
}

}  // namespace

Status operation_bits(Device& device, std::vector<OperationBits>* operations) {
  if (!device.valid() || operations == nullptr) return refuse("operation_bits: device is empty, or operations is null");
  std::vector<OperationBits> found;
  std::vector<Fingerprint> fingerprints;
  for (const Probe& probe : reproducible_probes()) {
    if (!can_store(device, probe)) continue;
    const auto same = [&](const OperationBits& one) { return one.operation == probe.of->op; };
    const auto i = static_cast<size_t>(std::find_if(found.begin(), found.end(), same) - found.begin());
    if (i == found.size()) {
      found.emplace_back().operation = probe.of->op;
      fingerprints.emplace_back();
    }
    const Status status = add_probe(device, probe, &fingerprints[i]);
    if (status != Status::Ok) return status;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    OperationBits& one = found[i];
    one.bits = fingerprints[i].value();
    const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                     [&](const Known& entry) { return entry.operation == one.operation; });
    if (known != std::end(kKnown)) one.known = known->bits;
  }
  *operations = std::move(found);
  return Status::Ok;
}

}  // namespace heed
