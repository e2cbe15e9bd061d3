#include "checkpoint.hpp"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace learn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string config_path(const std::string& folder) { return (fs::path(folder) / "config.json").string(); }
std::string losses_path(const std::string& folder) { return (fs::path(folder) / "losses.tsv").string(); }

json to_json(const Config& config) {
  json characters = json::array();  // bytes, since a text need not be UTF-8
  for (const char c : config.characters) characters.push_back(static_cast<unsigned char>(c));
  return {{"layers", config.layers}, {"width", config.width},     {"heads", config.heads}, {"context", config.context},
          {"batch", config.batch},   {"dropout", config.dropout}, {"seed", config.seed},   {"steps", config.steps},
          {"rate", config.rate},     {"characters", characters}};
}

json to_json(const VoiceConfig& config) {
  return {{"rank", config.rank},   {"last_layers", config.layers}, {"batch", config.batch}, {"seed", config.seed},
          {"steps", config.steps}, {"rate", config.rate},          {"lines", config.lines}};
}

void from_json(const json& from, VoiceConfig& config) {
  from.at("rank").get_to(config.rank);
  from.at("last_layers").get_to(config.layers);
  from.at("batch").get_to(config.batch);
  from.at("seed").get_to(config.seed);
  from.at("steps").get_to(config.steps);
  from.at("rate").get_to(config.rate);
  from.at("lines").get_to(config.lines);
}

void from_json(const json& from, Config& config) {
  config.characters.clear();
  from.at("layers").get_to(config.layers);
  from.at("width").get_to(config.width);
  from.at("heads").get_to(config.heads);
  from.at("context").get_to(config.context);
  from.at("batch").get_to(config.batch);
  from.at("dropout").get_to(config.dropout);
  from.at("seed").get_to(config.seed);
  from.at("steps").get_to(config.steps);
  from.at("rate").get_to(config.rate);
  for (const json& byte : from.at("characters")) config.characters += static_cast<char>(byte.get<unsigned char>());
}

}  // namespace

std::string weights_path(const std::string& folder) { return (fs::path(folder) / "model.safetensors").string(); }
std::string picture_path(const std::string& folder) { return (fs::path(folder) / "loss.png").string(); }
std::string adapters_path(const std::string& folder) { return (fs::path(folder) / "adapters").string(); }

bool is_there(const std::string& folder) {
  std::error_code none;
  return fs::exists(config_path(folder), none) && fs::exists(weights_path(folder), none);
}

namespace {

template <class Learner>
bool write_all(const std::string& folder, const Learner& learner, const Losses& losses, std::string* error) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::ofstream file(config_path(folder));
  file << to_json(learner.config()).dump(2) << '\n';
  file.close();
  if (!file) {
    *error = config_path(folder) + " cannot be written";
    return false;
  }
  // The weights come last: whoever goes on counts the steps of which there are weights.
  if (!write_losses(losses, losses_path(folder), error)) return false;
  const heed::Status status = learner.save(weights_path(folder));
  if (status != heed::Status::Ok)
    *error = weights_path(folder) + " cannot be written: " + std::string(heed::to_string(status));
  return status == heed::Status::Ok;
}

template <class Numbers>
bool read_all(const std::string& folder, Numbers* config, Losses* losses, std::string* error) {
  std::ifstream file(config_path(folder));
  try {
    from_json(json::parse(file), *config);
  } catch (const json::exception& problem) {
    *error = config_path(folder) + " is no model of this program, or of another of its modes: " + problem.what();
    return false;
  }
  return read_losses(losses_path(folder), losses, error);
}

}  // namespace

bool write_checkpoint(const std::string& folder, const Model& model, const Losses& losses, std::string* error) {
  return write_all(folder, model, losses, error);
}
bool write_checkpoint(const std::string& folder, const Voice& voice, const Losses& losses, std::string* error) {
  if (!write_all(folder, voice, losses, error)) return false;
  const heed::Status status = voice.save_adapters(adapters_path(folder));
  if (status != heed::Status::Ok) *error = adapters_path(folder) + " cannot be written";
  return status == heed::Status::Ok;
}

bool read_checkpoint(const std::string& folder, Config* config, Losses* losses, std::string* error) {
  return read_all(folder, config, losses, error);
}
bool read_checkpoint(const std::string& folder, VoiceConfig* config, Losses* losses, std::string* error) {
  return read_all(folder, config, losses, error);
}

}  // namespace learn
