#include "search/rewritten.hpp"

#include <nlohmann/json.hpp>

#include "base/half.hpp"

namespace heed::test {

namespace {

// The layout of a safetensors file: the header's length in 8 bytes, the header as JSON, the data.
void write_safetensors(const std::filesystem::path& file, const nlohmann::json& header, const std::string& data) {
  const std::string text = header.dump();
  const uint64_t size = text.size();
  write_file(file, std::string(reinterpret_cast<const char*>(&size), 8) + text + data);
}

}  // namespace

void lengthen(ModelCopy& model, int64_t positions) {
  constexpr std::string_view kTable = "embeddings.position_embeddings.weight";
  const auto file = model / "model-00001-of-00002.safetensors";
  const std::string old = read_file(file);
  uint64_t header_size = 0;
  std::memcpy(&header_size, old.data(), sizeof header_size);
  nlohmann::json header = nlohmann::json::parse(old.substr(8, header_size));
  std::string data;
  for (auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1], at = data.size();
    if (name == kTable) {
      entry["shape"][0] = positions;
      data.append(static_cast<size_t>(positions) * (end - begin) / 64, '\0');
    } else {
      data.append(old, 8 + header_size + begin, end - begin);
    }
    entry["data_offsets"] = {at, data.size()};
  }
  write_safetensors(file, header, data);
  model.change("config.json", "\"max_position_embeddings\": 64",
               "\"max_position_embeddings\": " + std::to_string(positions));
}

void write_as_bf16(const std::filesystem::path& file) {
  Checkpoint checkpoint = opened<Checkpoint>(tiny_folder(), stderr_log());
  nlohmann::json header;
  std::string data;
  for (const SafeTensors::Entry& entry : checkpoint.entries()) {
    std::vector<float> values;
    REQUIRE(read_f32(entry, stderr_log(), &values) == Status::Ok);
    const size_t begin = data.size();
    for (const float value : values) {
      const uint16_t bits = float_to_bfloat(value);
      data.push_back(static_cast<char>(bits & 255));
      data.push_back(static_cast<char>(bits >> 8));
    }
    header[entry.name] = {{"dtype", "BF16"}, {"shape", entry.shape}, {"data_offsets", {begin, data.size()}}};
  }
  write_safetensors(file, header, data);
}

}  // namespace heed::test
