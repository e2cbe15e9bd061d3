// Folders of adapters in the format of Hugging Face's PEFT.
#include <heed/lora.hpp>
#include <heed/safetensors.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "base/utf8.hpp"
#include "io/json_file.hpp"
#include "io/json_tree.hpp"
#include "io/safetensors_header.hpp"
#include "io/whole_file.hpp"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

constexpr double kMostFloat = static_cast<double>(std::numeric_limits<float>::max());
constexpr double kMostDropout = 1.0 - 0x1p-24;  // the largest float below 1

constexpr std::string_view kEnds[] = {".lora_A.weight", ".lora_B.weight"};

std::string tensors_path(std::string_view folder) { return (fs::path(folder) / "adapter_model.safetensors").string(); }
std::string settings_path(std::string_view folder) { return (fs::path(folder) / "adapter_config.json").string(); }

template <class List, class Text>
std::string json_list(const List& list, Text text) {
  std::string all;
  for (const auto& one : list) all.append(all.empty() ? "" : ", ").append(text(one));
  return "[" + all + "]";
}

std::string settings_text(const LoraOptions& options, std::string_view base, bool in_out) {
  const auto number = [](float value) {  // independent of the host's locale
    char text[32];
    return std::string(text, std::to_chars(text, std::end(text), value).ptr);
  };
  const std::string layers =
      options.layers.empty() ? "null" : json_list(options.layers, [](int64_t i) { return std::to_string(i); });
  std::string text = "{\n  \"peft_type\": \"LORA\",\n  \"task_type\": \"CAUSAL_LM\",\n";
  text += "  \"base_model_name_or_path\": " + json_text(base) + ",\n";
  text += "  \"r\": " + std::to_string(options.rank) + ",\n  \"lora_alpha\": " + number(options.alpha) + ",\n";
  text += "  \"lora_dropout\": " + number(options.dropout) + ",\n";
  text += "  \"target_modules\": " + json_list(options.modules, [](const std::string& m) { return json_text(m); });
  text += ",\n  \"layers_to_transform\": " + layers + ",\n";
  text += std::string("  \"fan_in_fan_out\": ") + (in_out ? "true" : "false") + ",\n";
  return text + "  \"bias\": \"none\",\n  \"inference_mode\": true\n}\n";
}

// Refuses kinds of adapters that heed does not implement.
void check_kind(Fields& fields) {
  if (fields.text("peft_type") != "LORA") fields.fail("peft_type", "only LORA can be read", Status::Unsupported);
  if (fields.text("bias", "none") != "none") fields.fail("bias", "biases cannot be read", Status::Unsupported);
  for (const char* const name : {"use_dora", "use_rslora"})
    if (fields.boolean(name, false)) fields.fail(name, "such adapters cannot be read", Status::Unsupported);
  for (const char* const name : {"modules_to_save", "rank_pattern", "alpha_pattern", "target_parameters"})
    if (fields.field(name).size() > 0) fields.fail(name, "adapters with it cannot be read", Status::Unsupported);
}

Status read_settings(const std::string& path, const Log& log, LoraOptions* options, bool* in_out) {
  JsonFile file;
  if (const Status status = read_object(path, kMaxConfigBytes, log, &file); status != Status::Ok) return status;
  Fields fields(file.root(), path, log);
  check_kind(fields);
  options->rank = fields.integer("r", 1, 65536);
  options->alpha = static_cast<float>(fields.number("lora_alpha", -kMostFloat, kMostFloat));
  options->dropout = static_cast<float>(fields.number("lora_dropout", 0.0, kMostDropout, 0.0));
  *in_out = fields.boolean("fan_in_fan_out", false);
  // "target_modules" may be a pattern; the tensors' names show which weights it matches.
  options->modules.clear();
  fields.field("target_modules").each([&](const std::string&, Json module) {
    if (module.text() != nullptr) options->modules.push_back(*module.text());
    return true;
  });
  options->layers.clear();
  const Json layers = fields.field("layers_to_transform");
  if (layers.integer() != nullptr) options->layers.push_back(*layers.integer());
  layers.each([&](const std::string&, Json layer) {
    if (layer.integer() != nullptr) options->layers.push_back(*layer.integer());
    return true;
  });
  return fields.status();
}

// A and B of a module.
using Pair = std::array<LoraMatrix, 2>;

// The matrix for a name "PREFIX + NAME.lora_A.weight" or lora_B; null for other names.
LoraMatrix* place_of(std::string_view name, const LoraOptions& options, std::map<std::string, Pair>* pairs) {
  const auto* const end =
      std::find_if(std::begin(kEnds), std::end(kEnds), [&](std::string_view one) { return name.ends_with(one); });
  if (end == std::end(kEnds) || !name.starts_with(options.prefix) || name.size() <= options.prefix.size() + end->size())
    return nullptr;
  const std::string_view module = name.substr(options.prefix.size(), name.size() - options.prefix.size() - end->size());
  return &(*pairs)[std::string(module)][static_cast<size_t>(end - std::begin(kEnds))];
}

Status check_pairs(const std::string& where, const LoraOptions& options, const std::map<std::string, Pair>& pairs,
                   const Log& log) {
  for (const auto& [module, pair] : pairs) {
    const auto &a = pair[0].shape, &b = pair[1].shape;
    if (a.size() != 2 || b.size() != 2 || a[0] != options.rank || b[1] != options.rank || a[1] < 1 || b[0] < 1)
      return fail(log, Status::ShapeMismatch,
                  format("%s: '%s' has A %s and B %s for a rank of %lld", where.c_str(), printable(module).c_str(),
                         shape_text(a).c_str(), shape_text(b).c_str(), static_cast<long long>(options.rank)));
  }
  return Status::Ok;
}

Status wrong_name(const std::string& where, std::string_view name, const LoraOptions& options, Status status,
                  const Log& log) {
  return fail(log, status,
              format("%s: '%s' is not named %sNAME.lora_A.weight, nor lora_B", where.c_str(), printable(name).c_str(),
                     printable(options.prefix).c_str()));
}

Status read_pairs(const std::string& path, const LoraOptions& options, const Log& log,
                  std::map<std::string, Pair>* pairs) {
  SafeTensors file;
  if (const Status status = SafeTensors::open(path, log, &file); status != Status::Ok) return status;
  for (const SafeTensors::Entry& entry : file.entries()) {
    LoraMatrix* const matrix = place_of(entry.name, options, pairs);
    if (matrix == nullptr) return wrong_name(path, entry.name, options, Status::Unsupported, log);
    matrix->name = entry.name;
    matrix->shape = entry.shape;
    if (const Status status = read_f32(entry, log, &matrix->values); status != Status::Ok) return status;
  }
  if (pairs->empty()) return fail(log, Status::InvalidFile, path + ": there are no adapters");
  return check_pairs(path, options, *pairs, log);
}

// Checks what open() would check in the written file.
Status check_matrices(const LoraOptions& options, std::span<const LoraMatrix> matrices, std::string_view base,
                      const Log& log) {
  std::vector<std::string_view> texts(options.modules.begin(), options.modules.end());
  texts.push_back(base);
  for (const LoraMatrix& matrix : matrices) texts.push_back(matrix.name);
  for (const std::string_view text : texts)
    if (!is_utf8(text))
      return fail(log, Status::InvalidArgument, format("lora: '%s' is not UTF-8", printable(text).c_str()));
  std::map<std::string, Pair> pairs;
  for (const LoraMatrix& matrix : matrices) {
    int64_t elements = 0;
    if (matrix.shape.size() != 2 || !checked_mul(matrix.shape[0], matrix.shape[1], &elements) ||
        std::cmp_not_equal(elements, matrix.values.size()))
      return fail(log, Status::ShapeMismatch, format("lora: '%s' is no matrix of its values", matrix.name.c_str()));
    LoraMatrix* const place = place_of(matrix.name, options, &pairs);
    if (place == nullptr) return wrong_name("lora", matrix.name, options, Status::InvalidArgument, log);
    if (!place->name.empty())
      return fail(log, Status::InvalidArgument, format("lora: '%s' is there twice", matrix.name.c_str()));
    place->name = matrix.name;
    place->shape = matrix.shape;
  }
  if (pairs.empty()) return fail(log, Status::InvalidArgument, "lora: there are no matrices to save");
  return check_pairs("lora", options, pairs, log);
}

}  // namespace

void Lora::reorder(std::vector<LoraMatrix>* matrices, bool to_model) const {
  if (!options_.decoder || options_.decoder->rotary.pairs != RotaryPairs::Adjacent) return;
  for (LoraMatrix& matrix : *matrices) {
    const bool query = matrix.name.ends_with("q_proj.lora_B.weight");
    if (!query && !matrix.name.ends_with("k_proj.lora_B.weight")) continue;
    const DecoderConfig& config = *options_.decoder;
    const int64_t heads = query || config.kv_heads == 0 ? config.heads : config.kv_heads;
    const int64_t rows = matrix.shape[0], width = heads > 0 ? rows / heads : 0, rank = matrix.shape[1];
    if (width < 2 || rows % (2 * heads) != 0) continue;
    const std::vector<float> before = matrix.values;
    for (int64_t row = 0; row < rows; ++row) {
      // In a file, element i of half p of a head is row p width / 2 + i; in the model it is row 2 i + p.
      const int64_t at = row % width, half = at / (width / 2), i = at % (width / 2);
      const int64_t in_model = row - at + 2 * i + half, from = to_model ? row : in_model,
                    to = to_model ? in_model : row;
      std::copy_n(before.begin() + static_cast<ptrdiff_t>(from * rank), rank,
                  matrix.values.begin() + static_cast<ptrdiff_t>(to * rank));
    }
  }
}

Status Lora::save(std::string_view folder, std::span<const LoraMatrix> matrices, std::string_view base,
                  const Log& log) const {
  Status status = check_numbers(log);
  if (status == Status::Ok) status = check_matrices(options_, matrices, base, log);
  if (status != Status::Ok) return status;
  std::vector<LoraMatrix> ordered(matrices.begin(), matrices.end());
  reorder(&ordered, false);
  const bool in_out = std::any_of(adapters_.begin(), adapters_.end(), [](const Adapter& one) { return one.in_out; });
  std::error_code error;
  fs::create_directories(fs::path(folder), error);
  const std::string settings = settings_text(options_, base, in_out);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(settings))};
  if (!write_whole_file(settings_path(folder), parts))
    return fail(log, Status::FileError, settings_path(folder) + " cannot be written");
  const std::pair<std::string, std::string> metadata[] = {{"format", "pt"}};
  return write_safetensors(tensors_path(folder), host_tensors(ordered), metadata, log);
}

Status Lora::open(std::string_view folder, const LoraOptions& options, const Log& log, Lora* lora,
                  std::vector<LoraMatrix>* matrices) {
  Lora read(options);
  bool in_out = false;
  Status status = read_settings(settings_path(folder), log, &read.options_, &in_out);
  std::map<std::string, Pair> pairs;
  if (status == Status::Ok) status = read_pairs(tensors_path(folder), read.options_, log, &pairs);
  if (status != Status::Ok) return status;
  std::vector<LoraMatrix> all;
  for (auto& [module, pair] : pairs) {
    read.adapters_.push_back({module, pair[0].shape[1], pair[1].shape[0], in_out});
    for (LoraMatrix& matrix : pair) all.push_back(std::move(matrix));
  }
  read.reorder(&all, true);
  *lora = std::move(read);
  *matrices = std::move(all);
  return Status::Ok;
}

}  // namespace heed::train
