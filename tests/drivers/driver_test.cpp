// The devices in this process are those of the driver that with.sh started it with.

#include <heed/device.hpp>

#include "harness/catch.hpp"

TEST_CASE("drivers: the driver asked for is the one there is", "[drivers]") {
  std::vector<heed::DeviceInfo> devices;
  REQUIRE(heed::Device::list({}, &devices) == heed::Status::Ok);
  REQUIRE_FALSE(devices.empty());
  CHECK(devices.back().kind == heed::DeviceKind::Cpu);
  CHECK(devices.back().usable);

  const char* variable = std::getenv("HEED_TEST_DRIVER");
  const std::string driver = variable != nullptr ? variable : "";
  if (driver == "none") CHECK(devices.size() == 1);
  const bool lavapipe = driver.starts_with("lavapipe");
  if (!lavapipe && driver != "swiftshader") return;
  REQUIRE(devices.size() == 2);
  INFO(devices[0].name << ": " << devices[0].reason);
  CHECK(devices[0].usable);
  CHECK_THAT(devices[0].name, holds(lavapipe ? "llvmpipe" : "SwiftShader"));
  // lavapipe's name includes its vector width: "llvmpipe (LLVM 15.0.6, 256 bits)".
  const size_t dash = driver.find('-');
  if (driver == "lavapipe-26")
    CHECK_THAT(devices[0].driver, holds("Mesa 26."));
  else if (dash != std::string::npos)
    CHECK_THAT(devices[0].name, holds(driver.substr(dash + 1) + " bits"));
}
