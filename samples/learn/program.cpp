#include "program.hpp"

#include <csignal>
#include <cstdio>

namespace learn {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;
extern "C" void on_interrupt(int) { was_interrupted = 1; }

}  // namespace

int open_device(const std::string& select, heed::Device* device) {
  const heed::Status status = heed::Device::open({.select = select, .log = program_log()}, device);
  if (status != heed::Status::Ok) return failed("no device", status);
  std::printf("%s\n", device->info().word.c_str());
  return kOk;
}

void catch_interrupts() { std::signal(SIGINT, on_interrupt); }
bool interrupted() { return was_interrupted != 0; }

}  // namespace learn
