// Hidden: runs the ONNX files of a folder on every device, and compares with stored outputs. table.py runs this test and formats its
// output: `TABLE model device ratio message`, where the ratio is the worst error divided by its tolerance.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include <heed/onnx.hpp>
#include <heed/safetensors.hpp>

#include "harness/devices.hpp"
#include "harness/setup.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double kAbsolute = 1e-4, kRelative = 1e-4;

// One model with its arrays, NAME.onnx and NAME.safetensors: in.CASE.INPUT and out.CASE.OUTPUT of F32, I32 and U8.
class ModelFile {
 public:
  explicit ModelFile(const std::filesystem::path& path)
      : model_(opened<OnnxModel>(path.string(), messages_.log())),
        arrays_(opened<SafeTensors>(std::filesystem::path(path).replace_extension(".safetensors").string(),
                                    messages_.log())) {
    for (const SafeTensors::Entry& entry : arrays_.entries())
      if (entry.name.starts_with("in.")) cases_.insert(entry.name.substr(3, entry.name.find('.', 3) - 3));
  }

  // The worst ratio of all cases, or of a small one; or the reason why there is none.
  double run(Device device, bool one_case, std::string* why) {
    double worst = 0;
    // A graph for each choice of dims that are 0, such as those of a cache before the first token.
    std::map<std::set<std::string>, std::vector<std::string>> groups;
    for (const std::string& one : one_case ? smallest() : cases_) groups[empty_dims(one)].push_back(one);
    for (const auto& [empty, cases] : groups) {
      const std::map<std::string, int64_t> largest = largest_dims(cases);
      std::vector<OnnxExtent> extents;
      for (const auto& [symbol, size] : largest) extents.push_back({symbol, size});
      Graph graph;
      Weights weights;
      Plan plan;
      Status status = model_.build({.extents = extents, .largest = 128}, messages_.log(), &graph);
      if (status == Status::Ok) status = model_.upload(device, graph, messages_.log(), &weights);
      if (status == Status::Ok) status = device.compile(graph, weights, &plan);
      for (const std::string& one : cases)
        if (status == Status::Ok) status = run_case(plan, graph, one, &worst);
      if (status != Status::Ok) {
        *why = messages_.text.substr(0, messages_.text.find('\n'));
        if (why->empty()) *why = to_string(status);
        messages_.text.clear();
        return std::nan("");
      }
    }
    return worst;
  }

 private:
  const SafeTensors::Entry& array(const char* prefix, const std::string& one, const std::string& name) const {
    const SafeTensors::Entry* found = arrays_.find(prefix + one + "." + name);
    INFO(prefix << one << "." << name);
    REQUIRE(found != nullptr);
    return *found;
  }

  template <class F>
  void each_symbol(const std::string& one, const F& f) const {
    for (const OnnxTensor& input : model_.inputs()) {
      const SafeTensors::Entry& entry = array("in.", one, input.name);
      for (size_t i = 0; i < input.dims.size() && i < entry.shape.size(); ++i)
        if (!input.dims[i].symbol.empty()) f(input.dims[i].symbol, entry.shape[i]);
    }
  }
  std::set<std::string> empty_dims(const std::string& one) const {
    std::set<std::string> empty;
    each_symbol(one, [&](const std::string& symbol, int64_t size) {
      if (size == 0) empty.insert(symbol);
    });
    return empty;
  }
  std::map<std::string, int64_t> largest_dims(const std::vector<std::string>& cases) const {
    std::map<std::string, int64_t> largest;
    for (const std::string& one : cases)
      each_symbol(one,
                  [&](const std::string& symbol, int64_t size) { largest[symbol] = std::max(largest[symbol], size); });
    return largest;
  }
  std::set<std::string> smallest() const {
    const auto elements = [&](const std::string& one) {
      int64_t sum = 0;
      for (const OnnxTensor& output : model_.outputs()) sum += array("out.", one, output.name).elements();
      return sum;
    };
    return {*std::min_element(cases_.begin(), cases_.end(),
                              [&](const auto& a, const auto& b) { return elements(a) < elements(b); })};
  }

  Status run_case(Plan plan, const Graph& graph, const std::string& one, double* worst) {
    std::vector<OnnxShape> shapes;
    std::vector<HostBuffer> buffers;
    for (const OnnxTensor& input : model_.inputs()) {
      const SafeTensors::Entry& entry = array("in.", one, input.name);
      shapes.push_back({input.name, entry.shape});
      if (entry.elements() > 0) buffers.emplace_back(input.name, entry.data);
    }
    std::vector<std::vector<std::byte>> found(model_.outputs().size());
    for (size_t i = 0; i < found.size(); ++i) {
      const OnnxTensor& output = model_.outputs()[i];
      found[i].resize(static_cast<size_t>(array("out.", one, output.name).elements()) * size_of(output.dtype));
      buffers.emplace_back(output.name, found[i]);
    }
    std::vector<ExtentValue> extents;
    Status status = model_.find_extents(graph, shapes, messages_.log(), &extents);
    if (status == Status::Ok) status = plan.run(buffers, extents);
    if (status != Status::Ok) return status;
    for (size_t i = 0; i < found.size(); ++i) {
      const OnnxTensor& output = model_.outputs()[i];
      const SafeTensors::Entry& wanted = array("out.", one, output.name);
      for (int64_t k = 0; k < wanted.elements(); ++k) {
        const double a = value(found[i], output.dtype, k), b = value(wanted.data, output.dtype, k);
        const double ratio =
            a == b || (std::isnan(a) && std::isnan(b)) ? 0.0 : std::abs(a - b) / (kAbsolute + kRelative * std::abs(b));
        if (!(ratio <= *worst)) *worst = ratio;
      }
    }
    return Status::Ok;
  }

  static double value(std::span<const std::byte> bytes, DType dtype, int64_t i) {
    const auto read = [&](auto number) {
      std::memcpy(&number, bytes.data() + static_cast<size_t>(i) * sizeof number, sizeof number);
      return static_cast<double>(number);
    };
    return dtype == DType::F32 ? read(float{}) : dtype == DType::I32 ? read(int32_t{}) : read(uint8_t{});
  }

  Messages messages_;
  OnnxModel model_;
  SafeTensors arrays_;
  std::set<std::string> cases_;
};

}  // namespace

TEST_CASE("onnx: files of a folder give what is stored beside them", "[.onnx-files]") {
  const char* folder = std::getenv("HEED_ONNX_FILES");
  REQUIRE(folder != nullptr);
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") paths.insert(entry.path());
  for (const std::filesystem::path& path : paths) {
    ModelFile file(path);
    for (const ops::TestDevice& device : ops::test_devices()) {
      std::string why;
      const double ratio = file.run(device.device, device.interpreted, &why);
      if (why.empty()) why = ops::take_checked_messages();
      std::printf("TABLE\t%s\t%s\t%.3g\t%s\n", path.stem().string().c_str(), device.word.c_str(), ratio, why.c_str());
      std::fflush(stdout);
      INFO(path << " on " << device.word << ": " << why);
      CHECK((ratio <= 1 || !why.empty()));
    }
  }
}
