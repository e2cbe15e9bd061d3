// Grammars from JSON schemas.
#include <heed/grammar.hpp>

#include <algorithm>
#include <optional>
#include <span>

#include "base/logging.hpp"
#include "io/json_tree.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

constexpr uint64_t kMostSchemaTimes = 10000;  // the most repetitions that a grammar may state
constexpr size_t kMostProperties = 1000;

// Rules that schemas share; the first one is for any value. A space may follow a comma or colon. Halves of a surrogate pair are either both
// escaped or both not, since parsers reject mixed pairs.
struct CommonRule {
  const char *name, *text, *needs;
};
constexpr CommonRule kCommonRules[] = {
    {"value", "object | array | string | number | boolean | null", "object array string number boolean null"},
    {"object", "\"{\" (pair (\",\" space pair)*)? \"}\"", "pair space"},
    {"pair", "string \":\" space value", "string space value"},
    {"array", "\"[\" (value (\",\" space value)*)? \"]\"", "value space"},
    {"string", "\"\\\"\" character* \"\\\"\"", "character"},
    {"character",
     "[^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9a-cefA-CEF] [0-9a-fA-F]{3} | [dD] [0-7] "
     "[0-9a-fA-F]{2} | [dD] [89abAB] [0-9a-fA-F]{2} \"\\\\u\" [dD] [c-fC-F] [0-9a-fA-F]{2}))",
     ""},
    {"number", "integer (\".\" [0-9]{1,16})? ([eE] [+\\-]? [0-9] [0-9]?)?", "integer"},
    {"integer", "\"-\"? (\"0\" | [1-9] [0-9]{0,15})", ""},
    {"boolean", "\"true\" | \"false\"", ""},
    {"null", "\"null\"", ""},
    {"space", "\" \"?", ""},
};

constexpr std::string_view kNotes[] = {"title", "description", "default",  "examples",  "$schema",
                                       "$id",   "$comment",    "readOnly", "writeOnly", "deprecated"};
constexpr std::string_view kTypes[] = {"object", "array", "string", "integer", "number", "boolean", "null"};

// A text as a quoted literal of the grammar.
std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c == '"' || c == '\\') all.append(1, '\\');
    all.append(1, c);
  }
  return all;
}

std::string in_quotes(const std::string& escaped_text) { return "\"" + escaped_text + "\""; }

class SchemaWriter {
 public:
  using Kind = JsonTree::Kind;
  explicit SchemaWriter(const Log& log) : log_(log) {}

  Status write(const JsonTree& schema, std::string* gbnf) {
    const std::string root = value(schema, "");
    if (status_ != Status::Ok) return status_;
    std::string all = "root ::= " + root + "\n" + rules_;
    for (const CommonRule& rule : kCommonRules)
      if (std::find(needed_.begin(), needed_.end(), rule.name) != needed_.end())
        all.append(rule.name).append(" ::= ").append(rule.text).append("\n");
    *gbnf = std::move(all);
    return status_;
  }

 private:
  // Records the first failure; the result is then ignored.
  std::string refuse(Status status, const std::string& place, const std::string& what) {
    if (status_ == Status::Ok)
      status_ =
          fail(log_, status, format("schema, %s: %s", place.empty() ? "/" : printable(place).c_str(), what.c_str()));
    return {};
  }
  std::string invalid(const std::string& place, const std::string& what) {
    return refuse(Status::InvalidArgument, place, what);
  }

  // The name of a common rule. It is added to the grammar with all rules that it calls.
  std::string common(std::string_view name) {
    if (std::find(needed_.begin(), needed_.end(), name) == needed_.end()) {
      needed_.emplace_back(name);
      const auto* rule = std::find_if(std::begin(kCommonRules), std::end(kCommonRules),
                                      [&](const CommonRule& r) { return r.name == name; });
      std::string_view needs = rule->needs;
      while (!needs.empty()) {
        const std::string_view next = needs.substr(0, needs.find(' '));
        common(next);
        needs.remove_prefix(std::min(needs.size(), next.size() + 1));
      }
    }
    return std::string(name);
  }

  std::string rule(const std::string& text) {
    const std::string name = "part-" + std::to_string(++count_);
    rules_.append(name).append(" ::= ").append(text).append("\n");
    return name;
  }

  // Checks that all keywords are among these, apart from annotations.
  void check_keywords(const JsonTree& schema, const std::string& place, std::initializer_list<std::string_view> known,
                      const char* beside) {
    for (const std::string& name : schema.names) {
      const bool is_known = std::find(known.begin(), known.end(), name) != known.end() ||
                            std::find(std::begin(kNotes), std::end(kNotes), name) != std::end(kNotes);
      if (!is_known)
        refuse(Status::Unsupported, place, format("'%s' is not understood %s", printable(name).c_str(), beside));
    }
  }

  std::string value(const JsonTree& schema, const std::string& place) {
    if (schema.is(Kind::Boolean) && schema.truth) return common("value");
    if (!schema.is(Kind::Object)) return invalid(place, "a schema must be an object, or true");
    for (const char* keyword : {"anyOf", "oneOf"})
      if (const JsonTree* all = schema.field(keyword)) {
        check_keywords(schema, place, {keyword}, format("beside '%s'", keyword).c_str());
        return any_of(*all, place + "/" + keyword);
      }
    for (const char* keyword : {"enum", "const"})
      if (const JsonTree* all = schema.field(keyword)) {
        check_keywords(schema, place, {keyword, "type"}, format("beside '%s'", keyword).c_str());
        return one_of(*all, keyword, schema.field("type"), place);
      }
    const JsonTree* type = schema.field("type");
    if (type == nullptr) return without_type(schema, place);
    if (type->is(Kind::Text)) return typed(schema, type->text, place);
    if (!type->is(Kind::Array) || type->parts.empty())
      return invalid(place, "'type' must be a name, or a list of them");
    check_keywords(schema, place, {"type"}, "beside a list of types");
    std::string all;
    for (const JsonTree& one : type->parts) {
      if (!one.is(Kind::Text)) return invalid(place, "'type' must be a name, or a list of them");
      all.append(all.empty() ? "" : " | ").append(typed({.kind = Kind::Object}, one.text, place));
    }
    return rule(all);
  }

  // Without a "type", the other keywords determine the type.
  std::string without_type(const JsonTree& schema, const std::string& place) {
    if (schema.field("properties") != nullptr) return object(schema, place);
    if (schema.field("items") != nullptr) return array(schema, place);
    check_keywords(schema, place, {}, "without a 'type'");
    return common("value");
  }

  std::string any_of(const JsonTree& all, const std::string& place) {
    if (!all.is(Kind::Array) || all.parts.empty()) return invalid(place, "must be a list of schemas");
    std::string text;
    for (size_t i = 0; i < all.parts.size(); ++i)
      text.append(i == 0 ? "" : " | ").append(value(all.parts[i], place + "/" + std::to_string(i)));
    return rule(text);
  }

  std::string one_of(const JsonTree& all, std::string_view keyword, const JsonTree* type, const std::string& place) {
    const bool is_list = keyword == "enum";
    if (is_list && (!all.is(Kind::Array) || all.parts.empty()))
      return invalid(place, "'enum' must be a list of values");
    std::string text;
    for (const JsonTree& one : is_list ? std::span(all.parts) : std::span(&all, 1)) {
      if (type != nullptr && !fits(one, *type))
        return invalid(place, printable(one.written()) + " does not fit 'type'");
      text.append(text.empty() ? "" : " | ").append(in_quotes(constant(one)));
    }
    return rule(text);
  }

  // A constant as literals of the grammar, split where an optional space may be.
  std::string constant(const JsonTree& value) {
    const bool is_array = value.is(Kind::Array);
    if (!is_array && !value.is(Kind::Object)) return escaped(value.written());
    std::string all = is_array ? "[" : "{";
    const auto gap = [&] { return "\" " + common("space") + " \""; };
    for (size_t i = 0; i < value.parts.size(); ++i) {
      if (i > 0) all.append(",").append(gap());
      if (!is_array) all.append(escaped(json_text(value.names[i]))).append(":").append(gap());
      all.append(constant(value.parts[i]));
    }
    return all.append(is_array ? "]" : "}");
  }

  static bool fits(const JsonTree& value, const JsonTree& type) {
    if (type.is(Kind::Array))
      return std::any_of(type.parts.begin(), type.parts.end(), [&](const JsonTree& one) { return fits(value, one); });
    switch (value.kind) {
      case Kind::Null: return type.text == "null";
      case Kind::Boolean: return type.text == "boolean";
      case Kind::Integer: return type.text == "integer" || type.text == "number";
      case Kind::Number: return type.text == "number";
      case Kind::Text: return type.text == "string";
      case Kind::Array: return type.text == "array";
      case Kind::Object: return type.text == "object";
    }
    return false;
  }

  std::string typed(const JsonTree& schema, const std::string& type, const std::string& place) {
    if (type == "object") return object(schema, place);
    if (type == "array") return array(schema, place);
    if (type == "string") return text(schema, place);
    if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
      return invalid(place, format("there is no type '%s'", printable(type).c_str()));
    check_keywords(schema, place, {"type"}, format("of type %s", type.c_str()).c_str());
    return common(type);
  }

  std::optional<uint64_t> count(const JsonTree& schema, const char* keyword, const std::string& place) {
    const JsonTree* number = schema.field(keyword);
    if (number == nullptr) return std::nullopt;
    uint64_t read = 0;
    const bool is_count = number->is(Kind::Integer) && number->text.size() <= 5 && number->text[0] != '-';
    for (const char digit : is_count ? number->text : std::string())
      read = read * 10 + static_cast<uint64_t>(digit - '0');
    if (!is_count || read > kMostSchemaTimes)
      invalid(place, format("'%s' must be an integer from 0 to 10000", keyword));
    return read;
  }

  std::string text(const JsonTree& schema, const std::string& place) {
    check_keywords(schema, place, {"type", "minLength", "maxLength"}, "of type string");
    const std::optional<uint64_t> least = count(schema, "minLength", place), most = count(schema, "maxLength", place);
    if (!least && !most) return common("string");
    if (most && *most < least.value_or(0)) return invalid(place, "'maxLength' is below 'minLength'");
    const std::string last = most ? std::to_string(*most) : "";
    return rule(format("\"\\\"\" %s{%llu,%s} \"\\\"\"", common("character").c_str(),
                       static_cast<unsigned long long>(least.value_or(0)), last.c_str()));
  }

  std::string array(const JsonTree& schema, const std::string& place) {
    check_keywords(schema, place, {"type", "items", "minItems", "maxItems"}, "of type array");
    const JsonTree* items = schema.field("items");
    const uint64_t least = count(schema, "minItems", place).value_or(0);
    const std::optional<uint64_t> most = count(schema, "maxItems", place);
    const std::string item = items != nullptr ? value(*items, place + "/items") : common("value");
    if (most && *most < least) return invalid(place, "'maxItems' is below 'minItems'");
    if (most && *most == 0) return in_quotes("[]");
    const std::string more = most ? std::to_string(*most - 1) : "";
    const std::string list = format("%s (\",\" %s %s){%llu,%s}", item.c_str(), common("space").c_str(), item.c_str(),
                                    static_cast<unsigned long long>(least > 0 ? least - 1 : 0), more.c_str());
    return rule(least > 0 ? "\"[\" " + list + " \"]\"" : "\"[\" (" + list + ")? \"]\"");
  }

  struct Property {
    std::string name, pair;
    bool required = false;
  };

  std::string object(const JsonTree& schema, const std::string& place) {
    check_keywords(schema, place, {"type", "properties", "required", "additionalProperties"}, "of type object");
    const JsonTree *properties = schema.field("properties"), *required = schema.field("required");
    if (properties == nullptr && required == nullptr) return common("object");
    if (properties == nullptr || !properties->is(Kind::Object)) return invalid(place, "'properties' must be an object");
    if (properties->parts.size() > kMostProperties)
      return refuse(Status::Unsupported, place, "more than 1000 properties are not understood");
    std::vector<Property> all;
    for (size_t i = 0; i < properties->parts.size(); ++i) {
      const std::string& name = properties->names[i];
      // A later property of the same name replaces this one.
      if (properties->field(name) != &properties->parts[i]) continue;
      const std::string written = value(properties->parts[i], place + "/properties/" + name);
      all.push_back({name, in_quotes(escaped(json_text(name) + ":")) + " " + common("space") + " " + written});
    }
    if (required != nullptr) mark_required(*required, place, &all);
    return status_ == Status::Ok ? rule("\"{\" " + pairs(all) + " \"}\"") : std::string();
  }

  void mark_required(const JsonTree& required, const std::string& place, std::vector<Property>* all) {
    if (!required.is(Kind::Array)) invalid(place, "'required' must be a list of names");
    for (const JsonTree& name : required.parts) {
      const auto found = std::find_if(all->begin(), all->end(), [&](const Property& p) { return p.name == name.text; });
      if (name.is(Kind::Text) && found != all->end())
        found->required = true;
      else
        invalid(place, format("%s is required, and is none of the properties", printable(name.written()).c_str()));
    }
  }

  // Two rules for each property: one for it and the following ones when none has been written yet, and one that begins with a comma.
  std::string pairs(const std::vector<Property>& all) {
    std::string first = "\"\"", more = "\"\"";
    for (size_t i = all.size(); i > 0; --i) {
      const Property& property = all[i - 1];
      const std::string one = property.pair + " " + more;
      first = rule(property.required ? one : one + " | " + first);
      const std::string next = "\",\" " + common("space") + " " + one;
      more = rule(property.required ? next : next + " | " + more);
    }
    return first;
  }

  const Log& log_;
  Status status_ = Status::Ok;
  std::string rules_;
  std::vector<std::string> needed_;
  size_t count_ = 0;
};

}  // namespace

Status grammar_of_json_schema(std::string_view schema, const Log& log, std::string* gbnf) {
  if (gbnf == nullptr) return refuse("grammar_of_json_schema: gbnf is null");
  JsonTree tree;
  const Status status = parse_tree(schema, "schema", log, &tree);
  return status == Status::Ok ? SchemaWriter(log).write(tree, gbnf) : status;
}

}  // namespace heed
