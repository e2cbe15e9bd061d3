// A folder from which a training continues: weights and moments, the model's configuration, and the losses so far.
#pragma once

#include <string>

#include "curve.hpp"
#include "model.hpp"
#include "voice.hpp"

namespace learn {

std::string weights_path(const std::string& folder);
std::string picture_path(const std::string& folder);
std::string adapters_path(const std::string& folder);  // a folder

bool is_there(const std::string& folder);
// Returns false with a sentence in *error if it fails; earlier files are then unchanged.
bool write_checkpoint(const std::string& folder, const Model& model, const Losses& losses, std::string* error);
bool write_checkpoint(const std::string& folder, const Voice& voice, const Losses& losses, std::string* error);
// load() then reads the weights.
bool read_checkpoint(const std::string& folder, Config* config, Losses* losses, std::string* error);
bool read_checkpoint(const std::string& folder, VoiceConfig* config, Losses* losses, std::string* error);

}  // namespace learn
