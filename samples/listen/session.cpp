#include "session.hpp"

namespace listen {
namespace {

heed::DType dtype_of(const std::string& word) {
  if (word == "q8_0") return heed::DType::Q8_0;
  return word == "f16" ? heed::DType::F16 : word == "bf16" ? heed::DType::BF16 : heed::DType::F32;
}

}  // namespace

int open_model(const Options& options, heed::Device* device, heed::SpeechRecognizer* model) {
  heed::Status status =
      heed::Device::open({.select = options.device, .log = program_log(), .threads = options.threads}, device);
  if (status != heed::Status::Ok)
    return failed(options.device.empty() ? "no device" : "device '" + options.device + "'", status);
  heed::SpeechRecognizerOptions chosen;
  if (!options.weights.empty()) chosen.weight_dtype = dtype_of(options.weights);
  if (!options.cache.empty()) chosen.cache_dtype = dtype_of(options.cache);
  chosen.round_rows = options.round_rows;
  chosen.log = program_log();
  status = heed::SpeechRecognizer::open(*device, options.model, chosen, model);
  return status == heed::Status::Ok ? kOk : failed("the model", status);
}

}  // namespace listen
