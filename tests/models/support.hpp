// Shared by the tests of models in files.
#pragma once

#include <filesystem>
#include <fstream>

#include "decoders/tiny.hpp"
#include "harness/devices.hpp"

namespace heed::test {

inline Plan plan_of(Device device, const DecoderModel& model, int64_t capacity, int64_t most,
                    const DecoderOptions& options) {
  Graph g;
  const Dim past = g.position("past", capacity - 1), tokens = g.extent("tokens", most);
  DecoderOptions with_cache = options;
  with_cache.cache = {.capacity = capacity, .past = past};
  const DecoderResult y = model.build(g, g.input("ids", {1, tokens}, DType::I32), with_cache);
  g.output("logits", options.dtype == DType::F32 ? y.logits : g.cast(y.logits, DType::F32));
  g.output("next", g.argmax(y.logits));
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  Weights weights;
  REQUIRE(model.upload(device, options, &weights) == Status::Ok);
  return compiled(device, g, weights);
}

// A conversation with a model: greedy, of one row.
struct ModelSpeaker : PlanSpeaker {
  ModelSpeaker(Device device, const DecoderModel& model, int64_t capacity, int64_t most,
               const DecoderOptions& options = {})
      : PlanSpeaker(plan_of(std::move(device), model, capacity, most, options), model.config().vocabulary, most) {}
  void forget() { past = 0; }
};

// A folder that is removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("heed-models-" + std::to_string(reinterpret_cast<uintptr_t>(this)) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path() const { return path_.string(); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    REQUIRE(file.good());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace heed::test
