// The whole encoder-decoder (Vaswani et al. 2017, arXiv:1706.03762), from embedded tokens to probabilities.
#include "nn/parts.hpp"

namespace heed::nn {

namespace {

Tensor enter(Graph& g, Tensor x, const TransformerOptions& options) {
  if (options.positional_encoding) x = g.positional_encoding(x);
  return drop(g, x, options.input_dropout);
}

}  // namespace

TransformerResult transformer(Graph& g, Tensor source, Tensor target, std::string_view prefix,
                              const TransformerOptions& options) {
  const std::string encoder_norm = join(prefix, options.encoder_stack.final_norm);
  const std::string decoder_norm = join(prefix, options.decoder_stack.final_norm);
  StackOptions encoders = options.encoder_stack, decoders = options.decoder_stack;
  if (!encoders.final_norm.empty()) encoders.final_norm = encoder_norm;
  if (!decoders.final_norm.empty()) decoders.final_norm = decoder_norm;

  TransformerResult result;
  result.encoded =
      encoder_stack(g, enter(g, source, options), join(prefix, options.encoder_prefix), options.encoder, encoders);
  result.decoded = decoder_stack(g, enter(g, target, options), result.encoded, join(prefix, options.decoder_prefix),
                                 options.decoder, decoders);
  result.logits =
      linear(g, result.decoded, join(prefix, options.out), options.vocabulary, true, options.out_weight_dtype);
  result.probabilities = g.softmax(result.logits);
  return result;
}

}  // namespace heed::nn
