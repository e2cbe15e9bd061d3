// Sizes, messages, names and threads of the C interface.
#include <thread>

#include "c/kept.hpp"

namespace heed::test {
TEST_CASE("C: structs of another size are refused", "[c][misuse]") {
  heed_device* device = nullptr;
  heed_device_options options = {};
  options.select = "cpu";
  refused(heed_device_open(&options, &device), HEED_INVALID_ARGUMENT, "heed_device_options has the size 0");
  CHECK(device == nullptr);
  refused(heed_device_options_init(nullptr), HEED_INVALID_ARGUMENT, "options is NULL");
  done(heed_device_options_init(&options));
  options.select = "cpu";
  // Tries smaller and larger sizes, and sizes that end inside a member: nothing past the size is read.
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

  // The same for a struct that heed fills.
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
  // A successful call keeps the last failure's message.
  KeptGraph graph(heed_graph_create);
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
  KeptDevice device = open_c("cpu");
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

  // One thread may destroy a handle while others use it: each call either has the object or fails.
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

}  // namespace heed::test
