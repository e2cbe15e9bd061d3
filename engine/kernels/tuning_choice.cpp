#include "kernels/tuning_choice.hpp"

#include <algorithm>
#include <cstring>

#include "base/fnv.hpp"

namespace heed {
namespace {

constexpr char kMagic[8] = {'h', 'e', 'e', 'd', 't', 'u', '0', '1'};

// Then `count` times the classes, the length of a name and that many characters; then the FNV-1a of all before.
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

// Takes bytes off the front; false if there are too few.
bool take(std::span<const std::byte>* data, void* target, size_t bytes) {
  if (data->size() < bytes) return false;
  if (bytes != 0) std::memcpy(target, data->data(), bytes);
  *data = data->subspan(bytes);
  return true;
}

bool read_choice(std::span<const std::byte>* data, Tuning::Choice* choice) {
  uint8_t length = 0;
  if (!take(data, &choice->classes, sizeof choice->classes) || !take(data, &length, 1)) return false;
  choice->variant.resize(length);
  return take(data, choice->variant.data(), length);
}

}  // namespace

size_t fastest_of(std::span<const Measurement> measurements) {
  size_t best = 0;
  for (size_t i = 1; i < measurements.size(); ++i)
    if (measurements[i].ms < measurements[best].ms) best = i;
  return best != 0 && measurements[best].ms <= kClearlyFaster * measurements[0].ms ? best : 0;
}

void choose(Tuning* tuning, const std::string& variant, uint32_t size_class) {
  const auto same = [&](const Tuning::Choice& choice) { return choice.variant == variant; };
  auto choice = std::find_if(tuning->choices.begin(), tuning->choices.end(), same);
  if (choice == tuning->choices.end()) choice = tuning->choices.insert(choice, {variant, 0});
  choice->classes |= uint64_t{1} << size_class;
}

std::vector<std::byte> write_tuning(uint64_t key, const Tuning& tuning) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.count = tuning.choices.size();
  std::vector<std::byte> blob;
  append(&blob, &header, sizeof header);
  for (const Tuning::Choice& choice : tuning.choices) {
    const auto length = static_cast<uint8_t>(std::min<size_t>(choice.variant.size(), 255));
    append(&blob, &choice.classes, sizeof choice.classes);
    append(&blob, &length, 1);
    append(&blob, choice.variant.data(), length);
  }
  const uint64_t checksum = fnv1a(blob);
  append(&blob, &checksum, sizeof checksum);
  return blob;
}

Status read_tuning(std::span<const std::byte> blob, uint64_t key, Tuning* tuning, std::string* why) {
  Header header = {};
  uint64_t checksum = 0;
  const auto refuse = [&](Status status, const char* reason) {
    *why = reason;
    return status;
  };
  if (blob.size() < sizeof header + sizeof checksum || std::memcmp(blob.data(), kMagic, sizeof kMagic) != 0)
    return refuse(Status::InvalidFile, "it is no tuning of heed's");
  std::span<const std::byte> data = blob.first(blob.size() - sizeof checksum);
  std::memcpy(&checksum, blob.data() + data.size(), sizeof checksum);
  if (checksum != fnv1a(data)) return refuse(Status::InvalidFile, "it is damaged");
  (void)take(&data, &header, sizeof header);
  if (header.key != key)
    return refuse(Status::Unsupported, "it comes from another device, driver or version of heed");
  Tuning found;
  for (uint64_t i = 0; i < header.count; ++i)
    if (!read_choice(&data, &found.choices.emplace_back()))
      return refuse(Status::InvalidFile, "it is damaged");
  if (!data.empty()) return refuse(Status::InvalidFile, "it is damaged");
  *tuning = std::move(found);
  return Status::Ok;
}

}  // namespace heed
