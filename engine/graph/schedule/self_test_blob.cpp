#include "graph/schedule/self_test_blob.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/sealed_blob.hpp"

namespace heed {
namespace {

// An entry is a kernel: the verdict, the length of the name, and the name.
constexpr std::string_view kMagic = "heedst01";

}  // namespace

const char* to_string(SelfTestVerdict verdict) {
  switch (verdict) {
    case SelfTestVerdict::Passed: return "passed";
    case SelfTestVerdict::Wrong: return "wrong";
    case SelfTestVerdict::Failed: return "failed";
    case SelfTestVerdict::TimedOut: return "timed out";
    case SelfTestVerdict::Unused: return "unused";
  }
  return "unknown";
}

bool SelfTestReport::passed() const {
  return std::none_of(kernels.begin(), kernels.end(), [](const KernelTest& test) { return is_bad(test.verdict); });
}

std::vector<std::byte> write_self_test(uint64_t key, std::span<const KernelTest> kernels) {
  BlobWriter blob(kMagic, key, kernels.size());
  for (const KernelTest& test : kernels) {
    const uint8_t head[2] = {static_cast<uint8_t>(test.verdict),
                             static_cast<uint8_t>(std::min<size_t>(test.kernel.size(), 255))};
    blob.append(head, sizeof head);
    blob.append(test.kernel.data(), head[1]);
  }
  return blob.seal();
}

std::string read_self_test(std::span<const std::byte> blob, uint64_t key, std::vector<std::string>* failed) {
  failed->clear();
  BlobReader reader(blob, kMagic, key);
  switch (reader.state()) {
    case BlobReader::State::NotOne: return "they are no results of a heed self-test";
    case BlobReader::State::Damaged: return "they are damaged";
    case BlobReader::State::OtherKey: return "they come from another device, driver or version of heed";
    case BlobReader::State::Usable: break;
  }
  std::vector<std::string> names;
  for (uint64_t i = 0; i < reader.count(); ++i) {
    uint8_t head[2];
    if (!reader.take(head, sizeof head)) return "they are damaged";
    std::string name(head[1], '\0');
    if (!reader.take(name.data(), name.size())) return "they are damaged";
    if (is_bad(static_cast<SelfTestVerdict>(head[0]))) names.push_back(std::move(name));
  }
  if (!reader.at_end()) return "they are damaged";
  *failed = std::move(names);
  return "";
}

}  // namespace heed
