// Runs in a window: reads keys and mouse, and draws a frame for every displayed picture.
#include <GLFW/glfw3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "picture.hpp"
#include "show.hpp"
#include "window.hpp"

namespace swarm {
namespace {

// The player's input since the last frame, from keys and mouse.
struct Controls {
  Show* show = nullptr;
  OverlayKind overlay = OverlayKind::Full;
  bool picture = false;
  bool dragging = false;
  double last_x = 0, last_y = 0;
};

Controls& controls_of(GLFWwindow* window) { return *static_cast<Controls*>(glfwGetWindowUserPointer(window)); }

void on_key(GLFWwindow* window, int key, int, int action, int) {
  if (action == GLFW_RELEASE) return;
  Controls& controls = controls_of(window);
  Show& show = *controls.show;
  if (key >= GLFW_KEY_1 && key < GLFW_KEY_1 + SWARM_HEADS) {
    bool& on = show.heads[static_cast<size_t>(key - GLFW_KEY_1)];
    on = !on;
  }
  switch (key) {
    case GLFW_KEY_RIGHT: return show.next_flavour(1);
    case GLFW_KEY_LEFT: return show.next_flavour(-1);
    case GLFW_KEY_UP: return show.set_agents(show.agents * 2);
    case GLFW_KEY_DOWN: return show.set_agents(show.agents / 2);
    case GLFW_KEY_SPACE: show.paused = !show.paused; return;
    case GLFW_KEY_R: return show.restart();
    case GLFW_KEY_L: show.links = !show.links; return;
    case GLFW_KEY_P: controls.picture = true; return;
    case GLFW_KEY_H:
      controls.overlay = controls.overlay == OverlayKind::Full ? OverlayKind::None : OverlayKind::Full;
      return;
    case GLFW_KEY_ESCAPE: glfwSetWindowShouldClose(window, GLFW_TRUE); return;
    default: return;
  }
}

void on_move(GLFWwindow* window, double x, double y) {
  Controls& controls = controls_of(window);
  int width = 1, height = 1;
  glfwGetWindowSize(window, &width, &height);
  controls.show->pointer = glm::vec2(2 * x / std::max(width, 1) - 1, 2 * y / std::max(height, 1) - 1);
  if (controls.dragging) {
    controls.show->turn -= static_cast<float>(x - controls.last_x) * 0.006f;
    controls.show->tilt =
        std::clamp(controls.show->tilt + static_cast<float>(y - controls.last_y) * 0.006f, -1.4f, 1.4f);
  }
  controls.last_x = x;
  controls.last_y = y;
}

void on_button(GLFWwindow* window, int button, int action, int) {
  Controls& controls = controls_of(window);
  if (button == GLFW_MOUSE_BUTTON_LEFT) controls.show->pick = action == GLFW_PRESS;
  if (button == GLFW_MOUSE_BUTTON_RIGHT) controls.show->cursor_on = action == GLFW_PRESS;
  if (button == GLFW_MOUSE_BUTTON_MIDDLE) controls.dragging = action == GLFW_PRESS;
}

void on_wheel(GLFWwindow* window, double, double y) {
  float& distance = controls_of(window).show->distance;
  distance = std::clamp(distance * (y > 0 ? 0.93f : 1.07f), 1.2f, 9.0f);
}

void listen(GLFWwindow* window, Controls* controls) {
  glfwSetWindowUserPointer(window, controls);
  glfwSetKeyCallback(window, on_key);
  glfwSetCursorPosCallback(window, on_move);
  glfwSetMouseButtonCallback(window, on_button);
  glfwSetScrollCallback(window, on_wheel);
}

void report(const Show& show, uint32_t frames) {
  std::string heads;
  for (size_t h = 0; h < SWARM_HEADS; ++h)
    if (show.heads[h]) heads += static_cast<char>('1' + h);
  std::printf("window: %u frames, flavour %s, heads %s, %u agents, %s\n", frames, rules_of(show.flavour).name,
              heads.c_str(), show.agents, show.paused ? "paused" : "moving");
}

}  // namespace

uint32_t run_window(const Options& options) {
  const Display display(options.size);
  const Gpu gpu({.device = options.device,
                 .validate = options.validate,
                 .instance_extensions = display.instance_extensions(),
                 .make_surface = [&](VkInstance instance) { return display.make_surface(instance); }});
  Swapchain swapchain(gpu, display);
  Renderer renderer(gpu, swapchain.canvas(), options.attention_ms, options.learn);
  float scale = 1;
  glfwGetWindowContentScale(display.handle(), &scale, nullptr);
  const Font font(gpu, std::clamp(scale, 1.0f, 3.0f));
  renderer.bindings().set_font(font.view());

  Show show(options, gpu);
  show.pick = true;  // any agent, until the player chooses one
  Controls controls = {.show = &show, .overlay = options.overlay};
  listen(display.handle(), &controls);

  OverlayState state = {.budget_ms = options.budget_ms,
                        .attention_ms = options.attention_ms,
                        .learning_ms = options.learn.budget_ms,
                        .device = gpu.properties.deviceName};
  std::vector<Box> boxes;
  Survival survival;
  auto before = std::chrono::steady_clock::now();
  uint32_t frames = 0;
  while (glfwWindowShouldClose(display.handle()) == GLFW_FALSE && (options.frames == 0 || frames < options.frames)) {
    glfwPollEvents();
    renderer.next_slot();
    Swapchain::Next next;
    if (!swapchain.next(&next)) {
      glfwWaitEventsTimeout(0.02);
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - before).count();
    before = now;
    state.shown_ms = state.shown_ms < 0 ? seconds * 1e3 : 0.92 * state.shown_ms + 0.08 * seconds * 1e3;
    show.advance(static_cast<float>(seconds));
    state.kind = controls.overlay;
    show.describe(&state);
    state.times = renderer.times();
    describe_hunt(renderer, &survival, &state);
    const VkExtent2D size = swapchain.canvas().size();
    build_overlay(font, state, size, &boxes);
    renderer.render({.frame = show.frame(size),
                     .step = show.take_step(),
                     .boxes = boxes,
                     .image = next.index,
                     .wait = next.ready,
                     .signal = next.drawn});
    ++frames;
    const bool last = frames == options.frames && !options.png.empty();
    if ((last || controls.picture) && swapchain.can_copy())
      save_picture(gpu,
                   {.image = swapchain.image(next.index),
                    .size = size,
                    .layout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                    .bgra = swapchain.bgra()},
                   options.png.empty() ? "swarm.png" : options.png);
    controls.picture = false;
    swapchain.show(next);
    if (frames == 1) show.pick = false;
  }
  check(vkDeviceWaitIdle(gpu.device), "vkDeviceWaitIdle");
  finish_hunt(options, renderer, &survival);
  if (options.report) report(show, frames);
  return gpu.complaints();
}

}  // namespace swarm
