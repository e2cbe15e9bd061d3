#include "vulkan/pipelines/cache_blob.hpp"

#include <cstring>

#include "base/fnv.hpp"

namespace heed::vulkan {
namespace {

constexpr char kMagic[8] = {'h', 'e', 'e', 'd', 'p', 'c', '0', '1'};

struct Header {
  char magic[8];
  uint64_t bytes;     // size of the driver's data
  uint64_t checksum;  // FNV-1a of it: finds damage, not malice
};

}  // namespace

std::vector<std::byte> wrap_cache_blob(std::span<const std::byte> driver_data) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = driver_data.size();
  header.checksum = fnv1a(driver_data);
  std::vector<std::byte> blob(sizeof header + driver_data.size());
  std::memcpy(blob.data(), &header, sizeof header);
  if (!driver_data.empty()) std::memcpy(blob.data() + sizeof header, driver_data.data(), driver_data.size());
  return blob;
}

std::span<const std::byte> open_cache_blob(std::span<const std::byte> blob,
                                           const VkPhysicalDeviceProperties& properties, const char** why) {
  Header header = {};
  VkPipelineCacheHeaderVersionOne driver = {};
  *why = "it is not a heed pipeline cache";
  if (blob.size() < sizeof header) return {};
  std::memcpy(&header, blob.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return {};
  const std::span<const std::byte> data = blob.subspan(sizeof header);
  *why = "it is damaged";
  if (header.bytes != data.size() || header.checksum != fnv1a(data) || data.size() < sizeof driver) return {};
  std::memcpy(&driver, data.data(), sizeof driver);
  if (driver.headerSize < sizeof driver || driver.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE) return {};
  *why = "it comes from another device or driver version";
  if (driver.vendorID != properties.vendorID || driver.deviceID != properties.deviceID ||
      std::memcmp(driver.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE) != 0)
    return {};
  *why = "";
  return data;
}

}  // namespace heed::vulkan
