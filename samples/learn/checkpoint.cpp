#include "checkpoint.hpp"

#include <filesystem>
#include <fstream>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "unfinished.hpp"

namespace learn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string config_path(const std::string& folder) { return (fs::path(folder) / "config.json").string(); }
std::string losses_path(const std::string& folder) { return (fs::path(folder) / "losses.tsv").string(); }

// The numbers of a config by their names in the file, shared by reading and writing.
template <class AnyConfig, class Each>
void for_each_number(AnyConfig& config, const Each& each) {
  each("batch", config.batch);
  each("seed", config.seed);
  each("steps", config.steps);
  each("rate", config.rate);
  if constexpr (std::is_same_v<std::remove_const_t<AnyConfig>, Config>) {
    each("layers", config.layers);
    each("width", config.width);
    each("heads", config.heads);
    each("context", config.context);
    each("dropout", config.dropout);
  } else {
    each("rank", config.rank);
    each("last_layers", config.layers);
    each("lines", config.lines);
  }
}

template <class AnyConfig>
json to_json(const AnyConfig& config) {
  json to;
  for_each_number(config, [&](const char* name, const auto& number) { to[name] = number; });
  if constexpr (std::is_same_v<AnyConfig, Config>)  // bytes, since a text need not be UTF-8
    to["characters"] = std::vector<unsigned char>(config.characters.begin(), config.characters.end());
  return to;
}

template <class AnyConfig>
void from_json(const json& from, AnyConfig& config) {
  for_each_number(config, [&](const char* name, auto& number) { from.at(name).get_to(number); });
  if constexpr (std::is_same_v<AnyConfig, Config>) {
    const auto bytes = from.at("characters").get<std::vector<unsigned char>>();
    config.characters.assign(bytes.begin(), bytes.end());
  }
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
  Unfinished files;
  std::ofstream file(files.add(config_path(folder)));
  file << to_json(learner.config()).dump(2) << '\n';
  file.close();
  if (!file) {
    *error = config_path(folder) + " cannot be written";
    return false;
  }
  // A continued training counts the losses, which must be those of the weights' steps.
  if (!write_losses(losses, files.add(losses_path(folder)), error)) return false;
  const heed::Status status = learner.save(files.add(weights_path(folder)));
  if (status != heed::Status::Ok)
    *error = weights_path(folder) + " cannot be written: " + std::string(heed::to_string(status));
  return status == heed::Status::Ok && files.finish(error);
}

template <class AnyConfig>
bool read_all(const std::string& folder, AnyConfig* config, Losses* losses, std::string* error) {
  std::ifstream file(config_path(folder));
  try {
    from_json(json::parse(file), *config);
  } catch (const json::exception& problem) {
    *error = config_path(folder) + " has no model for this mode: " + problem.what();
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
