// A Vulkan loader whose driver has priorities of queues, or refuses them: the module heed_priorities, for DeviceOptions::vulkan_loader.
#pragma once

#include <vulkan/vulkan_core.h>

extern "C" {
// Devices show only this extension for priorities (null: none), and vkCreateDevice returns `result` for a queue with a priority.
void heed_pretend_priorities(const char* extension, VkResult result);
// The priority of the queue of the last device that was created, or 0 if it had none; UINT32_MAX if the extension was enabled without it, or
// the other way round.
uint32_t heed_seen_priority();
}
