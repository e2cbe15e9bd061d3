// Made by engine/c/generate.py of the C++ headers: change those, and run it.
//
// Conversions of options. `read` checks a C struct and converts it; NULL gives the defaults. `to_c` omits tensors, since they belong to a graph.
// clang-format off
#pragma once

#include <heed/types.hpp>
#include <heed/status.hpp>
#include <heed/graph.hpp>
#include <heed/nn.hpp>
#include <heed/device.hpp>
#include <heed/self_test.hpp>
#include <heed/train.hpp>
#include <heed/optimizer.hpp>
#include <heed/initial.hpp>
#include <heed/bert.hpp>
#include <heed/decoder.hpp>
#include <heed/text_encoder.hpp>
#include <heed/text_generator.hpp>
#include <heed/speech.hpp>

#include "c/graph_object.hpp"

namespace heed::c {

heed::WindowOptions read(Call& call, const heed_window_options* given);
heed_window_options to_c(const heed::WindowOptions& from);
heed::Conv2dOptions read(Call& call, const heed_conv2d_options* given);
heed_conv2d_options to_c(const heed::Conv2dOptions& from);
heed::MatmulOptions read(Call& call, const heed_matmul_options* given);
heed_matmul_options to_c(const heed::MatmulOptions& from);
heed::SoftmaxOptions read(Building& on, const heed_softmax_options* given);
heed_softmax_options to_c(const heed::SoftmaxOptions& from);
heed::AttentionOptions read(Building& on, const heed_attention_options* given);
heed_attention_options to_c(const heed::AttentionOptions& from);
heed::PadOptions read(Call& call, const heed_pad_options* given);
heed_pad_options to_c(const heed::PadOptions& from);
heed::RotaryScaling read(Call& call, const heed_rotary_scaling* given);
heed_rotary_scaling to_c(const heed::RotaryScaling& from);
heed::RotaryOptions read(Building& on, const heed_rotary_options* given);
heed_rotary_options to_c(const heed::RotaryOptions& from);
heed::SampleOptions read(Building& on, const heed_sample_options* given);
heed_sample_options to_c(const heed::SampleOptions& from);
heed::nn::AttentionNames read(Call& call, const heed_attention_names* given);
heed_attention_names to_c(const heed::nn::AttentionNames& from);
heed::nn::CacheTokens read(Building& on, const heed_cache_tokens* given);
heed_cache_tokens to_c(const heed::nn::CacheTokens& from);
heed::nn::Cache read(Building& on, const heed_cache* given);
heed_cache to_c(const heed::nn::Cache& from);
heed::nn::MultiHeadOptions read(Building& on, const heed_multi_head_options* given);
heed_multi_head_options to_c(const heed::nn::MultiHeadOptions& from);
heed::nn::NormOptions read(Call& call, const heed_norm_options* given);
heed_norm_options to_c(const heed::nn::NormOptions& from);
heed::nn::AttentionBlockNames read(Call& call, const heed_attention_block_names* given);
heed_attention_block_names to_c(const heed::nn::AttentionBlockNames& from);
heed::nn::FeedForwardOptions read(Call& call, const heed_feed_forward_options* given);
heed_feed_forward_options to_c(const heed::nn::FeedForwardOptions& from);
heed::nn::FeedForwardBlockNames read(Call& call, const heed_feed_forward_block_names* given);
heed_feed_forward_block_names to_c(const heed::nn::FeedForwardBlockNames& from);
heed::nn::EncoderLayerOptions read(Building& on, const heed_encoder_layer_options* given);
heed_encoder_layer_options to_c(const heed::nn::EncoderLayerOptions& from);
heed::nn::DecoderLayerOptions read(Building& on, const heed_decoder_layer_options* given);
heed_decoder_layer_options to_c(const heed::nn::DecoderLayerOptions& from);
heed::nn::StackOptions read(Call& call, const heed_stack_options* given);
heed_stack_options to_c(const heed::nn::StackOptions& from);
heed::nn::CrossEntropyOptions read(Building& on, const heed_cross_entropy_options* given);
heed_cross_entropy_options to_c(const heed::nn::CrossEntropyOptions& from);
heed::nn::TransformerOptions read(Building& on, const heed_transformer_options* given);
heed_transformer_options to_c(const heed::nn::TransformerOptions& from);
heed::DeviceOptions read(Call& call, const heed_device_options* given);
heed_device_options to_c(const heed::DeviceOptions& from);
heed::UploadOptions read(Call& call, const heed_upload_options* given);
heed_upload_options to_c(const heed::UploadOptions& from);
heed::CompileOptions read(Call& call, const heed_compile_options* given);
heed_compile_options to_c(const heed::CompileOptions& from);
heed::train::GradientOptions read(Call& call, const heed_gradient_options* given);
heed_gradient_options to_c(const heed::train::GradientOptions& from);
heed::train::OptimizerOptions read(Call& call, const heed_optimizer_options* given);
heed_optimizer_options to_c(const heed::train::OptimizerOptions& from);
heed::train::StepNumbers read(Call& call, const heed_step_numbers* given);
heed_step_numbers to_c(const heed::train::StepNumbers& from);
heed::train::LossScale read(Call& call, const heed_loss_scale* given);
heed_loss_scale to_c(const heed::train::LossScale& from);
heed::train::InitialOptions read(Call& call, const heed_initial_options* given);
heed_initial_options to_c(const heed::train::InitialOptions& from);
heed::BertConfig read(Call& call, const heed_bert_config* given);
heed_bert_config to_c(const heed::BertConfig& from);
heed::BertOptions read(Building& on, const heed_bert_options* given);
heed_bert_options to_c(const heed::BertOptions& from);
heed::DecoderConfig read(Building& on, const heed_decoder_config* given);
heed_decoder_config to_c(const heed::DecoderConfig& from);
heed::DecoderOptions read(Building& on, const heed_decoder_options* given);
heed_decoder_options to_c(const heed::DecoderOptions& from);
heed::TextEncoderOptions read(Call& call, const heed_text_encoder_options* given);
heed_text_encoder_options to_c(const heed::TextEncoderOptions& from);
heed::TextSampling read(Call& call, const heed_text_sampling* given);
heed_text_sampling to_c(const heed::TextSampling& from);
heed::TextGeneratorOptions read(Call& call, const heed_text_generator_options* given);
heed_text_generator_options to_c(const heed::TextGeneratorOptions& from);
heed::TextConversationOptions read(Call& call, const heed_conversation_options* given);
heed_conversation_options to_c(const heed::TextConversationOptions& from);
heed::TextSaveOptions read(Call& call, const heed_text_save_options* given);
heed_text_save_options to_c(const heed::TextSaveOptions& from);
heed::SpeechRecognizerOptions read(Call& call, const heed_speech_recognizer_options* given);
heed_speech_recognizer_options to_c(const heed::SpeechRecognizerOptions& from);
heed::SpeechOptions read(Call& call, const heed_speech_options* given);
heed_speech_options to_c(const heed::SpeechOptions& from);

}  // namespace heed::c
