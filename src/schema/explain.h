// Words for a person or a model: what a value is, and what a schema asks for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "schema/node.h"

namespace casemate::schema {

// Text in quotes, on one line and cut to some 60 bytes. Quotes within it stay as they are: it is for reading.
std::string quoted(std::string_view text);

// "null", "true", "the number 12", "the string \"ab…\"", "an array", "an object".
std::string shown(const json::Value& value);
// As it stands in JSON where it is short: "12", "\"ab\"", "an array of 3".
std::string shown_literal(const json::Value& value);

// "a string or null", for bits of Type.
std::string words_for_types(unsigned types);
// "one of \"a\", \"b\" and 7 others", for the list of an enum.
std::string words_for_choices(const json::Value& values);

// "a string or null", "one of \"a\", \"b\"", "an object with \"id\", \"kind\"". Bounded, whatever the schema:
// it names a few of many, and does not follow references far.
std::string expectation(const Program& program, NodeId id);

// "a, b or c" with " or " as `last`; "a, b …" when there are more than `most`.
std::string listed(const std::vector<std::string>& parts, std::string_view last, std::size_t most);

}  // namespace casemate::schema
