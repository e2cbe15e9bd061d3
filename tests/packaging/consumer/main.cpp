// Runs one attention layer on the CPU, and makes a Vulkan call that needs no GPU.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <heed/heed.hpp>
#if __has_include(<vulkan/vulkan_core.h>)
#include <heed/vulkan.hpp>
#endif

int main() {
  heed::Graph graph;
  const heed::Dim tokens = graph.extent("tokens", 8);
  const heed::Tensor x = graph.input("x", {1, 2, tokens, 4});
  graph.output("y", graph.attention(x, x, x).output);

  std::vector<heed::DeviceInfo> devices;
  if (heed::Device::list({}, &devices) != heed::Status::Ok) return 1;
  heed::Device device;
  heed::Plan plan;
  const heed::DeviceOptions options = {.select = "cpu", .log = heed::stderr_log()};
  heed::Status status = heed::Device::open(options, &device);
  if (status == heed::Status::Unsupported && (devices.empty() || devices.back().word != "cpu")) {
    std::printf("heed has no CPU device here\n");
    return 0;
  }
  if (status == heed::Status::Ok) status = device.compile(graph, {}, &plan);
  // Equal keys share the weight evenly, so that the output is the value they have in common.
  std::vector<float> in(1 * 2 * 3 * 4, 0.75f), out(in.size());
  if (status == heed::Status::Ok) status = plan.run({{"x", in}, {"y", out}}, {{"tokens", 3}});
  if (status != heed::Status::Ok) {
    std::fprintf(stderr, "failed: %s\n", heed::to_string(status));
    return 1;
  }
  for (const float value : out)
    if (std::fabs(value - 0.75f) > 1e-6f) return 1;

  const std::string& reason = device.info().reason;
  if (reason.find("the best this processor has") == std::string::npos) return 1;

#ifdef HEED_CONSUMER_ADOPTS
  if (heed::vulkan::adopt({}, &device) == heed::Status::Ok) return 1;  // no handles
#endif
  std::printf("heed works here\n");
  return 0;
}
