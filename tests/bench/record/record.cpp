// Prints the host's time to compile and record an encoder of 12 layers, with calls that every version of heed has: the number of
// dispatches, nanoseconds of this thread for each recorded dispatch, and microseconds for a compile whose pipelines exist. Uses the first
// Vulkan device, and executes nothing there.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <heed/heed.hpp>
#include <heed/vulkan.hpp>

namespace {

constexpr int kLayers = 12, kRecordings = 400, kCompiles = 15;
constexpr int64_t kRows = 128, kWidth = 256, kHeads = 4;

void check(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}
void check(heed::Status status, const char* what) { check(status == heed::Status::Ok, what); }
void check(VkResult result, const char* what) { check(result == VK_SUCCESS, what); }

double seconds_of_thread() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The median time of `work`.
template <class Work>
double time(int rounds, Work&& work) {
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) {
    const double before = seconds_of_thread();
    work();
    all.push_back(seconds_of_thread() - before);
  }
  std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
  return all[rounds / 2];
}

struct Encoder {
  heed::Graph graph;
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> shapes;

  heed::Tensor weight(const std::string& name, std::vector<int64_t> shape) {
    names.push_back(name);
    shapes.push_back(shape);
    return shape.size() == 1 ? graph.weight(name, {shape[0]}) : graph.weight(name, {shape[0], shape[1]});
  }
  heed::Tensor linear(heed::Tensor x, const std::string& name, int64_t in, int64_t out) {
    const heed::Tensor w = weight(name + ".weight", {out, in});
    return graph.linear(x, w, weight(name + ".bias", {out}));
  }
  heed::Tensor norm(heed::Tensor x, const std::string& name) {
    const heed::Tensor gamma = weight(name + ".weight", {kWidth});
    return graph.layernorm(x, gamma, weight(name + ".bias", {kWidth}), 1e-5f);
  }

  Encoder() {
    const heed::Dim rows = graph.extent("rows", kRows);
    heed::Tensor x = graph.input("x", {1, rows, kWidth});
    const auto heads_of = [&](heed::Tensor of) {
      return graph.permute(graph.reshape(of, {1, rows, kHeads, kWidth / kHeads}), {0, 2, 1, 3});
    };
    for (int i = 0; i < kLayers; ++i) {
      const std::string name = std::to_string(i);
      const heed::Tensor q = heads_of(linear(x, name + ".q", kWidth, kWidth));
      const heed::Tensor k = heads_of(linear(x, name + ".k", kWidth, kWidth));
      const heed::Tensor v = heads_of(linear(x, name + ".v", kWidth, kWidth));
      heed::Tensor seen = graph.attention(q, k, v).output;
      seen = graph.reshape(graph.permute(seen, {0, 2, 1, 3}), {1, rows, kWidth});
      x = norm(graph.add(x, linear(seen, name + ".o", kWidth, kWidth)), name + ".norm1");
      const heed::Tensor wide = graph.activation(linear(x, name + ".up", kWidth, 4 * kWidth), heed::Activation::Relu);
      x = norm(graph.add(x, linear(wide, name + ".down", 4 * kWidth, kWidth)), name + ".norm2");
    }
    graph.output("y", x);
  }
};

// The first device, with no feature enabled.
struct Host {
  heed::vulkan::HostDevice heed;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;

#define CALL(name) reinterpret_cast<PFN_##name>(heed.get_instance_proc_addr(heed.instance, #name))
  Host() {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW);
    check(library != nullptr, "libvulkan.so.1");
    heed.get_instance_proc_addr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = heed.api_version = VK_API_VERSION_1_1;
    VkInstanceCreateInfo instance = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    instance.pApplicationInfo = &application;
    check(CALL(vkCreateInstance)(&instance, nullptr, &heed.instance), "vkCreateInstance");
    uint32_t one = 1;
    check(CALL(vkEnumeratePhysicalDevices)(heed.instance, &one, &heed.physical_device) >= 0 && one == 1, "a device");
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    check(CALL(vkCreateDevice)(heed.physical_device, &device, nullptr, &heed.device), "vkCreateDevice");
    CALL(vkGetDeviceQueue)(heed.device, 0, 0, &heed.queue);

    VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    VkCommandPool pool;
    check(CALL(vkCreateCommandPool)(heed.device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.commandBufferCount = 1;
    check(CALL(vkAllocateCommandBuffers)(heed.device, &allocate, &commands), "vkAllocateCommandBuffers");

    VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = 2 * kRows * kWidth * sizeof(float);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    check(CALL(vkCreateBuffer)(heed.device, &info, nullptr, &buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    CALL(vkGetBufferMemoryRequirements)(heed.device, buffer, &needs);
    VkMemoryAllocateInfo memory_info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    memory_info.allocationSize = needs.size;
    while ((needs.memoryTypeBits >> memory_info.memoryTypeIndex & 1) == 0) ++memory_info.memoryTypeIndex;
    VkDeviceMemory memory;
    check(CALL(vkAllocateMemory)(heed.device, &memory_info, nullptr, &memory), "vkAllocateMemory");
    check(CALL(vkBindBufferMemory)(heed.device, buffer, memory, 0), "vkBindBufferMemory");
  }
};

}  // namespace

int main() {
  const Host host;
  Encoder encoder;
  const std::vector<float> values(4 * kWidth * kWidth, 0.01f);
  std::vector<heed::HostTensor> tensors;
  for (size_t i = 0; i < encoder.names.size(); ++i) {
    heed::HostTensor tensor;
    int64_t count = 1;
    for (const int64_t dim : encoder.shapes[i]) count *= dim;
    tensor.name = encoder.names[i];
    tensor.shape = encoder.shapes[i];
    tensor.data = std::as_bytes(std::span(values).first(static_cast<size_t>(count)));
    tensors.push_back(tensor);
  }
  heed::Device device;
  heed::Weights weights;
  heed::Plan plan;
  check(heed::vulkan::adopt(host.heed, &device), "adopt");
  check(device.upload(tensors, &weights), "upload");
  check(device.compile(encoder.graph, weights, &plan), "compile");
  const double compile = time(kCompiles, [&] {
    heed::Plan another;
    check(device.compile(encoder.graph, weights, &another), "compile");
  });

  const auto begin = reinterpret_cast<PFN_vkBeginCommandBuffer>(
      host.heed.get_instance_proc_addr(host.heed.instance, "vkBeginCommandBuffer"));
  const auto end = reinterpret_cast<PFN_vkEndCommandBuffer>(
      host.heed.get_instance_proc_addr(host.heed.instance, "vkEndCommandBuffer"));
  const VkDeviceSize half = kRows * kWidth * sizeof(float);
  const heed::vulkan::Buffer buffers[] = {{"x", host.buffer, 0, half}, {"y", host.buffer, half, half}};
  double record = 1e9;
  int64_t rows = kRows;
  for (int i = 0; i < kRecordings; i += 20) {
    // The least of the medians, which leaves out disturbances of the machine.
    record =
        std::min(record, time(20, [&] {
                   const VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
                   const heed::ExtentValue extents[] = {{"rows", rows = rows == kRows ? 77 : kRows}};
                   check(begin(host.commands, &info), "vkBeginCommandBuffer");
                   check(heed::vulkan::record(plan, host.commands, {.buffers = buffers, .extents = extents}), "record");
                   check(end(host.commands), "vkEndCommandBuffer");
                 }));
  }
  uint32_t dispatches = 0;
  for (const auto& pass : plan.passes()) dispatches += pass.dispatches;
  std::printf("%u %.1f %.1f\n", dispatches, 1e9 * record / dispatches, 1e6 * compile);
}
