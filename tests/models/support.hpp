// Shared by the tests of models in files.
#pragma once

#include <filesystem>
#include <fstream>

#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"

namespace heed::test {

// The tiny decoders of tests/decoders, with what they say.
inline constexpr const char* kTinyDecoders[] = {"llama", "qwen2", "qwen3", "gpt2"};

inline SafeTensors tiny_decoder(const std::string& name) {
  SafeTensors file;
  REQUIRE(SafeTensors::open(source_path("tests/decoders/") + name + ".safetensors", stderr_log(), &file) == Status::Ok);
  return file;
}

inline std::string tiny_gguf(const std::string& name) { return source_path("tests/models/") + name + ".gguf"; }

// A conversation with a model: greedy, of one row.
class ModelSpeaker {
 public:
  ModelSpeaker(Device device, const DecoderModel& model, int64_t capacity, int64_t most,
               const DecoderOptions& options = {})
      : logits(static_cast<size_t>(model.config().vocabulary)), most_(static_cast<size_t>(most)) {
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
    plan = compiled(device, g, weights);
    REQUIRE(plan.make_state(&state_) == Status::Ok);
  }
  // Reads tokens, and gives the one that follows; `logits` is then what it was taken from.
  int32_t read(std::span<const int32_t> ids) {
    int32_t next[1] = {-1};
    for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), most_))) {
      const std::span<const int32_t> some = ids.first(std::min(ids.size(), most_));
      const auto count = static_cast<int64_t>(some.size());
      REQUIRE(plan.run({{"ids", some}, {"logits", logits}, {"next", next}}, {{"past", past_}, {"tokens", count}},
                       {.state = state_}) == Status::Ok);
      past_ += count;
    }
    return next[0];
  }

  void forget() { past_ = 0; }

  Plan plan;
  std::vector<float> logits;

 private:
  State state_;
  size_t most_;
  int64_t past_ = 0;
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
