// Counts what accesses cost the memory of a GPU; see Traffic.
#include <algorithm>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {
namespace {

constexpr uint64_t kBanks = 32, kWord = 4, kSector = 32;

}  // namespace

// As many invocations go at a time as all banks have bytes for. Each bank gives one word at a time.
void Workgroup::count_turns(std::span<const uint64_t> addresses, uint32_t bytes) {
  const size_t at_a_time = std::max<size_t>(1, kBanks * kWord / std::max<uint32_t>(bytes, kWord));
  for (size_t begin = 0; begin < addresses.size(); begin += at_a_time) {
    std::vector<uint64_t> words;
    for (const uint64_t address : addresses.subspan(begin, std::min(at_a_time, addresses.size() - begin)))
      for (uint64_t word = address / kWord; word * kWord < address + bytes; ++word) words.push_back(word);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    uint64_t of_bank[kBanks] = {};
    for (const uint64_t word : words) ++of_bank[word % kBanks];
    report_->traffic->shared_turns += *std::max_element(of_bank, of_bank + kBanks);
    report_->traffic->fewest_turns += (words.size() + kBanks - 1) / kBanks;
  }
}

void Workgroup::count(const Place& place, const uint32_t* offsets, uint32_t bytes, const Lanes& at) {
  if (report_->traffic == nullptr || place.memory == nullptr) return;
  for (size_t k = 0; k < at.list.size();) {
    std::vector<uint64_t> addresses;
    const uint32_t subgroup = at.list[k] / module_.subgroup();
    for (; k < at.list.size() && at.list[k] / module_.subgroup() == subgroup; ++k)
      addresses.push_back(place.offset + offsets[at.list[k]]);
    if (place.shared) {
      count_turns(addresses, bytes);
      continue;
    }
    std::vector<uint64_t> words, sectors;
    for (const uint64_t address : addresses)
      for (uint64_t word = address / kWord; word * kWord < address + bytes; ++word) words.push_back(word);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (const uint64_t word : words)
      if (sectors.empty() || sectors.back() != word * kWord / kSector) sectors.push_back(word * kWord / kSector);
    report_->traffic->sectors += sectors.size();
    report_->traffic->fewest_sectors += (words.size() * kWord + kSector - 1) / kSector;
  }
}

// Matrix units take eight lines of 16 bytes at a time.
void Workgroup::count_matrix(const Place& place, uint32_t base, uint32_t stride, uint32_t lines, uint32_t bytes) {
  if (report_->traffic == nullptr || !place.shared) return;
  for (uint32_t first = 0; first < lines; first += 8)
    for (uint32_t part = 0; part < bytes; part += 16) {
      std::vector<uint64_t> addresses;
      for (uint32_t line = first; line < std::min(lines, first + 8); ++line)
        addresses.push_back(place.offset + base + uint64_t{line} * stride + part);
      count_turns(addresses, std::min(16u, bytes - part));
    }
}

}  // namespace heed::interpreter
