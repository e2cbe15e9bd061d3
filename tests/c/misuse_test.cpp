// Every function of the C interface, with handles that are none and with nothing at all.
#include <thread>
#include <type_traits>

#include "c/kept.hpp"

namespace heed::test {
namespace {

template <class T>
concept IsHandle =
    std::is_same_v<T, heed_blob> || std::is_same_v<T, heed_device> || std::is_same_v<T, heed_device_list> ||
    std::is_same_v<T, heed_weights> || std::is_same_v<T, heed_self_test_report> ||
    std::is_same_v<T, heed_tuning_report> || std::is_same_v<T, heed_graph> || std::is_same_v<T, heed_plan> ||
    std::is_same_v<T, heed_run> || std::is_same_v<T, heed_state> || std::is_same_v<T, heed_checkpoint> ||
    std::is_same_v<T, heed_decoder_model> || std::is_same_v<T, heed_tokenizer> ||
    std::is_same_v<T, heed_attention_map> || std::is_same_v<T, heed_text_encoder> ||
    std::is_same_v<T, heed_text_generator> || std::is_same_v<T, heed_conversation> ||
    std::is_same_v<T, heed_submitter> || std::is_same_v<T, heed_optimizer> || std::is_same_v<T, heed_bits_report>;

// Calls a function with this handle first and zeros behind it. False if its first parameter is no handle.
template <class Result, class First, class... Rest>
bool call_with(Result (*function)(First, Rest...), uintptr_t handle, Result* result) {
  if constexpr (std::is_pointer_v<First>) {
    if constexpr (IsHandle<std::remove_pointer_t<First>>) {
      *result = function(reinterpret_cast<First>(handle), Rest{}...);
      return true;
    }
  }
  return false;
}

template <class Result>
bool call_with(Result (*)(), uintptr_t, Result*) {
  return false;
}

// What a function without handles does with zeros is no crash.
template <class Result, class... All>
void call_with_nothing(Result (*function)(All...)) {
  (void)function(All{}...);
}

struct BadHandle {
  uintptr_t number;
  const char* text;
};

// Every kind of function answers a handle that is none as its header says.
template <class Result, class... All>
int check_function(const char* name, Result (*function)(All...), std::span<const BadHandle> handles) {
  INFO(name);
  const std::string_view text = name;
  const bool destroys = text.ends_with("_destroy");
  for (const BadHandle& bad : handles) {
    INFO(bad.text);
    Result result{};
    if (!call_with(function, bad.number, &result)) {
      call_with_nothing(function);
      return 0;
    }
    if (destroys && bad.number == 0) {
      CHECK(result == Result{});
      continue;
    }
    if constexpr (std::is_same_v<Result, heed_status>) {
      // Some return a bool or a tensor of the same type, which is then 0.
      if (text == "heed_self_test_report_passed")
        CHECK(result == 0);
      else
        CHECK(result == HEED_INVALID_ARGUMENT);
    } else {
      CHECK(result == Result{});
    }
    const std::string message = heed_last_message();
    INFO(message);
    CHECK(message.starts_with(name));
    // A call may have found something else first; functions that only take a handle have nothing else.
    if (destroys) CHECK(message.find(bad.text) != std::string::npos);
  }
  return 1;
}

TEST_CASE("C: every function refuses handles that are none", "[c][misuse]") {
  KeptDevice device;
  open_c("cpu", &device);
  KeptGraph graph;
  done(heed_graph_create(graph.out()));
  const auto gone = reinterpret_cast<uintptr_t>(graph.gone());
  const auto alive = reinterpret_cast<uintptr_t>(static_cast<heed_device*>(device));
  // A handle's lowest five bits are its kind, of which there are fewer than 31.
  const BadHandle handles[] = {{0, "is NULL"},
                               {4096, "is no handle of heed"},
                               {reinterpret_cast<uintptr_t>(&device), "is no handle of heed"},
                               {alive | 31, "is no handle of heed"},
                               {UINTPTR_MAX, "is no handle of heed"}};
  int with_handles = 0, all = 0;
#define HEED_C(name) with_handles += check_function(#name, name, handles), ++all;
#include "c/functions.inc"
#undef HEED_C
  CHECK(all > 200);
  CHECK(with_handles > 150);
  // Of another kind, and destroyed.
  refused(heed_plan_destroy(reinterpret_cast<heed_plan*>(alive)), HEED_INVALID_ARGUMENT,
          "plan is a handle of another kind");
  refused(heed_device_destroy(reinterpret_cast<heed_device*>(gone)), HEED_INVALID_ARGUMENT, "another kind");
  refused(heed_graph_destroy(reinterpret_cast<heed_graph*>(gone)), HEED_INVALID_ARGUMENT, "graph was destroyed");
  refused(heed_graph_get_status(reinterpret_cast<heed_graph*>(gone)), HEED_INVALID_ARGUMENT, "graph was destroyed");
  // The place of the destroyed graph goes to another, whose handle differs.
  KeptGraph next;
  done(heed_graph_create(next.out()));
  CHECK(reinterpret_cast<uintptr_t>(static_cast<heed_graph*>(next)) != gone);
  refused(heed_graph_destroy(reinterpret_cast<heed_graph*>(gone)), HEED_INVALID_ARGUMENT, "graph was destroyed");
  done(heed_graph_get_status(next));
}

TEST_CASE("C: structs of another size are refused", "[c][misuse]") {
  heed_device* device = nullptr;
  heed_device_options options = {};
  options.select = "cpu";
  refused(heed_device_open(&options, &device), HEED_INVALID_ARGUMENT, "heed_device_options has the size 0");
  CHECK(device == nullptr);
  refused(heed_device_options_init(nullptr), HEED_INVALID_ARGUMENT, "options is NULL");
  done(heed_device_options_init(&options));
  options.select = "cpu";
  // Smaller and larger ones, and those that end inside of a member: nothing behind the size is read.
  struct Larger {
    heed_device_options options;
    uint64_t unknown[2];
  } larger = {options, {}};
  larger.options.log = reinterpret_cast<const heed_log*>(uintptr_t{16});
  for (size_t size = 0; size <= sizeof(larger); ++size) {
    if (size == sizeof(options)) continue;
    larger.options.size = size;
    INFO(size);
    refused(heed_device_open(&larger.options, &device), HEED_INVALID_ARGUMENT, "_init");
  }
  done(heed_device_open(&options, &device));

  // Of a struct that heed fills, too.
  auto info = sized<heed_device_info>();
  for (const size_t size : {size_t{0}, offsetof(heed_device_info, driver) + 1, sizeof(info) + 8}) {
    info.size = size;
    info.driver = "untouched";
    refused(heed_device_get_info(device, &info), HEED_INVALID_ARGUMENT, "sizeof");
    CHECK(std::string_view(info.driver) == "untouched");
  }
  done(heed_device_destroy(device));
}

TEST_CASE("C: messages are the thread's own", "[c][misuse]") {
  refused(heed_graph_create(nullptr), HEED_INVALID_ARGUMENT, "heed_graph_create: graph is NULL");
  std::thread([] {
    CHECK(std::string_view(heed_last_message()).empty());
    CHECK(heed_graph_get_status(nullptr) == HEED_INVALID_ARGUMENT);
  }).join();
  CHECK(std::string_view(heed_last_message()) == "heed_graph_create: graph is NULL");
  // What works leaves the last failure's message.
  KeptGraph graph;
  done(heed_graph_create(graph.out()));
  CHECK(std::string_view(heed_last_message()) == "heed_graph_create: graph is NULL");
}

TEST_CASE("C: names and versions", "[c]") {
  CHECK(heed_version() == HEED_VERSION_NUMBER);
  CHECK((heed_has_vulkan() == 0 || heed_has_vulkan() == 1));
  CHECK(std::string_view(heed_status_text(HEED_OK)) == "Ok");
  CHECK(std::string_view(heed_status_text(HEED_FILE_ERROR)) == "FileError");
  CHECK(std::string_view(heed_status_text(HEED_FILE_ERROR + 1)) == "?");
  CHECK(std::string_view(heed_status_text(-1)) == "?");
  CHECK(std::string_view(heed_dtype_text(HEED_BF16)) == "bf16");
  CHECK(std::string_view(heed_dtype_text(HEED_DTYPE_DEFAULT)) == "?");
  CHECK(std::string_view(heed_dtype_text(HEED_Q6_K + 1)) == "?");
  CHECK(heed_dtype_bytes(HEED_F16, 7) == 14);
  CHECK(heed_dtype_bytes(HEED_Q4_1, 64) == 40);
  CHECK(heed_dtype_bytes(99, 64) == 0);
}

TEST_CASE("C: threads make, use and destroy handles at once", "[c][threads]") {
  KeptDevice device;
  open_c("cpu", &device);
  heed_device* shared = device;
  std::vector<std::thread> threads;
  std::array<int, 4> rounds{};
  for (size_t t = 0; t < rounds.size(); ++t)
    threads.emplace_back([shared, t, &rounds] {
      for (int i = 0; i < 200; ++i) {
        heed_graph* graph = nullptr;
        auto info = sized<heed_device_info>();
        const bool good = heed_graph_create(&graph) == HEED_OK && heed_device_get_info(shared, &info) == HEED_OK &&
                          heed_graph_extent(graph, "n", 4) < 0 && heed_graph_destroy(graph) == HEED_OK &&
                          heed_graph_destroy(graph) == HEED_INVALID_ARGUMENT;
        rounds[t] += good ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int good : rounds) CHECK(good == 200);

  // A handle may be destroyed beside calls: each call either has the object or is told that it is gone.
  heed_blob* blob = nullptr;
  done(heed_device_pipeline_cache(shared, &blob));
  std::array<int, 2> wrong{};
  std::vector<std::thread> readers;
  for (size_t t = 0; t < wrong.size(); ++t)
    readers.emplace_back([blob, t, &wrong] {
      for (int i = 0; i < 2000; ++i) {
        const void* data = heed_blob_data(blob);
        if (data == nullptr && std::string_view(heed_last_message()).find("was destroyed") == std::string_view::npos)
          ++wrong[t];
      }
    });
  done(heed_blob_destroy(blob));
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == std::array<int, 2>{});
}

}  // namespace
}  // namespace heed::test
