// Draws the crowd from the buffers that compute shaders and heed wrote. No data passes through the host.
#pragma once

#include "bindings.hpp"
#include "canvas.hpp"
#include "crowd.hpp"

namespace swarm {

class Painter {
 public:
  Painter(const Gpu& gpu, const Bindings& bindings, const Canvas& canvas);
  // Draws within the canvas' pass. `boxes` is the number of the overlay's boxes.
  void draw(VkCommandBuffer commands, const CrowdStep& step, uint32_t boxes, uint32_t slot) const;

 private:
  const Bindings& bindings_;
  Owned<VkPipeline> sky_, dart_, trail_, halo_, orb_, link_, box_, hunter_, glare_;
};

}  // namespace swarm
