#include "kernels/choose/tuning_choice.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/sealed_blob.hpp"

namespace heed {
namespace {

// For each choice a blob has the classes, the length of the variant's name and its characters. The number in the magic increases when the
// meaning of classes changes.
constexpr std::string_view kFamily = "heedtu", kMagic = "heedtu02";

bool read_choice(BlobReader* blob, Tuning::Choice* choice) {
  uint8_t length = 0;
  if (!blob->take(&choice->classes, sizeof choice->classes) || !blob->take(&length, 1)) return false;
  choice->variant.resize(length);
  return blob->take(choice->variant.data(), length);
}

// Whether the blob is undamaged and has another version number.
bool is_other_version(std::span<const std::byte> blob) {
  if (blob.size() < kMagic.size()) return false;
  const std::string_view magic(reinterpret_cast<const char*>(blob.data()), kMagic.size());
  const BlobReader::State state = BlobReader(blob, magic, 0).state();
  return magic.starts_with(kFamily) && (state == BlobReader::State::Usable || state == BlobReader::State::OtherKey);
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
  BlobWriter blob(kMagic, key, tuning.choices.size());
  for (const Tuning::Choice& choice : tuning.choices) {
    const auto length = static_cast<uint8_t>(std::min<size_t>(choice.variant.size(), 255));
    blob.append(&choice.classes, sizeof choice.classes);
    blob.append(&length, 1);
    blob.append(choice.variant.data(), length);
  }
  return blob.seal();
}

Status read_tuning(std::span<const std::byte> blob, uint64_t key, Tuning* tuning, std::string* why) {
  const auto refuse = [&](Status status, const char* reason) {
    *why = reason;
    return status;
  };
  const auto damaged = [&] { return refuse(Status::InvalidFile, "it is damaged"); };
  BlobReader reader(blob, kMagic, key);
  switch (reader.state()) {
    case BlobReader::State::NotOne:
      if (is_other_version(blob)) return refuse(Status::Unsupported, "it comes from another version of heed");
      return refuse(Status::InvalidFile, "it is no tuning of heed's");
    case BlobReader::State::Damaged: return damaged();
    case BlobReader::State::OtherKey:
      return refuse(Status::Unsupported, "it comes from another device, driver or version of heed");
    case BlobReader::State::Usable: break;
  }
  Tuning found;
  for (uint64_t i = 0; i < reader.count(); ++i)
    if (!read_choice(&reader, &found.choices.emplace_back())) return damaged();
  if (!reader.at_end()) return damaged();
  *tuning = std::move(found);
  return Status::Ok;
}

}  // namespace heed
