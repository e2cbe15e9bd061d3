// Every function of the C interface with a live handle of every kind, its own and all others, and zeros behind it.
#include <type_traits>

#include "c/kept.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

struct Function {
  const char* name;
  bool takes_handle, destroys;
  // With zeros behind the handle. True if it was refused: InvalidArgument, or no tensor, size or text.
  bool (*call)(void* handle);
};

template <class T>
inline constexpr bool kIsHandle =
    std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>> && std::is_class_v<std::remove_pointer_t<T>>;
template <class T>
concept Complete = requires { sizeof(T); };

template <auto kFunction, class First, class... Rest>
auto call_with(void* first, std::type_identity<First>, std::type_identity<Rest>...) {
  if constexpr (kIsHandle<First>)
    return kFunction(static_cast<First>(first), Rest{}...);
  else
    return kFunction(First{}, Rest{}...);
}
template <auto kFunction>
auto call_with(void*) {
  return kFunction();
}
template <auto kFunction, class Result, class... Parameters>
bool call_first(void* first, Result (*)(Parameters...)) {
  const Result result = call_with<kFunction>(first, std::type_identity<Parameters>()...);
  if constexpr (std::is_same_v<Result, heed_status>) return result == HEED_INVALID_ARGUMENT;
  return result == Result{};
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
   [](void* first) { return call_first<name>(first, name); }},
#include "c/functions.inc"
#include "harness/source_path.hpp"
#undef HEED_C
};

// One live handle of each kind that needs no file of a sentence encoder.
struct Everything {
  Everything() {
    open_c("cpu", &device);
    done(heed_device_list_create(nullptr, &list));
    done(heed_graph_create(graph.out()));
    const heed_dim shape[] = {1, 4};
    const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
    const heed_tensor kept = heed_graph_state(graph, "kept", shape, 2, HEED_F32);
    done(heed_graph_output(graph, "y", heed_graph_assign(graph, kept, heed_graph_add(graph, kept, x))));
    done(heed_device_upload(device, nullptr, 0, nullptr, weights.out()));
    done(heed_device_compile(device, graph, weights, nullptr, plan.out()));
    done(heed_plan_make_state(plan, state.out()));
    const heed_input inputs[] = {{"x", from, sizeof(from), HEED_F32, 0}};
    const heed_output outputs[] = {{"y", to, sizeof(to), HEED_F32, 0}};
    auto info = sized<heed_run_info>();
    info.inputs = inputs;
    info.input_count = 1;
    info.outputs = outputs;
    info.output_count = 1;
    info.state = state;
    done(heed_plan_start(plan, &info, &run));
    done(heed_state_save(state_after_run(), blob.out()));
    done(heed_device_self_test(device, 0, &tested));
    done(heed_device_tune(device, 0, &tuned));
    done(heed_device_operation_bits(device, &bits));
    done(heed_checkpoint_open(source_path("tests/models/llama.gguf").c_str(), nullptr, checkpoint.out()));
    done(heed_decoder_model_open(source_path("tests/models/llama.gguf").c_str(), nullptr, model.out()));
    done(heed_text_generator_open(device, kTinySpeaker.c_str(), nullptr, generator.out()));
    done(heed_text_generator_tokenizer(generator, tokenizer.out()));
    const int32_t ids[] = {1, 2};
    done(heed_text_generator_attention(generator, ids, 2, map.out()));
    done(heed_conversation_begin(generator, nullptr, conversation.out()));
    done(heed_optimizer_create(nullptr, optimizer.out()));
    handles = {blob,  device,     list,  weights,   tested, tuned,     graph,        plan,      run,
               state, checkpoint, model, tokenizer, map,    generator, conversation, optimizer, bits};
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
  KeptDevice device;
  heed_device_list* list = nullptr;
  KeptGraph graph;
  KeptWeights weights;
  KeptPlan plan;
  KeptState state;
  heed_run* run = nullptr;
  KeptBlob blob;
  heed_self_test_report* tested = nullptr;
  heed_tuning_report* tuned = nullptr;
  heed_bits_report* bits = nullptr;
  KeptCheckpoint checkpoint;
  KeptModel model;
  KeptGenerator generator;
  KeptTokenizer tokenizer;
  KeptMap map;
  KeptConversation conversation;
  KeptOptimizer optimizer;
  std::vector<void*> handles;
};

}  // namespace

TEST_CASE("C: every function with a handle of every kind and zeros", "[c][misuse]") {
  Everything all;
  for (const Function& function : kFunctions) {
    if (function.destroys) continue;
    INFO(function.name);
    if (!function.takes_handle) {
      (void)function.call(nullptr);
      continue;
    }
    size_t refusals = 0;
    for (void* handle : all.handles) refusals += function.call(handle);
    if (std::string_view(function.name) == "heed_self_test_report_passed") continue;  // its 0 is no status
    CHECK(refusals >= all.handles.size() - 1);  // its own kind may have found something else
    // What was refused is still there.
    CHECK(heed_blob_size(all.blob) > 0);
  }
  // Nothing of it has harmed the objects: a run gives the state's second sum.
  const heed_input inputs[] = {{"x", all.from, sizeof(all.from), HEED_F32, 0}};
  const heed_output outputs[] = {{"y", all.to, sizeof(all.to), HEED_F32, 0}};
  auto info = sized<heed_run_info>();
  info.inputs = inputs;
  info.input_count = 1;
  info.outputs = outputs;
  info.output_count = 1;
  info.state = all.state;
  done(heed_state_clear(all.state));
  done(heed_plan_run(all.plan, &info));
  CHECK(std::vector<float>(all.to, all.to + 4) == std::vector<float>{1, 2, 3, 4});
}

}  // namespace heed::test
