#include <algorithm>
#include <array>

#include "models/family.hpp"

namespace heed {

namespace models {

#define HEED_FAMILY(name) extern const DecoderFamily name;
#include "families.inc"
#undef HEED_FAMILY

std::span<const DecoderFamily* const> all_families() {
  static constexpr const DecoderFamily* kAll[] = {
#define HEED_FAMILY(name) &name,
#include "families.inc"
#undef HEED_FAMILY
  };
  return kAll;
}

namespace {

template <class Is>
const DecoderFamily* first_family(Is is) {
  const auto all = all_families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const DecoderFamily* one) { return is(*one); });
  return found != all.end() ? *found : nullptr;
}

}  // namespace

const DecoderFamily* find_family(std::string_view name) {
  return first_family([&](const DecoderFamily& one) { return one.name == name; });
}

const DecoderFamily* find_model_type(std::string_view type) {
  return first_family([&](const DecoderFamily& one) {
    return one.name == type || std::find(one.other_types.begin(), one.other_types.end(), type) != one.other_types.end();
  });
}

std::string gguf_name(const DecoderFamily& family, std::string_view weight) {
  std::string prefix;
  if (const std::string layers = std::string(family.names.layers) + "."; weight.starts_with(layers)) {
    const size_t begin = layers.size(), end = weight.find('.', begin);
    if (end == std::string_view::npos) return {};
    prefix = "blk." + std::string(weight.substr(begin, end + 1 - begin));
    weight.remove_prefix(end + 1);
  }
  const size_t end = weight.rfind('.');
  for (const GgufName& one : family.gguf_names)
    if (weight.substr(0, end) == one.module) return prefix.append(one.gguf).append(weight.substr(end));
  return {};
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  return text;
}

}  // namespace models

std::vector<std::string_view> decoder_families() {
  std::vector<std::string_view> names;
  for (const models::DecoderFamily* family : models::all_families()) names.push_back(family->name);
  return names;
}

}  // namespace heed
