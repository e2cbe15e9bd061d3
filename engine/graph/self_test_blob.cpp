#include "graph/self_test_blob.hpp"

#include <algorithm>
#include <cstring>

#include "base/fnv.hpp"

namespace heed {
namespace {

constexpr char kMagic[8] = {'h', 'e', 'e', 'd', 's', 't', '0', '1'};

// Then `count` times a verdict, a length and that many characters; then the FNV-1a of all before.
struct Header {
  char magic[8];
  uint64_t key;
  uint64_t count;
};

void append(std::vector<std::byte>* blob, const void* data, size_t bytes) {
  const size_t at = blob->size();
  blob->resize(at + bytes);
  if (bytes != 0) std::memcpy(blob->data() + at, data, bytes);
}

}  // namespace

const char* to_string(SelfTestVerdict verdict) {
  switch (verdict) {
    case SelfTestVerdict::Passed:
      return "passed";
    case SelfTestVerdict::Wrong:
      return "wrong";
    case SelfTestVerdict::Failed:
      return "failed";
    case SelfTestVerdict::TimedOut:
      return "timed out";
    case SelfTestVerdict::Unused:
      return "unused";
  }
  return "unknown";
}

bool SelfTestReport::passed() const {
  return std::none_of(kernels.begin(), kernels.end(),
                      [](const KernelTest& test) { return is_bad(test.verdict); });
}

std::vector<std::byte> write_self_test(uint64_t key, std::span<const KernelTest> kernels) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.count = kernels.size();
  std::vector<std::byte> blob;
  append(&blob, &header, sizeof header);
  for (const KernelTest& test : kernels) {
    const uint8_t head[2] = {static_cast<uint8_t>(test.verdict),
                             static_cast<uint8_t>(std::min<size_t>(test.kernel.size(), 255))};
    append(&blob, head, sizeof head);
    append(&blob, test.kernel.data(), head[1]);
  }
  const uint64_t checksum = fnv1a(blob);
  append(&blob, &checksum, sizeof checksum);
  return blob;
}

std::string read_self_test(std::span<const std::byte> blob, uint64_t key, std::vector<std::string>* failed) {
  failed->clear();
  Header header = {};
  uint64_t checksum = 0;
  if (blob.size() < sizeof header + sizeof checksum) return "they are no results of a heed self-test";
  std::memcpy(&header, blob.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "they are no results of a heed self-test";
  const std::span<const std::byte> data = blob.first(blob.size() - sizeof checksum);
  std::memcpy(&checksum, blob.data() + data.size(), sizeof checksum);
  if (checksum != fnv1a(data)) return "they are damaged";
  if (header.key != key) return "they come from another device, driver or version of heed";
  std::vector<std::string> names;
  size_t at = sizeof header;
  for (uint64_t i = 0; i < header.count; ++i) {
    if (data.size() - at < 2) return "they are damaged";
    const auto verdict = static_cast<SelfTestVerdict>(data[at]);
    const auto length = static_cast<size_t>(data[at + 1]);
    at += 2;
    if (data.size() - at < length) return "they are damaged";
    if (is_bad(verdict)) names.emplace_back(reinterpret_cast<const char*>(data.data() + at), length);
    at += length;
  }
  if (at != data.size()) return "they are damaged";
  *failed = std::move(names);
  return "";
}

}  // namespace heed
