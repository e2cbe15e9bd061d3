// 500 sentences by all-MiniLM-L6-v2 on every device, compared with onnxruntime in f32. All of them are half a TFLOP, so that every fiftieth
// is tested unless HEED_ALL_SENTENCES=1.

#include "search/model.hpp"

namespace heed::test {
namespace {

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

double cosine(const float* a, const float* b, size_t width) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < width; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    dot += x * y, aa += x * x, bb += y * y;
  }
  return dot / std::sqrt(aa * bb);
}

size_t sentence_step() {
  const char* all = std::getenv("HEED_ALL_SENTENCES");
  return all != nullptr && *all == '1' ? 1 : 50;
}

}  // namespace

TEST_CASE("500 sentences by all-MiniLM-L6-v2 match the reference", "[bert][model]") {
  const std::string folder = minilm_folder();
  if (folder.empty()) return;
  const auto lines = read_lines(data_folder() / "sentences.txt");
  const SafeTensors expected = opened<SafeTensors>((data_folder() / "sentences.safetensors").string(), stderr_log());
  const auto want = floats_of(expected, "sentence");
  const auto counts = ints_of(expected, "tokens");
  REQUIRE(lines.size() == 500);
  REQUIRE(want.size() == 500 * 384);
  std::vector<std::string_view> texts;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < lines.size(); i += sentence_step()) {
    texts.push_back(lines[i]);
    chosen.push_back(i);
  }

  // Weights of bf16 run with the best instruction set only, and other sets encode only some of the sentences.
  constexpr size_t kSome = 60;
  struct Precision {
    DType dtype, weights;
    double cosine;
  };
  for (const ops::TestDevice& on : ops::test_devices()) {
    for (const Precision& p : {Precision{DType::F32, DType::F32, 0.99999}, Precision{DType::F16, DType::F16, 0.9999},
                               Precision{DType::F32, DType::BF16, 0.9998}}) {
      const DType dtype = p.dtype;
      if (p.weights == DType::BF16 && on.word != "cpu") continue;
      const bool some = p.weights == DType::BF16 || on.word.starts_with("cpu:");
      const size_t count = some ? std::min(texts.size(), kSome) : texts.size();
      INFO(on.word << " " << to_string(dtype) << ", weights " << to_string(p.weights) << ", " << count << " sentences");
      // Batches are small, so that no submission takes minutes on a driver without a GPU.
      TextEncoder encoder = opened_on(on, folder, {.dtype = dtype, .weight_dtype = p.weights, .max_batch = 2});
      if (!encoder.valid()) continue;
      REQUIRE(encoder.width() == 384);
      std::vector<int32_t> ids;
      for (size_t i = 0; i < lines.size(); ++i) {
        encoder.tokenizer().encode(lines[i], 256, &ids);
        REQUIRE(ids.size() == static_cast<size_t>(counts[i]));
      }
      std::vector<float> got(texts.size() * 384, NAN);
      REQUIRE(encoder.encode(std::span(texts).first(count), got) == Status::Ok);
      double worst = 1;
      for (size_t i = 0; i < count; ++i) {
        const double c = cosine(&got[i * 384], &want[chosen[i] * 384], 384);
        if (!(c >= worst)) worst = c;
      }
      CHECK(worst >= p.cosine);
      CHECK(ops::take_checked_messages().empty());
    }
  }
}

TEST_CASE("all-MiniLM-L6-v2 finds the meaning of a question", "[bert][model]") {
  const std::string folder = minilm_folder();
  if (folder.empty()) return;
  Device device = ops::test_devices().back().device;
  TextEncoder encoder = opened(device, folder);
  const std::string_view texts[] = {"where can I buy a sword", "visit the weapon shop", "feed the horse",
                                    "save the game"};
  std::vector<float> v(4 * 384);
  REQUIRE(encoder.encode(texts, v) == Status::Ok);
  const double shop = cosine(&v[0], &v[384], 384);
  CHECK(shop > cosine(&v[0], &v[2 * 384], 384));
  CHECK(shop > cosine(&v[0], &v[3 * 384], 384));
}

}  // namespace heed::test
