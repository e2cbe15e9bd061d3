// Files of kind "gradients": `grad_out` is the upstream gradient of `expected`, or `grad_out.NAME` that of `expected_NAME`, and `grad.NAME`
// is the gradient of the input or weight NAME.
#include <algorithm>

#include "golden/case.hpp"

namespace heed::goldens {

namespace {

constexpr std::string_view kGradient = "grad.", kUpstream = "grad_out";

}  // namespace

// The input or weight of this name. Declares a weight that the system does not use.
Tensor Case::differentiated(std::string_view name) {
  for (const Input& input : inputs_)
    if (input.name == name) return input.tensor;
  if (const Tensor known = graph.find_weight(name); known.valid()) return known;
  const SafeTensors::Entry* found = file_.find(name);
  if (!found) return problem("there is a gradient of '" + std::string(name) + "', but no such tensor");
  Shape shape;
  for (const int64_t size : found->shape) shape.push_back(size);
  return graph.weight(name, shape);
}

// The input with the upstream gradient of an expected tensor; invalid if the file has none.
Tensor Case::upstream_of(std::string_view expected, Tensor output) {
  constexpr std::string_view kPrefix = "expected_";
  std::string name(kUpstream);
  if (expected.starts_with(kPrefix)) name.append(".").append(expected.substr(kPrefix.size()));
  const SafeTensors::Entry* found = file_.find(name);
  if (!found) return {};
  std::vector<float> values;
  const SafeTensors::Entry* result = file_.find(expected);
  if (result->shape != found->shape || read_f32(*found, no_log(), &values) != Status::Ok)
    return problem("tensor '" + name + "' is not like '" + std::string(expected) + "'");
  return add_input(name, graph.shape(output), DType::F32, values.data(), values.size() * sizeof(float));
}

void Case::differentiate() {
  if (!problem_.empty() || graph.status() != Status::Ok) return;
  std::vector<train::Upstream> outputs;
  std::vector<Tensor> of;
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (const Tensor upstream = upstream_of(expected_[i], outputs_[i]); upstream.valid())
      outputs.push_back({outputs_[i], upstream});
  size_t given = 0;
  for (const SafeTensors::Entry& entry : file_.entries()) {
    given += entry.name.starts_with(kUpstream);
    if (!entry.name.starts_with(kGradient)) continue;
    of.push_back(differentiated(entry.name.substr(kGradient.size())));
    names.emplace_back(entry.name);
  }
  if (outputs.empty() || outputs.size() != given) problem("a tensor 'grad_out..' belongs to nothing that is expected");
  if (of.empty()) problem("there is no tensor 'grad..'");
  if (!problem_.empty()) return;
  const std::vector<Tensor> found = train::gradients(graph, outputs, of);
  for (size_t i = 0; i < of.size(); ++i) expect(names[i], found[i]);
}

}  // namespace heed::goldens
