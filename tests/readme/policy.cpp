#include <heed/heed.hpp>

// The policy on the best device of the machine, once and waited for; `velocity` has room for two numbers of each agent.
heed::Status steer(std::string_view file, const std::vector<float>& agents, std::vector<float>* velocity) {
  heed::Device device;
  heed::OnnxModel model;
  heed::Plan plan;
  const heed::OnnxExtent largest[] = {{"count", 256}};
  const auto count = static_cast<int64_t>(agents.size()) / 6;
  heed::Status s = heed::Device::open({}, &device);  // or {.select = "cpu"}
  if (s == heed::Status::Ok) s = heed::OnnxModel::open(file, heed::stderr_log(), &model);
  if (s == heed::Status::Ok) s = model.compile(device, {.extents = largest}, heed::stderr_log(), &plan);
  if (s == heed::Status::Ok) s = plan.run({{"agents", agents}, {"velocity", *velocity}}, {{"count", count}});
  return s;
}
