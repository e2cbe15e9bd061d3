// Runs golden files on a device and compares.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <heed/heed.hpp>

namespace heed::goldens {

// Passes if |a - b| <= kAbsolute + kRelative |b| for every element of every expected tensor b, without NaN.
inline constexpr double kAbsolute = 2e-5;
inline constexpr double kRelative = 1e-4;
// max_rel is the largest |a - b| / max(|b|, kSmallest).
inline constexpr double kSmallest = 1e-3;

// Collects a device's messages. Must outlive the device.
class Messages {
 public:
  Log log();
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

enum class Verdict { Ok, Failed, Damaged };

struct Result {
  Verdict verdict = Verdict::Failed;
  std::string name;    // the file name without folder and extension
  std::string system;  // "000.mha"
  double max_abs = 0, max_rel = 0;
  std::string worst;   // the tensor and element of max_abs: "output[7]"
  std::string detail;  // one line with the reason if the verdict is not Ok
};

// A file of kind "gradients" also has gradients (gradients.cpp). Damaged: the file is of another kind, or it names a known system,
// but lacks something that the system needs. With `beside`, both devices compile a reproducible plan, and no bit of their results may
// differ.
Result verify(Device& device, Messages& messages, const SafeTensors& file, std::string_view path, bool extents,
              Device* beside = nullptr);

// The file name without folders and extension, with '_' for white space so that it is one word.
std::string case_name(std::string_view path);

}  // namespace heed::goldens
