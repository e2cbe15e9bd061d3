// Runs without a window: the requested number of frames, each of 1/60 s, then a picture.
#include <cstdio>

#include "measure.hpp"
#include "picture.hpp"
#include "show.hpp"

namespace swarm {
namespace {

constexpr float kStep = 1.0f / 60;

void print_report(const char* when, const Measures& m) {
  std::printf("%s: spread %.4f nearest %.4f order %.4f distance %.4f%s\n", when, m.spread, m.nearest, m.order,
              m.distance, m.finite ? "" : " NOT FINITE");
}

}  // namespace

uint32_t run_headless(const Options& options) {
  const Gpu gpu({.device = options.device, .validate = options.validate});
  constexpr VkFormat kFormat = VK_FORMAT_R8G8B8A8_SRGB;
  Canvas canvas(gpu, kFormat, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
  const Image image = make_image(gpu, {.size = options.size,
                                       .format = kFormat,
                                       .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT});
  const VkImageView views[] = {image.view};
  canvas.resize(options.size, views);
  Renderer renderer(gpu, canvas, options.attention_ms, options.learn);
  const Font font(gpu, static_cast<float>(options.size.height) / 720);
  renderer.bindings().set_font(font.view());

  Show show(options, gpu);
  show.pick = true;  // the agent nearest to the middle
  OverlayState state = {.kind = options.overlay,
                        .budget_ms = options.budget_ms,
                        .attention_ms = options.attention_ms,
                        .learning_ms = options.learn.budget_ms,
                        .device = gpu.properties.deviceName};
  std::vector<Box> boxes;
  Survival survival;
  const uint32_t frames = options.frames != 0 ? options.frames : 240;
  for (uint32_t i = 0; i < frames; ++i) {
    renderer.next_slot();
    show.advance(kStep);
    show.describe(&state);
    state.times = renderer.times();
    describe_hunt(renderer, &survival, &state);
    // Learning takes a thousand frames, of which a software driver would spend most on drawing.
    const bool draw = !options.learn.on || i < kSlots || i + 1 == frames;
    if (draw) build_overlay(font, state, options.size, &boxes);
    renderer.render({.frame = show.frame(options.size), .step = show.take_step(), .boxes = boxes, .draw = draw});
    if (options.report && i == 0)
      print_report("first",
                   measure(gpu, renderer.bindings(), show.agents, show.flavour == Flavour::Cross ? show.targets : 1));
  }
  check(vkDeviceWaitIdle(gpu.device), "vkDeviceWaitIdle");
  finish_hunt(options, renderer, &survival);
  if (options.report) {
    print_report("last",
                 measure(gpu, renderer.bindings(), show.agents, show.flavour == Flavour::Cross ? show.targets : 1));
    renderer.next_slot();
    std::printf("times: frame %.3f ms attention %.3f ms on %s, %u agents, %u targets\n", renderer.times().frame,
                renderer.times().attention, gpu.properties.deviceName, show.agents, show.targets);
    if (options.learn.on) std::printf("learning: %.3f ms\n", renderer.times().learning);
    if (const Spread* spread = renderer.crowd().spread())
      std::printf("spread: parts %u finished %u\n", spread->parts(), spread->finished());
  }
  if (!options.png.empty()) save_picture(gpu, {.image = image.handle, .size = options.size}, options.png);
  return gpu.complaints();
}

}  // namespace swarm
