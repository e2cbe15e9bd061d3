#include "show.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <glm/gtc/matrix_transform.hpp>

namespace swarm {
namespace {

bool is_software(const Gpu& gpu) {
  return gpu.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
         gpu.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_OTHER;
}

constexpr float kLongestStep = 1.0f / 30;

}  // namespace

Show::Show(const Options& options, const Gpu& gpu)
    : flavour(options.flavour), heads(options.heads), links(options.links) {
  agents = options.agents != 0 ? options.agents : is_software(gpu) ? 512 : 4096;
  targets = options.targets != 0 ? options.targets : is_software(gpu) ? 48 : 256;
  if (options.learn.on) {
    flavour = Flavour::Hunt;
    agents = options.agents != 0 ? options.agents : is_software(gpu) ? 384 : 768;
    targets = options.hunters;
    seed_ = options.learn.seed;
    links = false;
  }
  for (size_t h = 0; h < SWARM_HEADS; ++h) fade_[h] = heads[h] ? 1.0f : 0.0f;
}

void Show::next_flavour(int by) {
  if (flavour == Flavour::Hunt) return;
  constexpr int kCount = static_cast<int>(std::size(kFlavours));
  flavour = kFlavours[(static_cast<int>(flavour) + by + kCount) % kCount];
}

void Show::set_agents(uint32_t count) {
  agents = std::clamp(count, 32u, static_cast<uint32_t>(kMaxAgents));
  spawned_ = std::min(spawned_, agents);
}

void Show::advance(float seconds) {
  step_seconds_ = paused ? 0.0f : std::min(seconds, kLongestStep);
  if (paused) return;
  time_ += step_seconds_;
  ++steps_;
  turn += 0.07f * step_seconds_;
  for (size_t h = 0; h < SWARM_HEADS; ++h)
    fade_[h] = std::clamp(fade_[h] + (heads[h] ? 3.0f : -3.0f) * step_seconds_, 0.0f, 1.0f);
}

glm::vec3 Show::eye() const {
  return distance * glm::vec3(std::cos(tilt) * std::sin(turn), std::sin(tilt), std::cos(tilt) * std::cos(turn));
}

Frame Show::frame(VkExtent2D size) const {
  const Rules& rules = rules_of(flavour);
  const float aspect = static_cast<float>(size.width) / static_cast<float>(size.height);
  const glm::vec3 from = eye();
  const glm::mat4 view = glm::lookAt(from, glm::vec3(0), glm::vec3(0, 1, 0));
  constexpr float kFieldOfView = 0.80f;
  glm::mat4 projection = glm::perspective(kFieldOfView, aspect, 0.1f, 20.0f);
  projection[1][1] *= -1;  // y points down on a Vulkan screen
  const glm::vec3 right(view[0][0], view[1][0], view[2][0]), up(view[0][1], view[1][1], view[2][1]);
  const float reach = distance * std::tan(kFieldOfView / 2);
  const glm::vec3 cursor = (pointer.x * aspect * right - pointer.y * up) * reach;

  Frame frame{};
  frame.view_projection = projection * view;
  frame.eye = vec4(from, time_);
  frame.right = vec4(right, aspect);
  frame.up = vec4(up, std::clamp(0.24f / std::cbrt(static_cast<float>(agents)), 0.010f, 0.05f));
  frame.cursor = vec4(cursor, cursor_on ? 1.0f : 0.0f);
  frame.pointer = vec4(pointer, pick ? 1.0f : 0.0f, links ? 1.0f : 0.0f);
  frame.motion = vec4(step_seconds_, rules.slowest, rules.fastest, rules.drag);
  frame.home = vec4(rules.radius, rules.wander, rules.swirl, rules.leaders);
  frame.counts = uvec4(agents, targets, static_cast<uint32_t>(flavour), steps_);
  frame.hunt = uvec4(seed_, 0, 0, 0);
  frame.screen = vec4(size.width, size.height, 0, 0);
  for (size_t h = 0; h < SWARM_HEADS; ++h) {
    const Motive& motive = rules.heads[h];
    // A head that attends to the cursor is off while the cursor is.
    const float on = motive.cursor > 0 && !cursor_on ? 0.0f : fade_[h];
    frame.motives[h] = vec4(motive.pull * on, motive.align * on, motive.swirl * on, on > 0 ? 1.0f : 0.0f);
    frame.colors[h] = vec4(glm::vec3(kHeadColors[h]), motive.color_weight);
  }
  return frame;
}

void Show::describe(OverlayState* state) const {
  state->flavour = flavour;
  state->heads = heads;
  state->agents = agents;
  state->targets = targets;
  state->paused = paused;
}

CrowdStep Show::take_step() {
  CrowdStep step = {
      .flavour = flavour, .agents = agents, .targets = targets, .move = !paused, .links = links, .forget = forget_};
  forget_ = false;
  if (spawned_ < agents) step.spawn_from = spawned_;
  spawned_ = std::max(spawned_, agents);
  return step;
}

void describe_hunt(const Renderer& renderer, Survival* survival, OverlayState* state) {
  const Hunt* hunt = renderer.crowd().hunt();
  if (hunt == nullptr) return;
  survival->add(renderer.counts());
  state->survival = survival;
  state->steps = hunt->learner().steps();
}

void finish_hunt(const Options& options, Renderer& renderer, Survival* survival) {
  const Hunt* hunt = renderer.crowd().hunt();
  if (hunt == nullptr) return;
  for (uint32_t i = 0; i < kSlots; ++i) {
    renderer.next_slot();
    survival->add(renderer.counts());
  }
  if (!options.learned.empty()) hunt->learner().save(options.learned);
  const Survival::Bin first = survival->part(0, 0.25), last = survival->part(0.75, 1);
  const Learner& learner = hunt->learner();
  std::printf(
      "survival: first quarter %.1f %% of %u chased, last quarter %.1f %% of %u; %u steps in %u parts for %lld "
      "weights, %u tries\n",
      100 * first.share(), first.chases(), 100 * last.share(), last.chases(), learner.steps(), learner.parts(),
      static_cast<long long>(learner.weights()), survival->last().tries);
}

}  // namespace swarm
