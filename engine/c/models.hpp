// Functions with which decoders, BERT and language models read their options and files.
#pragma once

#include <heed/decoder.hpp>

#include "c/graph_object.hpp"

namespace heed::c {

heed_decoder_config to_c(const DecoderConfig& config);

// Checks that the caller has room for the attention weights of all layers, if it requests them. This is not a mistake of the graph.
inline bool has_room(Building& on, bool is_asked, int64_t layers, const heed_tensor* attention, size_t capacity) {
  Call& call = on.call();
  if (!is_asked || layers <= 0 || !on) return !call.failed();
  if (static_cast<uint64_t>(layers) > capacity) {
    call.fails_into(nullptr);
    call.fail(HEED_BUFFER_TOO_SMALL,
              format("there are %lld layers, and room for %zu", static_cast<long long>(layers), capacity));
  }
  return call.has_array(attention, capacity, "attention") && !call.failed();
}

}  // namespace heed::c
