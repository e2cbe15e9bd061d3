#include <zlib.h>

#include <bit>

#include "base/try_resize.hpp"
#include "kernels/kernel_table.hpp"

namespace heed {
namespace {

constexpr int kGzip = 16 + MAX_WBITS;  // zlib's flag for the gzip format

Status inflate_all(const PackedSpirv& module, std::vector<uint32_t>* words) {
  z_stream stream = {};
  stream.next_in = const_cast<unsigned char*>(module.bytes);
  stream.avail_in = module.byte_count;
  stream.next_out = reinterpret_cast<unsigned char*>(words->data());
  stream.avail_out = module.word_count * static_cast<uint32_t>(sizeof(uint32_t));
  if (inflateInit2(&stream, kGzip) != Z_OK) return Status::OutOfMemory;
  const int result = inflate(&stream, Z_FINISH);
  const bool is_whole = stream.avail_out == 0;
  inflateEnd(&stream);
  if (result == Z_MEM_ERROR) return Status::OutOfMemory;
  return result == Z_STREAM_END && is_whole ? Status::Ok : Status::InvalidFile;
}

}  // namespace

Status unpack(const PackedSpirv& module, std::vector<uint32_t>* words) {
  words->clear();
  if (!try_resize(words, module.word_count)) return Status::OutOfMemory;
  const Status status = inflate_all(module, words);
  if (status != Status::Ok) words->clear();
  if constexpr (std::endian::native == std::endian::big)  // the files are little-endian
    for (uint32_t& word : *words) word = word << 24 | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u) | word >> 24;
  return status;
}

}  // namespace heed
