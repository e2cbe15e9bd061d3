// The builders of transformers.cpp, for the table in systems.cpp.
#pragma once

namespace heed::goldens {

class Case;

void temperature_attention(Case& c);
void post_norm_mha(Case& c);
void post_norm_feed_forward(Case& c);
void post_norm_encoder_layer(Case& c);
void post_norm_decoder_layer(Case& c);
void post_norm_encoder_stack(Case& c);
void post_norm_decoder_stack(Case& c);

void positional_encoding(Case& c);
void streams(Case& c);
void feed_forward(Case& c);
void torch_mha(Case& c);
void torch_encoder(Case& c);
void torch_decoder(Case& c);
void torch_transformer(Case& c);

}  // namespace heed::goldens
