#include <algorithm>

#include "models/chat.hpp"
#include "models/family.hpp"

namespace heed {

namespace models {

#define HEED_FAMILY(name) extern const DecoderFamily name;
#include "DecoderFamily.inc"
#undef HEED_FAMILY
#define HEED_FAMILY(name) extern const ChatFormat name;
#include "ChatFormat.inc"
#undef HEED_FAMILY

#define HEED_FAMILY(name) &name,
std::span<const DecoderFamily* const> all_families() {
  static constexpr const DecoderFamily* kAll[] = {
#include "DecoderFamily.inc"
  };
  return kAll;
}

std::span<const ChatFormat* const> all_chats() {
  static constexpr const ChatFormat* kAll[] = {
#include "ChatFormat.inc"
  };
  return kAll;
}
#undef HEED_FAMILY

namespace {

template <class Kind, class Is>
const Kind* first(std::span<const Kind* const> all, Is is) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Kind* one) { return is(*one); });
  return found != all.end() ? *found : nullptr;
}

}  // namespace

const ChatFormat* find_chat(std::string_view name) {
  return first(all_chats(), [&](const ChatFormat& one) { return one.name == name; });
}

const DecoderFamily* find_family(std::string_view name) {
  return first(all_families(), [&](const DecoderFamily& one) { return one.name == name; });
}

const DecoderFamily* find_model_type(std::string_view type) {
  return first(all_families(), [&](const DecoderFamily& one) {
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
