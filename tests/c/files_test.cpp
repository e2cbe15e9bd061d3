// Files with named tensors through the C interface.
#include <fstream>
#include <iterator>

#include "c/kept.hpp"
#include "harness/source_path.hpp"

namespace heed::test {
namespace {

const std::string kSafetensors = source_path("tests/decoders/qwen2.safetensors");
const std::string kGguf = source_path("tests/io/witness.gguf");

std::vector<char> bytes_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

heed_meta meta_of(heed_checkpoint* checkpoint, const char* name) {
  auto meta = sized<heed_meta>();
  done(heed_checkpoint_find_meta(checkpoint, name, &meta));
  return meta;
}

}  // namespace

TEST_CASE("C: a safetensors file, its tensors and metadata", "[c]") {
  KeptCheckpoint parsed;
  KeptCheckpoint opened(heed_checkpoint_open, kSafetensors.c_str(), nullptr);
  const std::vector<char> bytes = bytes_of_file(kSafetensors.c_str());
  done(heed_checkpoint_parse(bytes.data(), bytes.size(), "memory", nullptr, parsed.out()));
  for (heed_checkpoint* checkpoint : {static_cast<heed_checkpoint*>(opened), static_cast<heed_checkpoint*>(parsed)}) {
    const size_t count = heed_checkpoint_count(checkpoint);
    CHECK(count == 29);
    uint64_t sum = 0, all = 0;
    for (size_t i = 0; i < count; ++i) {
      auto tensor = sized<heed_file_tensor>(), found = sized<heed_file_tensor>();
      done(heed_checkpoint_tensor(checkpoint, i, &tensor));
      done(heed_checkpoint_find(checkpoint, tensor.name, &found));
      CHECK(found.data == tensor.data);
      CHECK(found.loadable == 1);
      sum += tensor.bytes;
    }
    done(heed_checkpoint_bytes(checkpoint, &all));
    CHECK(sum == all);
    auto prompt = sized<heed_file_tensor>();
    done(heed_checkpoint_find(checkpoint, "prompt", &prompt));
    CHECK((prompt.rank == 1 && prompt.shape[0] == 7 && prompt.bytes == 28 && prompt.dtype == HEED_I32));
    CHECK(std::string_view(prompt.type) == "I32");
    refused(heed_checkpoint_find(checkpoint, "absent", &prompt), HEED_NOT_FOUND, "absent");
    refused(heed_checkpoint_tensor(checkpoint, count, &prompt), HEED_INDEX_OUT_OF_RANGE, "there is no 29");
    CHECK(heed_checkpoint_meta_count(checkpoint) > 5);
    const heed_meta family = meta_of(checkpoint, "family");
    CHECK((family.kind == HEED_META_TEXT && std::string_view(family.text) == "qwen2" && family.text_bytes == 5));
    int64_t number = 0;
    size_t found = 0;
    refused(heed_checkpoint_meta_integers(checkpoint, "family", &number, 1, &found), HEED_DTYPE_MISMATCH, "family");
    refused(heed_checkpoint_meta_integers(checkpoint, "absent", &number, 1, &found), HEED_NOT_FOUND, "absent");
  }
  KeptDevice device = open_c("cpu");
  KeptWeights weights(heed_checkpoint_upload, opened, device, nullptr);
  uint64_t resident = 0, whole = 0;
  done(heed_weights_bytes(weights, &resident));
  done(heed_checkpoint_bytes(opened, &whole));
  CHECK(resident >= whole);
}

TEST_CASE("C: a GGUF file, its tensors and keys", "[c]") {
  KeptCheckpoint file(heed_checkpoint_open, kGguf.c_str(), nullptr);
  auto tensor = sized<heed_file_tensor>();
  done(heed_checkpoint_find(file, "Q4_K", &tensor));
  CHECK((tensor.dtype == HEED_Q4_K && tensor.rank == 2 && tensor.shape[0] == 2 && tensor.shape[1] == 256));
  CHECK(std::string_view(tensor.type) == "Q4_K");
  CHECK(tensor.bytes == heed_dtype_bytes(HEED_Q4_K, 512));

  CHECK(meta_of(file, "witness.i64").integer == INT64_MIN);
  CHECK(meta_of(file, "witness.u32").number == 4294967295.0);
  const heed_meta large = meta_of(file, "witness.u64");
  CHECK((large.kind == HEED_META_NUMBER && large.number == 18446744073709551616.0));
  const heed_meta truth = meta_of(file, "witness.bool");
  CHECK((truth.kind == HEED_META_BOOLEAN && truth.integer == 1));
  CHECK(std::string_view(meta_of(file, "witness.text").text) == "a word, naïve 🐉");
  const heed_meta texts = meta_of(file, "witness.texts");
  CHECK((texts.kind == HEED_META_ARRAY && texts.count == 5 && texts.element_kind == HEED_META_TEXT));

  size_t count = 0;
  std::array<const char*, 5> words{};
  refused(heed_checkpoint_meta_texts(file, "witness.texts", words.data(), 4, &count), HEED_BUFFER_TOO_SMALL, "5");
  CHECK((count == 5 && words[0] == nullptr));
  done(heed_checkpoint_meta_texts(file, "witness.texts", words.data(), 5, &count));
  CHECK(std::string_view(words[4]) == "line\nbreak");
  const char* first = words[0];
  done(heed_checkpoint_meta_texts(file, "witness.texts", words.data(), 5, &count));
  CHECK(words[0] == first);  // existing tensors stay
  std::array<int64_t, 3> integers{};
  done(heed_checkpoint_meta_integers(file, "witness.integers", integers.data(), 3, &count));
  CHECK(integers == std::array<int64_t, 3>{-1, 0, 2147483647});
  std::array<float, 2> floats{};
  done(heed_checkpoint_meta_numbers(file, "witness.floats", floats.data(), 2, &count));
  CHECK(floats == std::array<float, 2>{0.5f, -0.25f});
  refused(heed_checkpoint_meta_integers(file, "witness.texts", integers.data(), 3, &count), HEED_DTYPE_MISMATCH,
          "witness.texts");
  auto meta = sized<heed_meta>();
  size_t seen = 0;
  for (size_t i = 0; i < heed_checkpoint_meta_count(file); ++i) {
    done(heed_checkpoint_meta(file, i, &meta));
    seen += std::string_view(meta.name).starts_with("witness.") ? 1u : 0u;
  }
  CHECK(seen == 16);
}

TEST_CASE("C: files that are absent or damaged", "[c][misuse]") {
  heed_checkpoint* checkpoint = nullptr;
  refused(heed_checkpoint_open("/nonexistent/file", nullptr, &checkpoint), HEED_NOT_FOUND, "/nonexistent/file");
  refused(heed_checkpoint_open(nullptr, nullptr, &checkpoint), HEED_INVALID_ARGUMENT, "path is NULL");
  for (const char* path : {kSafetensors.c_str(), kGguf.c_str()}) {
    std::vector<char> bytes = bytes_of_file(path);
    refused(heed_checkpoint_parse(bytes.data(), bytes.size() - 1, "cut", nullptr, &checkpoint), HEED_INVALID_FILE,
            "cut");
    refused(heed_checkpoint_parse(bytes.data(), 3, "short", nullptr, &checkpoint), HEED_INVALID_FILE, "short");
  }
  refused(heed_checkpoint_parse(nullptr, 8, "none", nullptr, &checkpoint), HEED_INVALID_ARGUMENT, "data is NULL");
  CHECK(heed_checkpoint_parse(nullptr, 0, "empty", nullptr, &checkpoint) == HEED_INVALID_FILE);
  CHECK(checkpoint == nullptr);
}

}  // namespace heed::test
