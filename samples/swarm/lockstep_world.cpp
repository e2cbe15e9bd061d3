#include "lockstep_world.hpp"

#include <cstdlib>

#include "../fingerprint.hpp"
#include "vulkan.hpp"

namespace swarm {
namespace {

constexpr int64_t kAgents = 128, kNumbers = 4;  // position and velocity in the plane

void require(heed::Status status, const std::string& what, const std::string& said) {
  if (status != heed::Status::Ok) throw Failure(what + ": " + (said.empty() ? heed::to_string(status) : said));
}

// Agents align with those of their direction, turn towards them, and obey their team's keys. tanh keeps them in the world.
heed::Graph world() {
  heed::Graph g;
  const heed::Tensor agents = g.state("agents", {1, 1, kAgents, kNumbers});
  const heed::Tensor push = g.input("push", {kAgents, 2});
  const heed::Tensor place = g.slice(agents, 3, 0, 2), velocity = g.slice(agents, 3, 2, 2);
  const heed::Tensor seen = g.attention(place, place, agents, {.scale = 6.0f}).output;
  const auto towards = [&](int64_t first, heed::Tensor own, float share) {
    return g.scale(g.add(g.slice(seen, 3, first, 2), g.scale(own, -1.0f)), share);
  };
  const heed::Tensor force = g.add(g.add(towards(0, place, 0.03f), towards(2, velocity, 0.2f)), push);
  const heed::Tensor faster = g.activation(g.add(velocity, force), heed::Activation::Tanh);
  const heed::Tensor moved = g.scale(g.activation(g.add(place, g.scale(faster, 0.1f)), heed::Activation::Tanh), 1.05f);
  const heed::Tensor next = g.concat({moved, faster}, 3);
  g.output("next", g.assign(agents, next));
  return g;
}

std::vector<float> first_agents() {
  std::vector<float> agents;
  uint32_t state = 2024;
  for (int64_t i = 0; i < kAgents * kNumbers; ++i) {
    state = state * 1664525u + 1013904223u;
    agents.push_back(static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
  }
  return agents;
}

}  // namespace

LockstepWorld::LockstepWorld(const std::string& device) : agents_(first_agents()), pushes_(kAgents * 2) {
  std::string said;
  const auto keep = [](void* user, heed::LogLevel, const char* message) {
    auto* first = static_cast<std::string*>(user);
    if (first->empty()) *first = message;
  };
  heed::DeviceOptions options;
  if (const char* loader = std::getenv("HEED_VULKAN_LOADER"); loader != nullptr) options.vulkan_loader = loader;
  options.log = {keep, &said, heed::LogLevel::Error};
  heed::Status status = heed::Status::NotFound;
  const auto open = [&](const std::string& select) {
    said.clear();
    options.select = select;
    word_ = "--device " + select;
    status = heed::Device::open(options, &device_);
    if (status != heed::Status::Ok) return;
    word_ = device_.info().word;
    status = device_.compile(world(), {}, &plan_, {.reproducible = true});
  };
  // By default a Vulkan device that supports reproducible plans, if there is one; software drivers count, as in the other modes.
  open(device.empty() ? "vulkan" : device);
  if (device.empty() && status != heed::Status::Ok) open("cpu");
  require(status, word_, said);
  status = plan_.make_state(&state_);
  if (status == heed::Status::Ok) status = state_.write("agents", std::as_bytes(std::span(agents_)));
  require(status, word_, said);
}

void LockstepWorld::step(const PressedKeys& pressed) {
  constexpr float kPush = 0.02f;
  for (int64_t i = 0; i < kAgents; ++i) {
    const Keys keys = pressed[static_cast<size_t>(i % 2)];
    const auto along = [&](int less, int more) {
      return static_cast<float>((keys >> more & 1) - (keys >> less & 1)) * kPush;
    };
    pushes_[static_cast<size_t>(2 * i)] = along(0, 1);
    pushes_[static_cast<size_t>(2 * i + 1)] = along(3, 2);
  }
  const heed::Status status = plan_.run({{"push", pushes_}, {"next", agents_}}, {}, {.state = state_});
  require(status, word_, "");
}

uint64_t LockstepWorld::hash() const { return samples::fingerprint(std::as_bytes(std::span(agents_))); }

}  // namespace swarm
