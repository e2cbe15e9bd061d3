// The losses of a training, as a file of lines and as a picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace learn {

// In nats per character or token.
struct Losses {
  std::vector<float> of_steps;  // of each step's own batch
  struct HeldOut {
    int64_t step;
    float loss;
  };
  std::vector<HeldOut> held_out;
};

// Returns false with a sentence in *error if it fails. Lines are "step TAB loss" and "held-out TAB step TAB loss".
bool write_losses(const Losses& losses, const std::string& path, std::string* error);
bool read_losses(const std::string& path, Losses* losses, std::string* error);
// `unit`: "character" or "token".
bool draw_losses(const Losses& losses, const std::string& title, const std::string& unit, const std::string& path,
                 std::string* error);

}  // namespace learn
