// Grammars from JSON schemas: the JSON texts that they accept.
#include <heed/grammar.hpp>

#include <random>

#include <nlohmann/json.hpp>

#include "text/grammar_support.hpp"

namespace heed::test {
namespace {

GrammarStates schema_states(const std::string& schema) {
  std::string gbnf;
  INFO(schema);
  REQUIRE(grammar_of_json_schema(schema, stderr_log(), &gbnf) == Status::Ok);
  return states_of(gbnf);
}

// A text that the grammar accepts, from random bytes. The longer it is, the more it prefers an end.
std::string random_text(GrammarStates& states, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  uint32_t state = states.start();
  const std::string closing = "\"}],:01 aetrulsn.";
  while (text.size() < 4000) {
    if (states.accepts(state) && (!states.goes_on(state) || random() % 3 == 0)) return text;
    uint8_t byte = static_cast<uint8_t>(random());
    if (text.size() > 60 && random() % 4 != 0) byte = static_cast<uint8_t>(closing[random() % closing.size()]);
    if (text.size() > 400) {
      for (const char c : closing)
        if (states.step(state, static_cast<uint8_t>(c)) != GrammarStates::kDead) {
          byte = static_cast<uint8_t>(c);
          break;
        }
    }
    const uint32_t next = states.step(state, byte);
    if (next == GrammarStates::kDead) continue;
    state = next;
    text += static_cast<char>(byte);
  }
  return text;
}

}  // namespace

TEST_CASE("a schema's grammar accepts JSON that is valid for it", "[grammar][text]") {
  struct Case {
    const char* schema;
    std::vector<std::string> yes, no;
  };
  const Case cases[] = {
      {R"({"type": "null"})", {"null"}, {"", "nul", "true"}},
      {R"({"type": "boolean"})", {"true", "false"}, {"null", "True"}},
      {R"({"type": "integer"})",
       {"0", "-0", "-12", "1234567890123456"},
       {"01", "1.5", "-", "1e3", "12345678901234567"}},
      {R"({"type": "number"})", {"0", "-1.5", "2e3", "2.25E-10", "7"}, {".5", "1.", "01", "+1", "NaN"}},
      {R"({"type": "string"})",
       {R"("")", R"("a b")", R"("\n\"\\\/")", R"("\u00e4")", R"("\uD7ff")", "\"\xC3\xA4\"", R"("\uE000")",
        R"("\uD83D\ude00x")", "\"\xF0\x9F\x98\x80\"", R"("\t")"},
       {"\"", "\"a\nb\"", R"("\q")", R"("\uD800")", R"("\uDFFF")", R"("\uDE00\uD83D")", R"("\uD83D\uD83D")",
        R"("\uD83Dx")", "\"\x7F\"", "\"\xFF\"", "\"\t\""}},
      {R"({"type": "string", "minLength": 2, "maxLength": 3})",
       {R"("ab")", R"("abc")", "\"\xC3\xA4\xE2\x82\xAC\"", R"("\u00e4x")", R"("\uD83D\uDE00\uD83D\uDE00x")"},
       {R"("a")", R"("abcd")", R"("")", R"("\uD83D\uDE00")"}},
      {R"({"type": "string", "minLength": 2})", {R"("ab")", R"("abcdefgh")"}, {R"("a")"}},
      {R"({"enum": ["a", 1, null, {"x": [1.50, true]}]})",
       {R"("a")", "1", "null", R"({"x":[1.50,true]})", R"({"x": [1.50, true]})", R"({"x":[1.50, true]})"},
       {"2", "a", R"({"x":  [1.50,true]})", R"({ "x":[1.50,true]})", R"({"x":[1.50 ,true]})", R"({"x":[1.5,true]})"}},
      {R"({"const": {"a\tb": ["\t\b\f\r\n", {}, []], "\u0001": "\/\u00e4"}})",
       {"{\"a\\tb\":[\"\\t\\b\\f\\r\\n\",{},[]],\"\\u0001\":\"/\xC3\xA4\"}",
        "{\"a\\tb\": [\"\\t\\b\\f\\r\\n\", {}, []], \"\\u0001\": \"/\xC3\xA4\"}"},
       {"{\"a\\u0009b\":[\"\\t\\b\\f\\r\\n\",{},[]],\"\\u0001\":\"/\xC3\xA4\"}",
        "{\"a\tb\":[\"\\t\\b\\f\\r\\n\",{},[]],\"\\u0001\":\"/\xC3\xA4\"}"}},
      {R"({"enum": ["\t", "\ud83d\ude00"]})",
       {R"("\t")", "\"\xF0\x9F\x98\x80\""},
       {R"("\u0009")", "\"\t\"", R"("\ud83d\ude00")"}},
      {R"({"properties": {"a\tb": {"const": 1}}, "required": ["a\tb"]})",
       {R"({"a\tb":1})", R"({"a\tb": 1})"},
       {R"({"a\u0009b":1})"}},
      {R"({"type": "string", "enum": ["say \"hi\" \\ \u000a", "\u0007"]})",
       {R"("say \"hi\" \\ \n")", R"("\u0007")"},
       {R"("say")"}},
      {R"({"const": "it"})", {R"("it")"}, {"it"}},
      {R"({"type": ["string", "null"]})", {R"("x")", "null"}, {"1"}},
      {R"({"anyOf": [{"type": "integer"}, {"const": "none"}], "description": "how many"})",
       {"5", R"("none")"},
       {"5.5"}},
      {R"({"oneOf": [{"type": "boolean"}, {"type": "null"}]})", {"true", "null"}, {"0"}},
      {R"({"type": "array", "items": {"type": "integer"}})",
       {"[]", "[1]", "[1,2, 3]"},
       {"[", "[1,]", "[1 ,2]", "[1,\n2]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
       {"[1,2]", "[1, 2, 3]"},
       {"[]", "[1]", "[1,2,3,4]"}},
      {R"({"type": "array", "maxItems": 1, "items": {"const": 1}})", {"[]", "[1]"}, {"[1,1]"}},
      {R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"}},
      {R"({"type": "array", "minItems": 1})", {"[1]", R"([{"a": []},"x"])"}, {"[]"}},
      {R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["a", "b"]})",
       {R"({"b":1,"a":"x"})", R"({"b": 1, "a": "x"})"},
       {R"({"a":"x","b":1})", R"({"b":1})", "{}", R"({"b":1,"a":"x","c":1})"}},
      {R"({"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "required": ["b"]})",
       {R"({"b":2})", R"({"a":1,"b":2})", R"({"b":2,"c":3})", R"({"a":1,"b":2,"c":3})"},
       {"{}", R"({"a":1})", R"({"a":1,"c":3})", R"({,"b":2})"}},
      {R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false})",
       {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1, "b":2})"},
       {R"({"a":1,})", R"({"b":2,"a":1})"}},
      {R"({"type": "object", "properties": {}})", {"{}"}, {R"({"a":1})"}},
      {R"({"type": "object"})", {"{}", R"({"a":1,"b": [{}]})"}, {"[]"}},
      {"{}", {"{}", "[]", "1", "null", R"("x")", R"([[[{"a":{}}]]])"}, {"", "nothing"}},
      {R"({"properties": {"a \"q\" \\ä": true}, "required": ["a \"q\" \\ä"]})",
       {"{\"a \\\"q\\\" \\\\\xC3\xA4\":null}"},
       {"{}"}},
  };
  for (const Case& c : cases) {
    GrammarStates states = schema_states(c.schema);
    INFO(c.schema);
    for (const std::string& text : c.yes) {
      INFO(text);
      CHECK(accepts(states, text));
      CHECK(nlohmann::json::accept(text));
    }
    for (const std::string& text : c.no) {
      INFO("not " << text);
      CHECK_FALSE(accepts(states, text));
    }
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const std::string text = random_text(states, seed);
      INFO(text);
      CHECK(accepts(states, text));
      CHECK(nlohmann::json::accept(text));
    }
  }
}

TEST_CASE("what is not understood of a schema is named", "[grammar][text]") {
  const auto deep = [](int depth) {
    std::string all = "1";
    for (int i = 0; i < depth; ++i) all = "{\"items\":" + all + "}";
    return all;
  };
  std::string wide = "{\"properties\": {";
  for (int i = 0; i < 1001; ++i) wide += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\": {}";
  wide += "}}";
  struct Case {
    std::string schema;
    Status status;
    const char* part;
  };
  const Case cases[] = {
      {"", Status::InvalidArgument, "not valid JSON"},
      {"{", Status::InvalidArgument, "not valid JSON at byte 2"},
      {"\"\xFF\"", Status::InvalidArgument, "not valid JSON"},
      {"[]", Status::InvalidArgument, "schema, /: a schema must be an object"},
      {"false", Status::InvalidArgument, "a schema must be an object, or true"},
      {deep(70), Status::InvalidArgument, "nested deeper than 64"},
      {R"({"type": "strin"})", Status::InvalidArgument, "there is no type 'strin'"},
      {R"({"type": 1})", Status::InvalidArgument, "'type' must be a name"},
      {R"({"type": []})", Status::InvalidArgument, "'type' must be a name"},
      {R"({"type": "string", "pattern": "a+"})", Status::Unsupported, "'pattern' is not understood of type string"},
      {R"({"type": "integer", "minimum": 1})", Status::Unsupported, "'minimum' is not understood of type integer"},
      {R"({"$ref": "#/x"})", Status::Unsupported, "'$ref' is not understood"},
      {R"({"properties": {"a": {"properties": {"b": {"not": {}}}}}})", Status::Unsupported,
       "/properties/a/properties/b: 'not' is not understood"},
      {R"({"anyOf": [{}], "type": "string"})", Status::Unsupported, "'type' is not understood beside 'anyOf'"},
      {R"({"anyOf": [{"format": "date"}]})", Status::Unsupported, "/anyOf/0: 'format'"},
      {R"({"anyOf": []})", Status::InvalidArgument, "/anyOf: must be a list of schemas"},
      {R"({"enum": []})", Status::InvalidArgument, "'enum' must be a list of values"},
      {R"({"enum": [1], "type": "string"})", Status::InvalidArgument, "1 does not fit 'type'"},
      {R"({"properties": {"a": {}}, "required": ["b"]})", Status::InvalidArgument, "\"b\" is required, and is none"},
      {R"({"properties": {"a": {}}, "required": "a"})", Status::InvalidArgument, "'required' must be a list"},
      {R"({"properties": []})", Status::InvalidArgument, "'properties' must be an object"},
      {R"({"items": [{}]})", Status::InvalidArgument, "/items: a schema must be an object"},
      {R"({"type": "string", "maxLength": -1})", Status::InvalidArgument,
       "'maxLength' must be an integer from 0 to 10000"},
      {R"({"type": "string", "maxLength": 1e3})", Status::InvalidArgument, "'maxLength' must be"},
      {R"({"type": "string", "maxLength": 99999999999999999999})", Status::InvalidArgument, "'maxLength' must be"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})", Status::InvalidArgument, "'maxLength' is below"},
      {R"({"type": "array", "minItems": 3, "maxItems": 2})", Status::InvalidArgument, "'maxItems' is below"},
      {wide, Status::Unsupported, "more than 1000 properties"},
  };
  for (const Case& c : cases) {
    INFO(c.schema.substr(0, 100));
    Messages messages;
    std::string gbnf = "as it was";
    CHECK(grammar_of_json_schema(c.schema, messages.log(), &gbnf) == c.status);
    INFO(messages.text);
    CHECK(messages.mention(c.part));
    CHECK(gbnf == "as it was");
  }
  CHECK(grammar_of_json_schema("{}", {}, nullptr) == Status::InvalidArgument);
}

}  // namespace heed::test
