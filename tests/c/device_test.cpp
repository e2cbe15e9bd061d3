// Devices and weights through the C interface.
#include "c/kept.hpp"

namespace heed::test {

TEST_CASE("C: the list of devices is C++'s", "[c]") {
  std::vector<DeviceInfo> want;
  REQUIRE(Device::list({}, &want) == Status::Ok);
  heed_device_list* list = nullptr;
  done(heed_device_list_create(nullptr, &list));
  REQUIRE(heed_device_list_count(list) == want.size());
  auto info = sized<heed_device_info>();
  for (size_t i = 0; i < want.size(); ++i) {
    done(heed_device_list_get_info(list, i, &info));
    CHECK(info.word == want[i].word);
    CHECK(info.name == want[i].name);
    CHECK(info.kind == static_cast<int32_t>(want[i].kind));
    REQUIRE(info.limit_count == want[i].limits.size());
    for (size_t j = 0; j < info.limit_count; ++j) CHECK(info.limits[2 * j + 1] == want[i].limits[j].second);
  }
  refused(heed_device_list_get_info(list, want.size(), &info), HEED_INDEX_OUT_OF_RANGE, "there is no");
  done(heed_device_list_destroy(list));
  heed_device* none = nullptr;
  auto options = sized<heed_device_options>();
  options.select = "no such device";
  refused(heed_device_open(&options, &none), HEED_NOT_FOUND, "no such device");
  CHECK(none == nullptr);
}

TEST_CASE("C: uploads tell how far they are and what they have read", "[c]") {
  KeptDevice device = open_c("cpu");
  const std::vector<float> values(128, 0.5f);
  const int64_t shape[] = {8, 16};
  heed_host_tensor tensors[] = {{"a", shape, 2, values.data(), 512, HEED_F32, 0},
                                {"b", shape, 1, values.data(), 32, HEED_F32, 0}};
  struct Seen {
    uint64_t done = 0, total = 0;
    size_t released = 0;
  } seen;
  auto options = sized<heed_upload_options>();
  options.dtype = HEED_BF16;
  options.only_matrices = 1;
  options.progress_user = options.release_user = &seen;
  options.progress = [](void* user, uint64_t now, uint64_t total) {
    static_cast<Seen*>(user)->done = now;
    static_cast<Seen*>(user)->total = total;
  };
  options.release = [](void* user, const void*, size_t bytes) { static_cast<Seen*>(user)->released += bytes; };
  uint64_t wanted = 0, plain = 0;
  done(heed_device_upload_bytes(device, tensors, 2, &options, &wanted));
  done(heed_device_upload_bytes(device, tensors, 2, nullptr, &plain));
  CHECK(wanted < plain);
  KeptWeights weights(heed_device_upload, device, tensors, 2, &options);
  CHECK((seen.done == seen.total && seen.total > 0));
  CHECK(seen.released == 544);

  heed_weights* none = nullptr;
  tensors[0].bytes = 511;
  refused(heed_device_upload(device, tensors, 2, nullptr, &none), HEED_SHAPE_MISMATCH, "511");
  tensors[0].bytes = 512;
  tensors[1].name = "a";
  CHECK(heed_device_upload(device, tensors, 2, nullptr, &none) == HEED_INVALID_ARGUMENT);
  tensors[1].name = nullptr;
  refused(heed_device_upload(device, tensors, 2, nullptr, &none), HEED_INVALID_ARGUMENT, "name is NULL");
  refused(heed_device_upload(device, nullptr, 2, nullptr, &none), HEED_INVALID_ARGUMENT, "tensors is NULL");
  options.dtype = HEED_DTYPE_DEFAULT;
  refused(heed_device_upload(device, tensors, 1, &options, &none), HEED_INVALID_ARGUMENT, "only_matrices");
  CHECK(none == nullptr);
}

TEST_CASE("C: self-test, tuning and caches of the CPU are empty", "[c]") {
  KeptDevice device = open_c("cpu");
  heed_self_test_report* report = nullptr;
  done(heed_device_self_test(device, 0, &report));
  CHECK(heed_self_test_report_count(report) == 0);
  CHECK(heed_self_test_report_passed(report) == 1);
  KeptBlob blob(heed_self_test_report_blob, report);
  auto kernel = sized<heed_kernel_test>();
  CHECK(heed_self_test_report_kernel(report, 0, &kernel) == HEED_INDEX_OUT_OF_RANGE);
  done(heed_self_test_report_destroy(report));

  heed_tuning_report* tuning = nullptr;
  done(heed_device_tune(device, 10, &tuning));
  CHECK(heed_tuning_report_count(tuning) == 0);
  auto tuned = sized<heed_tuned>();
  CHECK(heed_tuning_report_get(tuning, 0, &tuned) == HEED_INDEX_OUT_OF_RANGE);
  KeptBlob choices(heed_tuning_report_blob, tuning);
  done(heed_tuning_report_destroy(tuning));
  CHECK(heed_device_use_tuning(device, "damaged", 7) == HEED_UNSUPPORTED);

  KeptBlob cache(heed_device_pipeline_cache, device);
  CHECK(heed_blob_size(cache) == 0);
  CHECK(heed_blob_data(cache) != nullptr);
  uint64_t scratch = 1;
  done(heed_device_scratch_bytes(device, &scratch));
  CHECK(scratch == 0);
}

}  // namespace heed::test
