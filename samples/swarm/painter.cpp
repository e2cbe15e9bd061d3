#include "painter.hpp"

#include "spirv.hpp"

namespace swarm {
namespace {

constexpr uint32_t kDartVertices = 18, kQuad = 4;

}  // namespace

Painter::Painter(const Gpu& gpu, const Bindings& bindings, const Canvas& canvas) : bindings_(bindings) {
  const auto make = [&](const DrawInfo& info) {
    return make_graphics(gpu, bindings.layout(), canvas.pass(), Canvas::kSamples, info);
  };
  sky_ = make({.vertex = spirv::kSkyVert,
               .fragment = spirv::kSkyFrag,
               .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
               .blend = Blend::Opaque,
               .depth_test = false});
  dart_ = make({.vertex = spirv::kDartVert,
                .fragment = spirv::kDartFrag,
                .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                .blend = Blend::Opaque});
  hunter_ = make({.vertex = spirv::kHunterVert,
                  .fragment = spirv::kDartFrag,
                  .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                  .blend = Blend::Opaque});
  glare_ = make({.vertex = spirv::kGlareVert, .fragment = spirv::kGlowFrag});
  trail_ = make({.vertex = spirv::kTrailVert, .fragment = spirv::kDartFrag});
  halo_ = make({.vertex = spirv::kHaloVert, .fragment = spirv::kGlowFrag});
  orb_ = make({.vertex = spirv::kOrbVert, .fragment = spirv::kGlowFrag});
  link_ = make({.vertex = spirv::kLinkVert, .fragment = spirv::kDartFrag, .depth_test = false});
  box_ = make({.vertex = spirv::kBoxVert, .fragment = spirv::kBoxFrag, .blend = Blend::Over, .depth_test = false});
}

void Painter::draw(VkCommandBuffer commands, const CrowdStep& step, uint32_t boxes, uint32_t slot) const {
  bindings_.bind(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, slot);
  const auto draw = [&](VkPipeline pipeline, uint32_t vertices, uint32_t instances) {
    if (instances == 0) return;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, vertices, instances, 0, 0);
  };
  draw(sky_, 3, 1);
  draw(dart_, kDartVertices, step.agents);
  const uint32_t hunters = step.flavour == Flavour::Hunt ? step.targets : 0;
  draw(hunter_, kDartVertices, hunters);
  draw(trail_, 2 * SWARM_TRAIL, step.agents);
  draw(halo_, kQuad, step.agents);
  draw(glare_, kQuad, hunters);
  if (step.flavour == Flavour::Cross) draw(orb_, kQuad, step.targets);
  if (step.links) draw(link_, 2 * (SWARM_BEND + 1), SWARM_HEADS * SWARM_LINKS);
  draw(box_, kQuad, boxes);
}

}  // namespace swarm
