// Calls every function of the C interface with handles of every kind, live, destroyed or null, and with zeros as other arguments.
#include <type_traits>

#include "c/kept.hpp"
#include "harness/source_path.hpp"
#include "search/support.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

struct Function {
  const char* name;
  bool takes_handle, destroys;
  // Once with zeros after the handle, and once with a name and a place for a new handle where the function has such parameters. An absent
  // tensor, a size of 0 and an empty text count as InvalidArgument.
  heed_status (*call)(void* handle, bool zeros);
};

template <class T>
inline constexpr bool kIsHandle =
    std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>> && std::is_class_v<std::remove_pointer_t<T>>;
template <class T>
concept Complete = requires { sizeof(T); };

// An argument after the handle: zero, or a name or a place for a new handle.
template <class T>
T argument(bool zeros) {
  if constexpr (std::is_same_v<T, const char*>) return zeros ? nullptr : "a";
  if constexpr (std::is_pointer_v<T>)
    if constexpr (kIsHandle<std::remove_pointer_t<T>>) {
      static std::remove_pointer_t<T> made;
      return zeros ? nullptr : &made;
    }
  return T{};
}
template <auto kFunction, class First, class... Rest>
auto call_with(void* first, bool zeros, std::type_identity<First>, std::type_identity<Rest>...) {
  if constexpr (kIsHandle<First>)
    return kFunction(static_cast<First>(first), argument<Rest>(zeros)...);
  else
    return kFunction(First{}, Rest{}...);
}
template <auto kFunction>
auto call_with(void*, bool) {
  return kFunction();
}
template <auto kFunction, class Result, class... Parameters>
heed_status call_first(void* first, bool zeros, Result (*)(Parameters...)) {
  const Result result = call_with<kFunction>(first, zeros, std::type_identity<Parameters>()...);
  if constexpr (std::is_same_v<Result, heed_status>) return result;
  return result == Result{} ? HEED_INVALID_ARGUMENT : HEED_OK;
}

template <class Result, class First, class... Others>
constexpr bool takes_handle(Result (*)(First, Others...)) {
  if constexpr (kIsHandle<First>) return !Complete<std::remove_pointer_t<First>>;
  return false;
}
template <class Result>
constexpr bool takes_handle(Result (*)()) {
  return false;
}
const Function kFunctions[] = {
#define HEED_C(name)                                                         \
  {#name, takes_handle(name), std::string_view(#name).ends_with("_destroy"), \
   [](void* first, bool zeros) { return call_first<name>(first, zeros, name); }},
#include "c/functions.inc"
#undef HEED_C
};

// One live handle of each kind except heed_submitter.
struct Everything {
  Everything() {
    done(heed_device_list_create(nullptr, &list));
    const heed_dim shape[] = {1, 4};
    const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
    const heed_tensor kept = heed_graph_state(graph, "kept", shape, 2, HEED_F32);
    done(heed_graph_output(graph, "y", heed_graph_assign(graph, kept, heed_graph_add(graph, kept, x))));
    done(heed_device_compile(device, graph, weights, nullptr, plan.out()));
    done(heed_plan_make_state(plan, state.out()));
    const heed_input inputs[] = {{"x", from, sizeof(from), HEED_F32, 0}};
    const heed_output outputs[] = {{"y", to, sizeof(to), HEED_F32, 0}};
    const heed_run_info info = run_info(inputs, outputs, state);
    done(heed_plan_start(plan, &info, &run));
    done(heed_state_save(state_after_run(), blob.out()));
    done(heed_device_self_test(device, 0, &tested));
    done(heed_device_tune(device, 0, &tuned));
    done(heed_device_operation_bits(device, &bits));
    const int32_t ids[] = {1, 2};
    done(heed_text_generator_attention(generator, ids, 2, map.out()));
    handles = {blob,         device,    list,       weights, tested,     tuned,  graph,   plan,
               run,          state,     checkpoint, model,   tokenizer,  map,    encoder, generator,
               conversation, optimizer, bits,       onnx,    recognizer, stream, speech};
  }
  ~Everything() {
    CHECK(heed_run_destroy(run) == HEED_OK);
    CHECK(heed_device_list_destroy(list) == HEED_OK);
    CHECK(heed_self_test_report_destroy(tested) == HEED_OK);
    CHECK(heed_tuning_report_destroy(tuned) == HEED_OK);
    CHECK(heed_bits_report_destroy(bits) == HEED_OK);
  }
  heed_state* state_after_run() {
    done(heed_run_wait(run));
    return state;
  }

  float from[4] = {1, 2, 3, 4}, to[4] = {};
  KeptDevice device = open_c("cpu");
  heed_device_list* list = nullptr;
  KeptGraph graph{heed_graph_create};
  KeptWeights weights{heed_device_upload, device, nullptr, 0, nullptr};
  KeptPlan plan;
  KeptState state;
  heed_run* run = nullptr;
  KeptBlob blob;
  heed_self_test_report* tested = nullptr;
  heed_tuning_report* tuned = nullptr;
  heed_bits_report* bits = nullptr;
  KeptCheckpoint checkpoint{heed_checkpoint_open, source_path("tests/models/llama.gguf").c_str(), nullptr};
  KeptModel model{heed_decoder_model_open, source_path("tests/models/llama.gguf").c_str(), nullptr};
  Kept<heed_onnx_model, heed_onnx_model_destroy> onnx{heed_onnx_model_open,
                                                      source_path("tests/onnx/witness.onnx").c_str(), nullptr};
  KeptEncoder encoder{heed_text_encoder_open, device, tiny_folder().c_str(), nullptr};
  KeptGenerator generator{heed_text_generator_open, device, kTinySpeaker.c_str(), nullptr};
  KeptTokenizer tokenizer{heed_text_generator_tokenizer, generator};
  KeptMap map;
  KeptConversation conversation{heed_conversation_begin, generator, nullptr};
  KeptOptimizer optimizer{heed_optimizer_create, nullptr};
  KeptRecognizer recognizer{heed_speech_recognizer_open, device, source_path("tests/speech/english").c_str(), nullptr};
  KeptStream stream{heed_speech_stream_begin, recognizer, nullptr};
  KeptSpeech speech{heed_speech_recognizer_recognize, recognizer, nullptr, size_t{0}, nullptr};
  std::vector<void*> handles;
};

// Functions that return no status.
bool is_flag(const Function& function) { return std::string_view(function.name) == "heed_self_test_report_passed"; }

// Functions that first check another handle or a pointer, which is NULL here, and not the handle in question.
const std::set<std::string_view> kOthersFirst = {
    "heed_decoder_model_build",  "heed_onnx_model_add",     "heed_optimizer_keep", "heed_optimizer_load_checkpoint",
    "heed_optimizer_loss_scale", "heed_optimizer_settings", "heed_optimizer_step", "heed_optimizer_weights",
    "heed_plan_fork_state",      "heed_plan_make_state_in", "heed_state_copy",     "heed_state_copy_row"};

}  // namespace

TEST_CASE("C: every function refuses handles that are none", "[c][misuse]") {
  KeptDevice device = open_c("cpu");
  struct Bad {
    uintptr_t number;
    const char* text;
  };
  // The lowest five bits of a handle are its kind. No kind is 31.
  const Bad handles[] = {{0, "is NULL"},
                         {4096, "is no handle of heed"},
                         {reinterpret_cast<uintptr_t>(&device), "is no handle of heed"},
                         {reinterpret_cast<uintptr_t>(static_cast<heed_device*>(device)) | 31, "is no handle of heed"},
                         {UINTPTR_MAX, "is no handle of heed"}};
  int with_handles = 0;
  for (const Function& function : kFunctions) {
    INFO(function.name);
    if (!function.takes_handle) (void)function.call(nullptr, true);
    with_handles += function.takes_handle;
    for (const Bad& bad : handles) {
      if (!function.takes_handle) break;
      INFO(bad.text);
      const bool may_be_none = function.destroys && bad.number == 0;
      CHECK(function.call(reinterpret_cast<void*>(bad.number), false) ==
            (may_be_none || is_flag(function) ? HEED_OK : HEED_INVALID_ARGUMENT));
      if (may_be_none) continue;
      const std::string message = heed_last_message();
      CHECK_THAT(message, holds(function.name) && holds(kOthersFirst.contains(function.name) ? "is NULL" : bad.text));
    }
  }
  CHECK(std::size(kFunctions) > 200);
  CHECK(with_handles > 150);
}

TEST_CASE("C: every function refuses handles that were destroyed, and those of other kinds", "[c][misuse]") {
  std::vector<void*> gone;
  {
    const Everything all;
    gone = all.handles;
  }
  for (const Function& function : kFunctions) {
    if (!function.takes_handle) continue;
    INFO(function.name);
    size_t destroyed = 0, others = 0;
    for (void* handle : gone) {
      CHECK(function.call(handle, false) == (is_flag(function) ? HEED_OK : HEED_INVALID_ARGUMENT));
      destroyed += std::string_view(heed_last_message()).ends_with("was destroyed");
      others += std::string_view(heed_last_message()).ends_with("is a handle of another kind");
    }
    if (kOthersFirst.contains(function.name)) continue;
    const std::string_view name = function.name;
    CHECK(destroyed == (name.starts_with("heed_submitter_") && name != "heed_submitter_create" ? 0 : 1));
    CHECK(destroyed + others == gone.size());
  }
  // The slot of a destroyed object is reused with another handle.
  KeptGraph next(heed_graph_create);
  heed_graph* const old = next.gone();
  KeptGraph after(heed_graph_create);
  CHECK(static_cast<heed_graph*>(after) != old);
  refused(heed_graph_destroy(old), HEED_INVALID_ARGUMENT, "graph was destroyed");
  refused(heed_plan_destroy(reinterpret_cast<heed_plan*>(old)), HEED_INVALID_ARGUMENT,
          "plan is a handle of another kind");
  done(heed_graph_get_status(after));
}

TEST_CASE("C: every function with a handle of every kind and zeros", "[c][misuse]") {
  Everything all;
  for (const Function& function : kFunctions) {
    if (function.destroys) continue;
    INFO(function.name);
    if (!function.takes_handle) continue;
    size_t refusals = 0;
    for (void* handle : all.handles) refusals += function.call(handle, true) == HEED_INVALID_ARGUMENT;
    if (is_flag(function)) continue;
    CHECK(refusals >= all.handles.size() - 1);  // the right kind may fail at another argument
    // Objects of refused calls still exist.
    CHECK(heed_blob_size(all.blob) > 0);
  }
  // The calls have not damaged the objects: a run returns the state's second sum.
  const heed_input inputs[] = {{"x", all.from, sizeof(all.from), HEED_F32, 0}};
  const heed_output outputs[] = {{"y", all.to, sizeof(all.to), HEED_F32, 0}};
  const heed_run_info info = run_info(inputs, outputs, all.state);
  done(heed_state_clear(all.state));
  done(heed_plan_run(all.plan, &info));
  CHECK(std::vector<float>(all.to, all.to + 4) == std::vector<float>{1, 2, 3, 4});
}

}  // namespace heed::test
