// Makes a RenderDoc capture when started under RenderDoc. renderdoc.sh reads the capture.

#include "vulkan/host_plan.hpp"

#if !defined(_WIN32)
#include <dlfcn.h>

using namespace heed;
using namespace heed::test;

namespace {

// The used part of RenderDoc's function table, version 1.1.2, by position.
struct RenderDoc {
  void* functions[32];
  void set_path(const char* path) const { reinterpret_cast<void (*)(const char*)>(functions[11])(path); }
  uint32_t captures() const { return reinterpret_cast<uint32_t (*)()>(functions[13])(); }
  void start() const { reinterpret_cast<void (*)(void*, void*)>(functions[19])(nullptr, nullptr); }
  uint32_t end() const { return reinterpret_cast<uint32_t (*)(void*, void*)>(functions[21])(nullptr, nullptr); }
};

}  // namespace

TEST_CASE("renderdoc: a run of a small graph is captured", "[.renderdoc]") {
  const char* path = std::getenv("HEED_CAPTURE");
  REQUIRE(path != nullptr);
  Device device = open_device({.select = "0", .log = stderr_log(), .self_test = false});
  REQUIRE(device.info().kind != DeviceKind::Cpu);
  // RenderDoc's layer has loaded the library already.
  void* library = dlopen("librenderdoc.so", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  const auto get = reinterpret_cast<int (*)(int, RenderDoc**)>(dlsym(library, "RENDERDOC_GetAPI"));
  RenderDoc* renderdoc = nullptr;
  REQUIRE(get != nullptr);
  REQUIRE(get(10102, &renderdoc) == 1);
  renderdoc->set_path(path);

  Graph g;
  g.push_label("encoder.0");
  g.output("y", g.layernorm(g.softmax(g.input("x", {4, 64})), {}, {}, 1e-5f));
  Plan plan = compiled(device, g);
  const std::vector<float> x = pattern(4 * 64, 1);
  std::vector<float> y(x.size());
  renderdoc->start();
  REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
  REQUIRE(renderdoc->end() == 1);
  CHECK(renderdoc->captures() == 1);
}
#endif
