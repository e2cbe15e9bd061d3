#include "session.hpp"

#include <algorithm>
#include <cstdio>

namespace talk {
namespace {

heed::DType dtype_of(const std::string& word) {
  return word == "f16" ? heed::DType::F16 : word == "bf16" ? heed::DType::BF16 : heed::DType::F32;
}

heed::Status open_model(const Options& options, Session* session) {
  heed::TextGeneratorOptions chosen;
  chosen.context = options.context;
  chosen.together = std::max(options.npcs, 1);
  if (!options.weights.empty()) chosen.weight_dtype = dtype_of(options.weights);
  if (!options.cache.empty()) chosen.cache_dtype = dtype_of(options.cache);
  chosen.round_rows = options.round_rows;
  chosen.log = program_log();
  return heed::TextGenerator::open(session->device, options.model, chosen, &session->model);
}

}  // namespace

int open_session(const Options& options, Session* session) {
  heed::Status status = heed::Device::open({.select = options.device, .log = program_log()}, &session->device);
  if (status != heed::Status::Ok)
    return failed(options.device.empty() ? "no device" : "device '" + options.device + "'", status);
  status = open_model(options, session);
  const bool is_cpu = session->device.info().kind == heed::DeviceKind::Cpu;
  if ((status == heed::Status::OutOfDeviceMemory || status == heed::Status::DeviceLost) && options.device.empty() &&
      !is_cpu) {
    std::fprintf(stderr, "talk: %s failed (%s), so that the CPU computes\n", session->device.info().word.c_str(),
                 samples::take_reasons().c_str());
    status = heed::Device::open({.select = "cpu", .log = program_log()}, &session->device);
    if (status == heed::Status::Ok) status = open_model(options, session);
  }
  if (status != heed::Status::Ok) return failed("the model", status);
  samples::take_reasons();  // errors of attempts before the successful one
  const heed::DeviceInfo& info = session->device.info();
  session->about = info.word + " (" + info.name + "), weights " + heed::to_string(session->model.weight_dtype());
  return kOk;
}

void Stopwatch::count(const heed::TextPiece& piece) {
  if (piece.token < 0) return;
  last_ = Clock::now();
  if (tokens_++ == 0) first_ = last_;
}

double Stopwatch::seconds() const { return std::chrono::duration<double>(last_ - start_).count(); }

std::string Stopwatch::text() const {
  const auto between = [](Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
  };
  char line[160];
  if (tokens_ < 2) {
    std::snprintf(line, sizeof line, "%zu tokens", tokens_);
  } else {
    std::snprintf(line, sizeof line, "%zu tokens, %.1f tokens/s, %.2f s to the first", tokens_,
                  static_cast<double>(tokens_ - 1) / between(first_, last_), between(start_, first_));
  }
  return line;
}

}  // namespace talk
