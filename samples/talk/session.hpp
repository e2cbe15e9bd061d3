// A model on a device.
#pragma once

#include <chrono>

#include <heed/heed.hpp>
#include <heed/text_generator.hpp>

#include "options.hpp"

namespace talk {

struct Session {
  heed::Device device;
  heed::TextGenerator model;
  std::string about;  // "cpu (AMD EPYC), weights q8_0"
};

// Prints why it failed, and returns the exit code.
int open_session(const Options& options, Session* session);

// Counts tokens and time of an answer.
class Stopwatch {
 public:
  void count(const heed::TextPiece& piece);
  // "31 tokens, 52.1 tokens/s, 0.21 s to the first of them"
  std::string text() const;
  size_t tokens() const { return tokens_; }
  double seconds() const;  // to the last token
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now(), first_ = {}, last_ = {};
  size_t tokens_ = 0;
};

}  // namespace talk
