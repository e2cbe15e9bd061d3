// Versions, names and blobs.
#include "c/call.hpp"

using namespace heed::c;

uint32_t heed_version(void) { return HEED_VERSION_NUMBER; }

const char* heed_status_text(heed_status status) {
  if (status < HEED_OK || status > HEED_FILE_ERROR) return "?";
  return heed::to_string(static_cast<heed::Status>(status));
}

const char* heed_last_message(void) { return last_message(); }

const char* heed_dtype_text(heed_dtype dtype) {
  return dtype < 1 || dtype > heed::kDTypes ? "?" : heed::to_string(static_cast<heed::DType>(dtype - 1));
}

uint64_t heed_dtype_bytes(heed_dtype dtype, uint64_t elements) {
  return dtype < 1 || dtype > heed::kDTypes ? 0 : heed::bytes_of(static_cast<heed::DType>(dtype - 1), elements);
}

const void* heed_blob_data(heed_blob* handle) {
  Call call(__func__);
  const Pin<Blob> blob(call, handle);
  return blob ? blob->bytes.data() : nullptr;
}

size_t heed_blob_size(heed_blob* handle) {
  Call call(__func__);
  const Pin<Blob> blob(call, handle);
  return blob ? blob->size : 0;
}

heed_status heed_blob_destroy(heed_blob* blob) { return destroy<Blob>(__func__, blob); }

// The numbers of the interface are those of the engine.
static_assert(HEED_FILE_ERROR == static_cast<int>(heed::Status::FileError));
static_assert(HEED_INVALID_FILE == static_cast<int>(heed::Status::InvalidFile));
static_assert(HEED_INDEX_OUT_OF_RANGE == static_cast<int>(heed::Status::IndexOutOfRange));
static_assert(HEED_LOG_ERROR == static_cast<int>(heed::LogLevel::Error));
static_assert(HEED_Q6_K == static_cast<int>(heed::DType::Q6_K) + 1 && HEED_Q6_K == heed::kDTypes);
static_assert(HEED_MAX_RANK == heed::kMaxRank);
static_assert(HEED_DEVICE_OTHER_GPU == static_cast<int>(heed::DeviceKind::OtherGpu));
