#include <heed/heed.hpp>

// A policy that PyTorch exported: what each of the agents sees, [agents, features], becomes how good each choice is, [agents, choices].
heed::Status act(std::string_view file, const std::vector<float>& seen, int64_t agents, std::vector<float>* choices) {
  heed::Device device;
  heed::OnnxModel model;
  heed::Plan plan;
  const heed::OnnxExtent largest[] = {{"agents", 256}};  // one plan for any number up to this
  heed::Status s = heed::Device::open({}, &device);
  if (s == heed::Status::Ok) s = heed::OnnxModel::open(file, heed::stderr_log(), &model);
  if (s == heed::Status::Ok) s = model.compile(device, {.extents = largest}, heed::stderr_log(), &plan);
  if (s == heed::Status::Ok) s = plan.run({{"seen", seen}, {"choices", *choices}}, {{"agents", agents}});
  return s;
}
