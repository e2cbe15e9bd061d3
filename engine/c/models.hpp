// Numbers of networks as C reads them.
#pragma once

#include <heed/bert.hpp>
#include <heed/decoder_model.hpp>

#include "c/call.hpp"

namespace heed::c {

heed_decoder_config read(const DecoderConfig& from);
heed_bert_config read(const BertConfig& from);

}  // namespace heed::c
