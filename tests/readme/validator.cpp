#include <cmath>
#include <vector>

#include <heed/heed.hpp>

// Runs one graph, with input "x" and output "y", on a device of this machine.
heed::Status run_on(std::string_view name, const heed::Graph& g, std::span<const heed::HostTensor> tensors,
                    const std::vector<float>& x, std::vector<float>* y) {
  heed::Device device;
  heed::Weights weights;
  heed::Plan plan;
  heed::Status s = heed::Device::open({.select = name}, &device);
  if (s == heed::Status::Ok) s = device.upload(tensors, &weights);
  if (s == heed::Status::Ok) s = device.compile(g, weights, &plan);
  if (s == heed::Status::Ok) s = plan.run({{"x", x}, {"y", *y}});
  return s;
}

// True if `name` gives what the CPU gives, within heed's bound for f32. NaN is never within it.
bool agrees_with_cpu(std::string_view name, const heed::Graph& g, std::span<const heed::HostTensor> tensors,
                     const std::vector<float>& x, size_t y_size) {
  std::vector<float> a(y_size), b(y_size);
  if (run_on(name, g, tensors, x, &a) != heed::Status::Ok) return false;
  if (run_on("cpu", g, tensors, x, &b) != heed::Status::Ok) return false;
  for (size_t i = 0; i < y_size; ++i)
    if (!(std::fabs(a[i] - b[i]) <= 2e-5f + 1e-4f * std::fabs(b[i]))) return false;
  return true;
}
