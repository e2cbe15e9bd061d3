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
  return dtype < 0 || dtype >= heed::kDTypes ? "?" : heed::to_string(static_cast<heed::DType>(dtype));
}

uint64_t heed_dtype_bytes(heed_dtype dtype, uint64_t elements) {
  return dtype < 0 || dtype >= heed::kDTypes ? 0 : heed::bytes_of(static_cast<heed::DType>(dtype), elements);
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

static_assert(HEED_MAX_RANK == heed::kMaxRank);
