// The options of heed_nn_* as heed::nn has them. Names are views of the caller's texts.
#pragma once

#include <heed/nn.hpp>

#include "c/graph_object.hpp"

namespace heed::c {

// Options of an attention, and the tensor that receives its weights.
class MultiHead {
 public:
  MultiHead(Building& on, const heed_multi_head_options* given);
  MultiHead(const MultiHead&) = delete;
  MultiHead& operator=(const MultiHead&) = delete;
  const nn::MultiHeadOptions& options() const { return options_; }
  // Writes the weights where the caller wants them, after the layer was made; 0 after a mistake.
  void give(Building& on) const;

 private:
  nn::MultiHeadOptions options_;
  Tensor weights_;
  heed_tensor* wanted_ = nullptr;
};

nn::Cache cache_of(Building& on, const heed_cache* cache);
nn::FeedForwardOptions feed_forward_of(Building& on, const heed_feed_forward_options* options);
nn::NormOptions norm_of(Building& on, const heed_norm_options* options);
nn::AttentionBlockNames names_of(Building& on, const heed_attention_block_names* names, nn::AttentionBlockNames usual);
nn::FeedForwardBlockNames names_of(Building& on, const heed_feed_forward_block_names* names,
                                   nn::FeedForwardBlockNames usual);

class EncoderLayer {
 public:
  EncoderLayer(Building& on, const heed_encoder_layer_options* given);
  const nn::EncoderLayerOptions& options() const { return options_; }
  void give(Building& on) const { attention_.give(on); }

 private:
  Given<heed_encoder_layer_options> given_;
  MultiHead attention_;
  nn::EncoderLayerOptions options_;
};

class DecoderLayer {
 public:
  DecoderLayer(Building& on, const heed_decoder_layer_options* given);
  const nn::DecoderLayerOptions& options() const { return options_; }
  void give(Building& on) const {
    self_.give(on);
    cross_.give(on);
  }

 private:
  Given<heed_decoder_layer_options> given_;
  MultiHead self_, cross_;
  nn::DecoderLayerOptions options_;
};

}  // namespace heed::c
