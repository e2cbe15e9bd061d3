// JSON with the fields of objects in the order of the text, which Json does not keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

namespace heed {

struct JsonTree {
  enum class Kind : uint8_t { Null, Boolean, Integer, Number, Text, Array, Object };
  Kind kind = Kind::Null;
  bool truth = false;
  // Holds the characters of a text, unescaped, or a number as the file writes it.
  std::string text = {};
  std::vector<JsonTree> parts = {};     // of arrays and objects
  std::vector<std::string> names = {};  // of an object's parts

  bool is(Kind wanted) const { return kind == wanted; }
  // Null if there is none; of equal names the last one counts.
  const JsonTree* field(std::string_view name) const;
  // As it is written in JSON, without spaces between values.
  std::string written() const;
};

// A text as JSON has it, quotes included: \b \f \n \r \t, other control characters as \u00XX, all else as it is.
std::string json_text(std::string_view text);

// `name` stands for the text in messages. InvalidArgument: not JSON, not UTF-8, longer than 1 MiB, or nested deeper than 64.
Status parse_tree(std::string_view text, std::string_view name, const Log& log, JsonTree* tree);

}  // namespace heed
