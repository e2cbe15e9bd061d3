// Helpers for tests of the C interface: handles that the destructor destroys, and checks of error messages.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <heed/c/heed.h>

#include "harness/setup.hpp"

namespace heed::test {

inline void done(heed_status got) {
  INFO(heed_status_text(got) << ": " << heed_last_message());
  REQUIRE(got == HEED_OK);
}

template <class T, heed_status (*kDestroy)(T*)>
class Kept {
 public:
  Kept() = default;
  // Calls `make`, whose last argument receives the new handle.
  template <class... All, class... Given>
  explicit Kept(heed_status (*make)(All...), const Given&... given) {
    done(make(given..., &handle_));
  }
  ~Kept() { CHECK(kDestroy(handle_) == HEED_OK); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  T** out() {
    REQUIRE(handle_ == nullptr);
    return &handle_;
  }
  operator T*() const { return handle_; }
  // The number of a destroyed handle.
  T* gone() {
    T* number = handle_;
    CHECK(kDestroy(handle_) == HEED_OK);
    handle_ = nullptr;
    return number;
  }

 private:
  T* handle_ = nullptr;
};
using KeptBlob = Kept<heed_blob, heed_blob_destroy>;
using KeptDevice = Kept<heed_device, heed_device_destroy>;
using KeptWeights = Kept<heed_weights, heed_weights_destroy>;
using KeptGraph = Kept<heed_graph, heed_graph_destroy>;
using KeptPlan = Kept<heed_plan, heed_plan_destroy>;
using KeptState = Kept<heed_state, heed_state_destroy>;
using KeptCheckpoint = Kept<heed_checkpoint, heed_checkpoint_destroy>;
using KeptModel = Kept<heed_decoder_model, heed_decoder_model_destroy>;
using KeptTokenizer = Kept<heed_tokenizer, heed_tokenizer_destroy>;
using KeptMap = Kept<heed_attention_map, heed_attention_map_destroy>;
using KeptEncoder = Kept<heed_text_encoder, heed_text_encoder_destroy>;
using KeptGenerator = Kept<heed_text_generator, heed_text_generator_destroy>;
using KeptConversation = Kept<heed_conversation, heed_conversation_destroy>;
using KeptRecognizer = Kept<heed_speech_recognizer, heed_speech_recognizer_destroy>;
using KeptStream = Kept<heed_speech_stream, heed_speech_stream_destroy>;
using KeptSpeech = Kept<heed_speech_text, heed_speech_text_destroy>;
using KeptOptimizer = Kept<heed_optimizer, heed_optimizer_destroy>;
using KeptSubmitter = Kept<heed_submitter, heed_submitter_destroy>;

inline void refused(heed_status got, heed_status wanted, const char* text) {
  const std::string message = heed_last_message();
  INFO("the message: " << message);
  CHECK(std::string(heed_status_text(got)) == heed_status_text(wanted));
  CHECK(message.find(text) != std::string::npos);
}

// A struct with its defaults, or zeros if it has no init function, and its size.
template <class T>
T sized() {
  T made = {};
  made.size = sizeof(T);
#define HEED_C(name)                                                    \
  if constexpr (std::is_same_v<decltype(&(name)), heed_status (*)(T*)>) \
    if (std::string_view(#name).ends_with("_init")) done(name(&made));
#include "c/functions.inc"
#undef HEED_C
  return made;
}

inline std::string text_of(heed_blob* blob) {
  return {static_cast<const char*>(heed_blob_data(blob)), heed_blob_size(blob)};
}

inline heed_run_info run_info(std::span<const heed_input> inputs, std::span<const heed_output> outputs,
                              heed_state* state = nullptr) {
  auto info = sized<heed_run_info>();
  info.inputs = inputs.data();
  info.input_count = inputs.size();
  info.outputs = outputs.data();
  info.output_count = outputs.size();
  info.state = state;
  return info;
}
// Runs a plan with inputs and outputs by name, through C only.
inline void run(heed_plan* plan, std::vector<heed_input> inputs, std::vector<heed_output> outputs,
                heed_state* state = nullptr) {
  const heed_run_info info = run_info(inputs, outputs, state);
  done(heed_plan_run(plan, &info));
}
template <class T>
heed_input in(const char* name, const std::vector<T>& values) {
  return {name, values.data(), values.size() * sizeof(T), HEED_DTYPE_DEFAULT, 0};
}
inline heed_output out(const char* name, std::vector<float>& values) {
  return {name, values.data(), values.size() * sizeof(float), HEED_F32, 0};
}

inline KeptDevice open_c(const char* word) {
  auto options = sized<heed_device_options>();
  options.select = word;
  options.self_test = 0;
  return KeptDevice(heed_device_open, &options);
}

}  // namespace heed::test
