// schema::Pattern: a pattern on the first line, and a text. What compiles can be searched for in anything.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "json/utf8.h"
#include "schema/ecma.h"
#include "schema/pattern.h"

namespace casemate::schema {
namespace {

void run(std::string_view input) {
  if (!json::is_valid_utf8(input)) return;
  const std::size_t line_end = std::min(input.find('\n'), input.size());
  const std::string_view pattern = input.substr(0, line_end);
  const std::string_view text = input.substr(std::min(line_end + 1, input.size()));
  const auto spelled = respell_for_re2(pattern);
  if (spelled) FUZZ_CHECK(spelled->size() <= 250 * pattern.size() && json::is_valid_utf8(*spelled));
  const auto compiled = Pattern::compile(pattern);
  if (!compiled) {
    FUZZ_CHECK(json::is_valid_utf8(compiled.error().message) && compiled.error().message.size() < 400);
    return;
  }
  FUZZ_CHECK(spelled.has_value() && compiled->size() <= kPatternSizeMax);
  const bool found = compiled->is_found_in(text);
  FUZZ_CHECK(compiled->is_found_in(text) == found);
  // A pattern that can be found nowhere in particular is found in more text too, unless it looks at the ends.
  if (found && pattern.find_first_of("^$\\") == std::string_view::npos) {
    FUZZ_CHECK(compiled->is_found_in("x" + std::string(text) + "x"));
  }
}

}  // namespace
}  // namespace casemate::schema

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::schema::run(casemate::fuzz::view(data, size));
  return 0;
}
