// Draws the crowd from the buffers that it and heed wrote: nothing passes through the host.
#pragma once

#include "bindings.hpp"
#include "canvas.hpp"
#include "crowd.hpp"

namespace swarm {

class Painter {
 public:
  Painter(const Gpu& gpu, const Bindings& bindings, const Canvas& canvas);
  // Into the canvas' pass. `boxes`: how many of the overlay's are there.
  void draw(VkCommandBuffer commands, const CrowdStep& step, uint32_t boxes, uint32_t slot) const;

 private:
  const Bindings& bindings_;
  Owned<VkPipeline> sky_, dart_, trail_, halo_, orb_, link_, box_;
};

}  // namespace swarm
