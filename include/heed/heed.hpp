// Everything of heed that needs no Vulkan header. See <heed/vulkan.hpp> for recording into a host's frame.
#pragma once

#include <heed/bert.hpp>
#include <heed/bpe.hpp>
#include <heed/chat.hpp>
#include <heed/checkpoint.hpp>
#include <heed/custom.hpp>
#include <heed/decoder.hpp>
#include <heed/decoder_model.hpp>
#include <heed/device.hpp>
#include <heed/gguf.hpp>
#include <heed/grammar.hpp>
#include <heed/graph.hpp>
#include <heed/nn.hpp>
#include <heed/optimizer.hpp>
#include <heed/plan.hpp>
#include <heed/reproducible.hpp>
#include <heed/safetensors.hpp>
#include <heed/self_test.hpp>
#include <heed/state.hpp>
#include <heed/status.hpp>
#include <heed/text_encoder.hpp>
#include <heed/text_generator.hpp>
#include <heed/tokenizer.hpp>
#include <heed/train.hpp>
#include <heed/tuning.hpp>
#include <heed/types.hpp>
