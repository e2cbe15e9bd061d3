// Grammars restrict the answers of a language model, so that a program can parse them.
//
//   heed::TextConversationOptions options;
//   options.grammar = R"(
//     root ::= "The answer is " answer "."
//     answer ::= "yes" | "no" | [1-9] [0-9]{0,3}     # rules, characters, repetitions
//   )";
//   heed::TextConversation smith;
//   heed::Status s = model.begin(options, &smith);
//
// or from a JSON schema, for answers that are JSON:
//
//   s = heed::grammar_of_json_schema(R"({"type": "object", "properties": {"mood": {"enum": ["grumpy", "calm"]},
//       "text": {"type": "string", "maxLength": 120}}, "required": ["mood", "text"]})", log, &options.grammar);
//
// Grammars are written in a subset of llama.cpp's GBNF:
//
//   name ::= ...        a rule; names are of a-z A-Z 0-9 - _. It ends where the next one begins. "root" is the whole answer
//   "text"              this text; "" is the empty one
//   [a-z_] [^"\\] .     one character: of a set, of all others, any. Sets hold characters and ranges
//   name                what that rule writes; rules may call themselves behind something else
//   x y   x | y         one behind the other; one of both. An alternative may be empty
//   (x)                 a group
//   x* x+ x?            any number of times, at least once, at most once
//   x{m} x{m,} x{m,n}   m times, at least m, m to n; m and n are at most 10000
//   # ...               a comment, to the end of the line
//
// In texts and sets \n \r \t \\ \" \[ \] \- \^ stand for these characters, \xHH \uHHHH \UHHHHHHHH for a code point. A character is a code
// point of Unicode, never a half of a surrogate pair. An expression that may be empty may be repeated.
//
// Errors appear when a conversation begins, as InvalidArgument with line and column: a rule that is undefined or defined twice, left
// recursion (write x ::= y ("," y)* for x ::= x "," y | y), a rule that never ends, groups and repetitions nested deeper than 100, more
// than 256 KiB of text, 4096 rules, or 131072 steps with all repetitions written out.
#pragma once

#include <string>
#include <string_view>

#include <heed/export.hpp>
#include <heed/status.hpp>

namespace heed {

// Makes a grammar for JSON that is valid for a schema (json-schema.org). Answers have the schema's properties in its order, and no others.
// One space may follow a comma or colon between values, in constants too. In values of the type string characters may be escaped or not;
// DEL and what JSON demands are always escaped, and a character outside of the basic plane is escaped as a surrogate pair. Constants and
// property names have one spelling: \b \f \n \r \t \" \\, other control characters as \u and four digits, all else unescaped; numbers as
// the schema spells them. Supported keywords:
//
//   type        object, array, string, integer, number, boolean, null, or a list of them; none, {} or true: any value
//   object      properties, required (without it a property may be left out), additionalProperties (any: none are written)
//   array       items, minItems, maxItems
//   string      minLength, maxLength (an escaped character counts as one, a surrogate pair too)
//   any         enum, const, anyOf, oneOf (an answer may fit several alternatives)
//   notes       title, description, default, examples, $schema, $id, $comment, deprecated, readOnly, writeOnly are read over
//
// Integers have at most 16 digits, numbers at most 16 before and after the point. InvalidArgument: the text is no JSON, is nested deeper
// than 64, or a value makes no sense, such as a required property that is not defined. Unsupported: a keyword, or a combination of
// keywords, that heed does not support. The message names its JSON pointer, as in "/properties/text". On failure *gbnf is unchanged.
HEED_API Status grammar_of_json_schema(std::string_view schema, const Log& log, std::string* gbnf);

}  // namespace heed
