// json::read() against the second opinion of json_checker.h: what it takes is JSON and says what the text
// says, and what it refuses is no JSON, or has a key twice, or is beyond a bound.
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "json_checker.h"

namespace casemate::json {
namespace {

// Every string (keys too) and number, in the order of the text; and that no key comes twice.
class Walk {
 public:
  explicit Walk(const Value& value) { visit(value, 0); }
  std::vector<std::string> strings;
  std::vector<std::string> numbers;

 private:
  void visit(const Value& value, std::size_t depth) {
    FUZZ_CHECK(depth <= kReaderDepthMax);
    if (const auto text = value.as_string()) {
      FUZZ_CHECK(is_valid_utf8(*text));
      strings.emplace_back(*text);
    }
    if (const auto text = value.as_number_text()) {
      numbers.emplace_back(*text);
      check_number(value);
    }
    for (const Value& item : value.items()) visit(item, depth + 1);
    std::set<std::string> keys;
    for (const Member& member : value.members()) {
      FUZZ_CHECK(keys.insert(member.key).second);
      FUZZ_CHECK(value.find(member.key) == &member.value);
      strings.push_back(member.key);
      visit(member.value, depth + 1);
    }
  }

  static void check_number(const Value& value) {
    const std::string text(*value.as_number_text());
    if (const auto number = value.as_int64()) {
      FUZZ_CHECK(std::to_string(*number) == text || text == "-0");
    }
    if (const auto number = value.as_uint64()) FUZZ_CHECK(std::to_string(*number) == text);
    if (const auto number = value.as_double()) FUZZ_CHECK(*number == std::strtod(text.c_str(), nullptr));
  }
};

void check(std::string_view text) {
  constexpr ReadLimits kLimits{.bytes_max = 1 << 16, .depth_max = kReaderDepthMax, .values_max = 5000};
  const Result<Value> value = read(text, kLimits);
  fuzz::JsonChecker checker(text);
  const bool is_json = checker.check();
  if (value) {
    FUZZ_CHECK(is_json);
    const Walk walk(*value);
    FUZZ_CHECK(walk.strings == checker.strings());
    FUZZ_CHECK(walk.numbers == checker.numbers());
    return;
  }
  const std::string& message = value.error().message;
  FUZZ_CHECK(message.starts_with("line ") && message.size() < 400);
  FUZZ_CHECK(message.find('\n') == std::string::npos && is_valid_utf8(message));
  FUZZ_CHECK(!is_json || value.error().code == ErrorCode::kExhausted ||
             message.find("comes twice in one object") != std::string::npos);
}

}  // namespace
}  // namespace casemate::json

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::json::check(casemate::fuzz::view(data, size));
  return 0;
}
