// Every function of the C interface with handles that are NULL, freed, made up or of another kind, and with nothing but its handle.
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "c/kept.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

// A function's name, and a call with a handle, if its first parameter is one, and zeros.
struct Function {
  const char* name;
  bool takes_handle, gives_status, destroys;
  int64_t (*call)(void* handle);
};

template <class T>
inline constexpr bool kIsHandle =
    std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>> && std::is_class_v<std::remove_pointer_t<T>>;
template <class T>
concept Complete = requires { sizeof(T); };

template <auto kFunction, class Result, class... Parameters>
int64_t call_first(void* first, Result (*)(Parameters...)) {
  bool is_first = true;
  [[maybe_unused]] const auto argument = [&]<class T>(std::type_identity<T>) -> T {
    if constexpr (kIsHandle<T>)
      if (std::exchange(is_first, false)) return static_cast<T>(first);
    is_first = false;
    return T{};
  };
  // Braces put the arguments in their order.
  std::tuple<Parameters...> arguments{argument(std::type_identity<Parameters>())...};
  const Result result = std::apply(kFunction, arguments);
  if constexpr (std::is_pointer_v<Result>)
    return result != nullptr;
  else
    return static_cast<int64_t>(result);
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
template <class Result, class... Parameters>
constexpr bool gives_status(Result (*)(Parameters...), std::string_view name) {
  return std::is_same_v<Result, heed_status> && !name.ends_with("_passed") && name != "heed_has_vulkan";
}

const Function kFunctions[] = {
#define HEED_C(name)                                                                                    \
  {#name, takes_handle(name), gives_status(name, #name), std::string_view(#name).ends_with("_destroy"), \
   [](void* first) { return call_first<name>(first, name); }},
#include "c/symbols.inc"
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
    done(heed_checkpoint_open(HEED_SOURCE_DIR "/tests/models/llama.gguf", nullptr, checkpoint.out()));
    done(heed_decoder_model_open(HEED_SOURCE_DIR "/tests/models/llama.gguf", nullptr, model.out()));
    done(heed_text_generator_open(device, kTinySpeaker, nullptr, generator.out()));
    done(heed_text_generator_tokenizer(generator, tokenizer.out()));
    const int32_t ids[] = {1, 2};
    done(heed_text_generator_attention(generator, ids, 2, map.out()));
    done(heed_conversation_begin(generator, nullptr, conversation.out()));
    handles = {blob, device, list,       weights, tested,    tuned, graph,     plan,
               run,  state,  checkpoint, model,   tokenizer, map,   generator, conversation};
  }
  ~Everything() {
    CHECK(heed_run_destroy(run) == HEED_OK);
    CHECK(heed_device_list_destroy(list) == HEED_OK);
    CHECK(heed_self_test_report_destroy(tested) == HEED_OK);
    CHECK(heed_tuning_report_destroy(tuned) == HEED_OK);
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
  KeptCheckpoint checkpoint;
  KeptModel model;
  KeptGenerator generator;
  KeptTokenizer tokenizer;
  KeptMap map;
  KeptConversation conversation;
  std::vector<void*> handles;
};

}  // namespace

TEST_CASE("C: every function refuses what is no handle", "[c]") {
  size_t with_handles = 0;
  for (const Function& function : kFunctions) {
    if (!function.takes_handle) continue;
    ++with_handles;
    heed_graph* freed = nullptr;
    done(heed_graph_create(&freed));
    done(heed_graph_destroy(freed));
    int on_stack = 0;
    void* const wrong[] = {nullptr,
                           freed,
                           &on_stack,
                           reinterpret_cast<void*>(uintptr_t{1}),
                           reinterpret_cast<void*>(UINTPTR_MAX),
                           reinterpret_cast<void*>(~(UINTPTR_MAX >> 1))};
    for (void* handle : wrong) {
      INFO(function.name << " of " << handle);
      const int64_t got = function.call(handle);
      if (function.destroys && handle == nullptr)
        CHECK(got == HEED_OK);
      else if (function.gives_status)
        CHECK(got == HEED_INVALID_ARGUMENT);
      else
        CHECK(got == 0);
    }
  }
  CHECK(with_handles > 180);
}

TEST_CASE("C: every function with nothing but its handle, and with a handle of each other kind", "[c][slow]") {
  Everything all;
  for (const Function& function : kFunctions) {
    if (function.destroys) continue;
    INFO(function.name);
    if (!function.takes_handle) {
      (void)function.call(nullptr);
      continue;
    }
    size_t kinds = 0;
    for (void* handle : all.handles) {
      (void)function.call(handle);
      kinds += std::string_view(heed_last_message()).find("another kind") == std::string_view::npos;
    }
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

TEST_CASE("C: structs of other versions", "[c]") {
  // A shorter struct: its members count, and what is behind it is not read.
  struct Short {
    size_t size;
    const char* select;
  };
  const Short older = {sizeof(Short), "cpu"};
  KeptDevice device;
  done(heed_device_open(reinterpret_cast<const heed_device_options*>(&older), device.out()));

  // A longer one is fine as long as what this heed does not know is 0.
  struct Long {
    heed_device_options known;
    uint64_t later;
  };
  Long newer = {};
  newer.known.size = sizeof(Long);
  newer.known.select = "cpu";
  KeptDevice second;
  done(heed_device_open(&newer.known, second.out()));
  newer.later = 1;
  heed_device* third = reinterpret_cast<heed_device*>(uintptr_t{8});
  refused(heed_device_open(&newer.known, &third), HEED_UNSUPPORTED, "does not know");
  CHECK(third == nullptr);

  for (const size_t size : {size_t{0}, size_t{7}, SIZE_MAX}) {
    heed_device_options wrong = {};
    wrong.size = size;
    refused(heed_device_open(&wrong, &third), HEED_INVALID_ARGUMENT, "has the size");
  }

  // Structs that heed fills: the first bytes only.
  heed_device_info info;
  std::memset(static_cast<void*>(&info), 0x5a, sizeof(info));
  info.size = offsetof(heed_device_info, name);
  const char* const untouched = info.name;
  done(heed_device_get_info(device, &info));
  CHECK(std::string(info.word) == "cpu");
  CHECK(info.name == untouched);
}

TEST_CASE("C: tensors and sizes of another graph are the graph's mistake", "[c]") {
  KeptGraph one, other;
  done(heed_graph_create(one.out()));
  done(heed_graph_create(other.out()));
  const heed_dim tokens = heed_graph_extent(one, "tokens", 7), foreign = heed_graph_extent(other, "tokens", 7);
  CHECK(tokens < 0);
  CHECK(tokens != foreign);
  const heed_dim good[] = {tokens, 3};
  const heed_tensor x = heed_graph_input(one, "x", good, 2, HEED_F32);
  const heed_tensor theirs = heed_graph_input(other, "x", good + 1, 1, HEED_F32);
  REQUIRE(x != 0);
  REQUIRE(theirs != 0);
  for (int what = 0; what < 6; ++what) {
    INFO("mistake " << what);
    KeptGraph copy;
    done(heed_graph_clone(one, copy.out()));
    const heed_dim bad[] = {foreign, 3}, nonsense[] = {-1, INT64_MIN};
    heed_tensor made = 1;
    switch (what) {
      case 0: made = heed_graph_add(copy, x, theirs); break;
      case 1: made = heed_graph_input(copy, "z", bad, 2, HEED_F32); break;
      case 2: made = heed_graph_input(copy, "z", nonsense, 1, HEED_F32); break;
      case 3: made = heed_graph_input(copy, "z", nonsense + 1, 1, HEED_F32); break;
      case 4: made = heed_graph_activation(copy, 5, HEED_ACTIVATION_RELU); break;
      case 5: made = heed_graph_mean(copy, x, 0, x, 0); break;  // a mask that does not say what it means
    }
    CHECK(made == 0);
    const heed_status status = heed_graph_get_status(copy);
    CHECK(status == HEED_INVALID_ARGUMENT);
    CHECK(std::string(heed_last_message()) != "");
    CHECK(heed_graph_activation(copy, x, HEED_ACTIVATION_RELU) == 0);  // it stays
    CHECK(heed_graph_get_status(copy) == status);
  }
  CHECK(heed_graph_get_status(one) == HEED_OK);
}

}  // namespace heed::test
