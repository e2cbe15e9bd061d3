// Saved States: a blob with the name, type and shape of each tensor, then the bytes of all, and a checksum.
#include "base/arith.hpp"
#include "base/logging.hpp"
#include "base/sealed_blob.hpp"
#include "graph/schedule/state.hpp"

namespace heed::detail {
namespace {

constexpr std::string_view kStateMagic = "heedstat";
constexpr uint64_t kStateFormat = 1;

std::vector<StateRange> all_ranges(const StateLayout& layout) {
  std::vector<StateRange> ranges;
  for (const StateTensor& tensor : layout.tensors) ranges.push_back({tensor.offset, tensor.bytes});
  return ranges;
}

// Returns false if the blob is too short, or describes a tensor that no State can have.
bool take_tensor(BlobReader* reader, StateTensor* tensor) {
  uint32_t length = 0, dtype = 0, rank = 0;
  if (!reader->take(&length, sizeof length) || length > reader->rest().size()) return false;
  tensor->name.resize(length);
  if (!reader->take(tensor->name.data(), length) || !reader->take(&dtype, sizeof dtype) ||
      !reader->take(&rank, sizeof rank) || dtype > static_cast<uint32_t>(DType::U8) || rank > kMaxRank)
    return false;
  tensor->dtype = static_cast<DType>(dtype);
  tensor->shape.resize(rank);
  return reader->take(tensor->shape.data(), rank * sizeof(int64_t));
}

}  // namespace

Status save_state(StateImpl& state, std::vector<std::byte>* blob) {
  const StateLayout& layout = *state.layout;
  BlobWriter writer(kStateMagic, kStateFormat, layout.tensors.size());
  for (const StateTensor& tensor : layout.tensors) {
    const auto length = static_cast<uint32_t>(tensor.name.size()), dtype = static_cast<uint32_t>(tensor.dtype),
               rank = static_cast<uint32_t>(tensor.shape.size());
    writer.append(&length, sizeof length);
    writer.append(tensor.name.data(), length);
    writer.append(&dtype, sizeof dtype);
    writer.append(&rank, sizeof rank);
    writer.append(tensor.shape.data(), rank * sizeof(int64_t));
  }
  const std::vector<StateRange> ranges = all_ranges(layout);
  const Status status = state.read(ranges, writer.extend(bytes_of(ranges)));
  if (status != Status::Ok) return status;
  *blob = writer.seal();
  return Status::Ok;
}

Status load_state(StateImpl& state, std::span<const std::byte> blob) {
  const auto damaged = [&](const char* what) {
    return fail(state.log(), Status::InvalidFile, format("load: these bytes are %s", what));
  };
  BlobReader reader(blob, kStateMagic, kStateFormat);
  switch (reader.state()) {
    case BlobReader::State::NotOne: return damaged("no saved State");
    case BlobReader::State::Damaged: return damaged("a damaged State");
    case BlobReader::State::OtherKey: return damaged("a State of another version of heed");
    case BlobReader::State::Usable: break;
  }
  StateLayout saved;
  for (uint64_t i = 0; i < reader.count(); ++i) {
    StateTensor tensor;
    if (!take_tensor(&reader, &tensor)) return damaged("a damaged State");
    if (!saved.tensors.empty() && saved.tensors.back().name >= tensor.name) return damaged("a damaged State");
    saved.tensors.push_back(std::move(tensor));
  }
  const Status status = match_layouts(*state.layout, saved, "load", state.log());
  if (status != Status::Ok) return status;
  const std::vector<StateRange> ranges = all_ranges(*state.layout);
  if (reader.rest().size() != bytes_of(ranges)) return damaged("a damaged State");
  return state.write(ranges, reader.rest().data());
}

}  // namespace heed::detail
