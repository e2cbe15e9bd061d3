// Files with named tensors: safetensors, folders of them, and GGUF.
#ifndef HEED_C_FILES_H
#define HEED_C_FILES_H

#include <heed/c/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// A checkpoint is one or several open files, mapped into memory. Pointers that its calls return are valid until it is destroyed; nobody may
// shorten the files meanwhile. Several threads may use it at the same time.
//
// `path` is a .safetensors file, a GGUF file (known by its first bytes), a *.index.json that says which tensor is in which file beside it,
// or a folder with model.safetensors or an index. NotFound: a file is missing or cannot be read. InvalidFile: it is damaged; everything but
// the tensors' values is checked. `log` may be NULL.
HEED_API heed_status heed_checkpoint_open(const char* path, const heed_log* log, heed_checkpoint** checkpoint);
// Reads the bytes of a .safetensors or GGUF file, which must stay in memory until the checkpoint is destroyed. `name` is for messages.
HEED_API heed_status heed_checkpoint_parse(const void* data, size_t bytes, const char* name, const heed_log* log,
                                           heed_checkpoint** checkpoint);
HEED_API heed_status heed_checkpoint_destroy(heed_checkpoint* checkpoint);

HEED_API heed_status heed_checkpoint_bytes(heed_checkpoint* checkpoint, uint64_t* bytes);  // the size of all tensors

// One tensor of the files. Bytes are little-endian and row-major, at any alignment.
typedef struct heed_file_tensor {
  size_t size;
  const char* name;
  const char* type;      // as the file spells it: "F32", "BOOL", "I64", "Q4_1", ...
  const int64_t* shape;  // outermost first
  size_t rank;           // 0: a scalar; may be above HEED_MAX_RANK
  const void* data;
  size_t bytes;
  heed_dtype dtype;  // the storage type that holds it unchanged; HEED_DTYPE_DEFAULT: there is none
  int32_t loadable;  // 1: heed_checkpoint_upload uploads it
} heed_file_tensor;
HEED_API size_t heed_checkpoint_count(heed_checkpoint* checkpoint);  // number of tensors; 0 if the handle is invalid
HEED_API heed_status heed_checkpoint_tensor(heed_checkpoint* checkpoint, size_t index, heed_file_tensor* tensor);
// NotFound: there is no tensor of this name.
HEED_API heed_status heed_checkpoint_find(heed_checkpoint* checkpoint, const char* name, heed_file_tensor* tensor);

// Uploads all tensors that heed can store. Left out are those of other types, without elements, or with more than HEED_MAX_RANK dims.
HEED_API heed_status heed_checkpoint_upload(heed_checkpoint* checkpoint, heed_device* device,
                                            const heed_upload_options* options, heed_weights** weights);

// Metadata of a checkpoint: the keys of GGUF, or __metadata__ of one .safetensors file. A value has one of these kinds.
enum {
  HEED_META_NONE = 0,
  HEED_META_INTEGER = 1,
  HEED_META_NUMBER = 2,
  HEED_META_BOOLEAN = 3,
  HEED_META_TEXT = 4,
  HEED_META_ARRAY = 5
};
// A key of a file's metadata and its value, by kind.
typedef struct heed_meta {
  size_t size;
  const char* name;
  int64_t integer;       // INTEGER; BOOLEAN: 0 or 1
  double number;         // value of a NUMBER or INTEGER
  const char* text;      // a TEXT's bytes as in the file, which may be invalid UTF-8; "" for other kinds
  size_t text_bytes;     // without the final 0
  size_t count;          // number of an ARRAY's elements
  int32_t kind;          // HEED_META_*
  int32_t element_kind;  // kind of an ARRAY's elements
} heed_meta;
HEED_API size_t heed_checkpoint_meta_count(heed_checkpoint* checkpoint);  // 0 if the handle is invalid
HEED_API heed_status heed_checkpoint_meta(heed_checkpoint* checkpoint, size_t index, heed_meta* meta);
// NotFound: there is no such key.
HEED_API heed_status heed_checkpoint_find_meta(heed_checkpoint* checkpoint, const char* name, heed_meta* meta);
// The elements of an array. DTypeMismatch: they are of another kind, or one does not fit.
HEED_API heed_status heed_checkpoint_meta_integers(heed_checkpoint* checkpoint, const char* name, int64_t* values,
                                                   size_t capacity, size_t* count);
HEED_API heed_status heed_checkpoint_meta_numbers(heed_checkpoint* checkpoint, const char* name, float* values,
                                                  size_t capacity, size_t* count);
// Texts are valid until the checkpoint is destroyed.
HEED_API heed_status heed_checkpoint_meta_texts(heed_checkpoint* checkpoint, const char* name, const char** values,
                                                size_t capacity, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
