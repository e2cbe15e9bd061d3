#include "io/json_tree.hpp"

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION  // already implied where exceptions are switched off
#endif
#include <nlohmann/json.hpp>

#include "base/logging.hpp"

namespace heed {

namespace {

constexpr size_t kMostTreeBytes = 1u << 20, kMostTreeDepth = 64;

// Receives the parser's events, from the outermost value inwards.
class TreeBuilder {
 public:
  using Json = nlohmann::json;
  using Kind = JsonTree::Kind;
  explicit TreeBuilder(JsonTree* root) : root_(root) {}

  bool is_too_deep() const { return too_deep_; }
  size_t stopped_at() const { return stopped_at_; }

  bool null() { return put({}) != nullptr; }
  bool boolean(bool value) { return put({.kind = Kind::Boolean, .truth = value}) != nullptr; }
  bool number_integer(Json::number_integer_t value) { return integer(std::to_string(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return integer(std::to_string(value)); }
  bool number_float(Json::number_float_t, const std::string& text) {
    return put({.kind = Kind::Number, .text = text}) != nullptr;
  }
  bool string(std::string& text) { return put({.kind = Kind::Text, .text = text}) != nullptr; }
  bool binary(std::vector<uint8_t>&) { return false; }
  bool start_object(size_t) { return open({.kind = Kind::Object}); }
  bool key(std::string& name) {
    open_.back()->names.push_back(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open({.kind = Kind::Array}); }
  bool end_array() { return close(); }
  template <class Error>
  bool parse_error(size_t at, const std::string&, const Error&) {
    stopped_at_ = at;
    return false;
  }

 private:
  bool integer(std::string text) { return put({.kind = Kind::Integer, .text = std::move(text)}) != nullptr; }
  // Parts of an open value do not move until it is closed, since nothing is added to it meanwhile.
  JsonTree* put(JsonTree value) {
    if (open_.empty()) {
      *root_ = std::move(value);
      return root_;
    }
    open_.back()->parts.push_back(std::move(value));
    return &open_.back()->parts.back();
  }
  bool open(JsonTree value) {
    too_deep_ = open_.size() >= kMostTreeDepth;
    if (too_deep_) return false;
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonTree* root_;
  std::vector<JsonTree*> open_;
  bool too_deep_ = false;
  size_t stopped_at_ = 0;
};

}  // namespace

const JsonTree* JsonTree::field(std::string_view name) const {
  for (size_t i = names.size(); i > 0; --i)
    if (names[i - 1] == name) return &parts[i - 1];
  return nullptr;
}

std::string json_text(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      all.append(1, '\\').append(1, c);
    else if (const size_t at = std::string_view("\b\f\n\r\t").find(c); at != std::string_view::npos)
      all.append(1, '\\').append(1, "bfnrt"[at]);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      all.append(format("\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c))));
    else
      all.append(1, c);
  }
  return all.append("\"");
}

std::string JsonTree::written() const {
  switch (kind) {
    case Kind::Null: return "null";
    case Kind::Boolean: return truth ? "true" : "false";
    case Kind::Integer:
    case Kind::Number: return text;
    case Kind::Text: return json_text(text);
    case Kind::Array:
    case Kind::Object: break;
  }
  std::string all = kind == Kind::Array ? "[" : "{";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) all.append(",");
    if (kind == Kind::Object) all.append(json_text(names[i])).append(":");
    all.append(parts[i].written());
  }
  return all.append(kind == Kind::Array ? "]" : "}");
}

Status parse_tree(std::string_view text, std::string_view name, const Log& log, JsonTree* tree) {
  const std::string file(name);
  if (text.size() > kMostTreeBytes)
    return fail(log, Status::InvalidArgument,
                format("%s: has %zu bytes, at most 1048576 are read", file.c_str(), text.size()));
  JsonTree fresh;
  TreeBuilder builder(&fresh);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    const std::string why =
        builder.is_too_deep() ? "nested deeper than 64" : format("is not valid JSON at byte %zu", builder.stopped_at());
    return fail(log, Status::InvalidArgument, format("%s: %s", file.c_str(), why.c_str()));
  }
  *tree = std::move(fresh);
  return Status::Ok;
}

}  // namespace heed
