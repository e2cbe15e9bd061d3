// A thread's last message, and logs.
#include <thread>

#include "base/logging.hpp"
#include "harness/setup.hpp"

using namespace heed;
using namespace heed::test;

TEST_CASE("messages: the last failure of each thread is kept, also without a log", "[base]") {
  Plan none;
  CHECK(none.run({}) == Status::InvalidArgument);
  CHECK(last_message() == std::string("Plan::run: the Plan is empty"));
  std::string there = "?";
  std::thread([&] {
    there = last_message();
    CHECK(Device::open({.select = "no such device", .log = no_log()}, nullptr) == Status::InvalidArgument);
    there += last_message();
  }).join();
  CHECK(there == "Device::open: device is null");
  CHECK(last_message() == std::string("Plan::run: the Plan is empty"));
  Device device;
  CHECK(Device::open({.select = "no such device", .log = no_log()}, &device) == Status::NotFound);
  CHECK_THAT(std::string(last_message()), holds("no such device"));
}

TEST_CASE("messages: a long one is cut before a character, never within one", "[base]") {
  std::string text(4094, 'a');
  (void)fail(no_log(), Status::Unsupported, text + "\xc3\xa4");  // a two-byte character, of which one byte would fit
  CHECK(last_message() == text);
  (void)fail(no_log(), Status::Unsupported, text + "b");
  CHECK(last_message() == text + "b");
}

TEST_CASE("messages: logs write warnings to stderr unless the host says otherwise", "[base]") {
  CHECK(Log().callback == write_to_stderr);
  CHECK(Log().minimum == LogLevel::Warning);
  CHECK(DeviceOptions().log.callback == write_to_stderr);
  CHECK(no_log().callback == nullptr);
}
