// The grammars of a policy's strings on any bytes: patterns with conditions, flow rules, calls.
#include <string>
#include <string_view>

#include "fuzz.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "policy/call_text.h"
#include "policy/flow.h"
#include "policy/pattern.h"

namespace casemate::policy {
namespace {

void check_fault(const Error& error, std::size_t offset, std::string_view text) {
  FUZZ_CHECK(offset <= text.size());
  FUZZ_CHECK(!error.message.empty() && error.message.find('\n') == std::string::npos);
  FUZZ_CHECK(error.message.size() < 500 && error.message.find('\x1b') == std::string::npos);
  FUZZ_CHECK(error.code == ErrorCode::kInvalid || error.code == ErrorCode::kExhausted);
}

void check_condition(std::string_view text) {
  std::size_t offset = 0;
  const auto condition = Condition::parse(text, 0, offset);
  if (!condition) {
    check_fault(condition.error(), offset, text);
    return;
  }
  static const auto kNothing = json::read("[]");
  static const auto kSome = json::read(
      R"({"a":"x","to":"a@b","amount":"12.50","currency":"EUR","l":[1,"x",null,{"a":2}],"o":{"a":true}})");
  (void)condition->evaluate(*kSome);
  // What is no object answers nothing.
  FUZZ_CHECK(condition->evaluate(*kNothing).truth == Truth::kUnknown);
  // Negation and parentheses mean what they say.
  const std::string negated = "not (" + std::string(text) + ")";
  const auto opposite = Condition::parse(negated, 0, offset);
  if (!opposite) return;  // a bound
  const Truth truth = condition->evaluate(*kSome).truth;
  const Truth other = opposite->evaluate(*kSome).truth;
  FUZZ_CHECK((truth == Truth::kUnknown) == (other == Truth::kUnknown));
  FUZZ_CHECK((truth == Truth::kTrue) == (other == Truth::kFalse));
}

void check(std::string_view text) {
  check_condition(text);
  std::size_t offset = 0;
  const auto pattern = Pattern::parse(text, offset);
  if (!pattern) check_fault(pattern.error(), offset, text);
  const auto flow = FlowCondition::parse(text, offset);
  if (!flow) check_fault(flow.error(), offset, text);
  if (flow) (void)flow->holds({}, {});
  const auto call = parse_call(text, offset);
  if (!call) check_fault(call.error(), offset, text);
  if (call) FUZZ_CHECK(call->arguments.kind() == json::Value::Kind::kObject);
  if (call && pattern) (void)pattern->holds(call->arguments);
}

}  // namespace
}  // namespace casemate::policy

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = casemate::fuzz::view(data, size);
  // A file's strings are UTF-8: its reader refuses others.
  if (casemate::json::is_valid_utf8(text)) casemate::policy::check(text);
  return 0;
}
