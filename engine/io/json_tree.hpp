// JSON that preserves the order of an object's fields, which Json does not.
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
  // The unescaped characters of a text, or a number as it is written.
  std::string text = {};
  std::vector<JsonTree> parts = {};     // elements of an array, or values of an object
  std::vector<std::string> names = {};  // keys of an object's parts

  bool is(Kind wanted) const { return kind == wanted; }
  // Null if there is none; of equal names the last one counts.
  const JsonTree* field(std::string_view name) const;
  // The value as JSON without spaces between values.
  std::string written() const;
};

// A text as JSON, with quotes: \b \f \n \r \t are escaped, other control characters become \u00XX, all else is unchanged.
std::string json_text(std::string_view text);

// `name` stands for the text in messages. InvalidArgument: not JSON, not UTF-8, longer than 1 MiB, or nested deeper than 64.
Status parse_tree(std::string_view text, std::string_view name, const Log& log, JsonTree* tree);

}  // namespace heed
