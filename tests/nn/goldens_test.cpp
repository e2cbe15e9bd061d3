// Every golden file on every device, through the code of `heed verify`.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "golden/case.hpp"
#include "golden/run.hpp"
#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"

using namespace heed;

namespace {

constexpr size_t kCases = 108, kGradientCases = 107;
constexpr const char *kForward = "tests/goldens", *kGradients = "tests/goldens-gradients";

std::vector<std::string> golden_files(const char* folder = kForward) {
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(test::source_path(folder)))
    if (file.path().extension() == ".safetensors") paths.push_back(file.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream input(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(input), {}};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string_view test_driver() {
  const char* driver = std::getenv("HEED_TEST_DRIVER");
  return driver != nullptr ? driver : "none";
}
// SwiftShader's compiler would need minutes for all cases.
bool on_swiftshader() { return test_driver() == "swiftshader"; }
// Every `which`-th file also runs with extents below their maxima: other sizes use other kernels, which drivers compile for minutes. The
// CPU device runs all of them.
size_t step_with_extents() { return on_swiftshader() ? 10 : test_driver() == "none" ? 1 : 4; }

// One file of each system: its case of odd sizes if it has one, else its first.
std::vector<std::string> one_file_of_each_system(const char* folder = kForward) {
  std::map<std::string, std::string, std::less<>> chosen;
  for (const std::string& path : golden_files(folder)) {
    const SafeTensors file = test::opened<SafeTensors>(path, stderr_log());
    std::string& of_system = chosen[std::string(file.metadata("system"))];
    if (of_system.empty() || path.find("_odd.") != std::string::npos) of_system = path;
  }
  std::vector<std::string> paths;
  for (const auto& [system, path] : chosen) paths.push_back(path);
  return paths;
}

void verify_all(const std::vector<ops::TestDevice>& devices, bool extents, size_t step,
                const std::vector<std::string>& files = golden_files()) {
  goldens::Messages messages;  // the devices of the tests have a log of their own
  for (ops::TestDevice test : devices) {
    for (size_t i = 0; i < files.size(); i += step) {
      const std::string& path = files[i];
      const SafeTensors file = test::opened<SafeTensors>(path, stderr_log());
      const goldens::Result result = goldens::verify(test.device, messages, file, path, extents);
      const std::string said = ops::take_checked_messages();
      INFO(result.name << " on " << test.word << ": " << result.detail << " " << said);
      CHECK(result.verdict == goldens::Verdict::Ok);
      CHECK(said.empty());
      // The largest difference is reported with a tensor of the file: "output[7]".
      const std::string worst = result.worst.substr(0, result.worst.find('['));
      CHECK((result.max_abs == 0 ? worst.empty() : file.find(worst) != nullptr));
    }
  }
}

}  // namespace

TEST_CASE("goldens: all cases are there and cover all systems", "[goldens]") {
  std::set<std::string> systems;
  for (const std::string& path : golden_files()) {
    const SafeTensors file = test::opened<SafeTensors>(path, stderr_log());
    const std::string system(file.metadata("system"));
    CHECK(goldens::known_system(system));
    systems.insert(system);
  }
  CHECK(golden_files().size() == kCases);
  CHECK(systems.size() == 30);
  CHECK_FALSE(goldens::known_system("000.unheard_of"));
}

TEST_CASE("goldens: pass on every device", "[goldens]") { verify_all(ops::test_devices(), false, 1); }

TEST_CASE("goldens: gradients pass on every device", "[goldens]") {
  CHECK(golden_files(kGradients).size() == kGradientCases);
  verify_all(ops::test_devices(), false, on_swiftshader() ? 5 : 1, golden_files(kGradients));
}

TEST_CASE("goldens: gradients pass with extents below their maxima", "[goldens]") {
  verify_all(ops::test_devices(), true, step_with_extents(), golden_files(kGradients));
}

TEST_CASE("goldens: gradients of one of each system pass on every device", "[.][one_golden_each]") {
  verify_all(ops::test_devices(), false, 1, one_file_of_each_system(kGradients));
}

// The files of the quick tests, since a driver's compiler takes most of the time of the others.
TEST_CASE("goldens: one of each system passes on every device", "[.][one_golden_each]") {
  verify_all(ops::test_devices(), false, 1, one_file_of_each_system());
}

TEST_CASE("goldens: pass with extents below their maxima", "[goldens]") {
  verify_all(ops::test_devices(), true, step_with_extents());
}

namespace {

// The result of `heed verify` for a file after flipping `bits` in the last byte of one of its tensors.
struct Change {
  const char* file;
  const char* tensor;
  unsigned char bits = 0x40;  // the exponent of a float
};
goldens::Verdict verdict_on(const Change& change, const char* folder) {
  goldens::Messages messages;
  Device cpu = test::open_cpu({.log = messages.log()});
  const std::string path = test::source_path(folder + std::string("/")) + change.file + ".safetensors";
  const SafeTensors file = test::opened<SafeTensors>(path, stderr_log());
  const SafeTensors::Entry* entry = file.find(change.tensor);
  REQUIRE(entry != nullptr);
  // The mapping is read-only, so that the change is made in a copy.
  std::vector<std::byte> bytes = read_bytes(path);
  size_t data_bytes = 0;
  const std::byte* data = entry->data.data();
  for (const SafeTensors::Entry& other : file.entries()) {
    data_bytes += other.data.size();
    data = std::min(data, other.data.data());
  }
  const std::byte* last = entry->data.data() + entry->data.size() - 1;
  bytes[bytes.size() - data_bytes + static_cast<size_t>(last - data)] ^= std::byte{change.bits};
  SafeTensors changed;
  REQUIRE(SafeTensors::parse(bytes, path, stderr_log(), &changed) == Status::Ok);
  return goldens::verify(cpu, messages, changed, path, false).verdict;
}

}  // namespace

TEST_CASE("goldens: a wrong expectation is found", "[goldens]") {
  // A change of any compared tensor must make the verdict a failure.
  const Change changes[] = {
      {"000_bidirectional_fullpad", "expected"},        {"000_bidirectional_fullpad", "nan_rows", 1},
      {"001_decoder_layer_odd", "expected_cross_attn"}, {"002_causal_seed", "expected_scores"},
      {"002_causal_seed", "expected_attn_masked"},      {"004_qkv_cross", "expected_v"},
      {"004_positional_encoding_odd", "expected_pe"},   {"004_decoder_fullpad", "nan_rows", 1},
      {"004_transformer_odd", "expected_seed_wiring"}};
  for (const Change& change : changes) {
    INFO(change.file << " " << change.tensor);
    CHECK(verdict_on(change, kForward) == goldens::Verdict::Failed);
  }
}

TEST_CASE("goldens: a wrong gradient is found", "[goldens]") {
  const Change changes[] = {{"000_causal_leftpad", "grad.x"},
                            {"000_bidirectional_fullpad", "grad.wo.bias"},
                            {"002_embedding_odd", "grad.embed.weight"},
                            {"004_qkv_cross", "grad.va.weight"},
                            {"004_qkv_cross", "grad_out.k"},
                            {"004_transformer_toy", "grad.y"},
                            {"001_ffn_odd", "expected"}};
  for (const Change& change : changes) {
    INFO(change.file << " " << change.tensor);
    CHECK(verdict_on(change, kGradients) == goldens::Verdict::Failed);
  }
}

TEST_CASE("goldens: a file of an unknown kind, or with half of what its kind needs, is refused", "[goldens]") {
  struct Row {
    const char *from, *to, *why;
  };
  // Words of the header, each replaced by one of the same length.
  const Row rows[] = {{"\"kind\":\"gradients\"", "\"kind\":\"gradienty\"", "kind"},
                      {"\"grad_out\"", "\"grad_owt\"", "grad"},
                      {"\"grad.x\"", "\"grad.y\"", "gradient"},
                      {"\"grad.", "\"gral.", "grad"}};
  const std::string path = test::source_path(kGradients + std::string("/000_mha_toy.safetensors"));
  goldens::Messages messages;
  Device cpu = test::open_cpu({.log = messages.log()});
  for (const Row& row : rows) {
    INFO(row.from << " to " << row.to);
    const std::vector<std::byte> bytes = read_bytes(path);
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string from = row.from;
    REQUIRE(text.find(from) != std::string::npos);
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
      text.replace(at, from.size(), row.to);
    SafeTensors changed;
    REQUIRE(SafeTensors::parse(std::as_bytes(std::span(text)), path, stderr_log(), &changed) == Status::Ok);
    const goldens::Result result = goldens::verify(cpu, messages, changed, path, false);
    CHECK(result.verdict == goldens::Verdict::Damaged);
    CHECK(result.detail.find(row.why) != std::string::npos);
  }
}
