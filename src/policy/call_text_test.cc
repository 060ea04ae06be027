#include "policy/call_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"

namespace casemate::policy {
namespace {

std::string fault(std::string_view text) {
  std::size_t offset = 0;
  const auto call = parse_call(text, offset);
  return call ? "(none)" : std::to_string(offset) + ": " + call.error().message;
}

CallText call_of(std::string_view text) {
  std::size_t offset = 0;
  auto call = parse_call(text, offset);
  EXPECT_TRUE(call.has_value()) << fault(text);
  return call ? std::move(*call) : CallText();
}

TEST(CallText, ReadsArgumentsByName) {
  const CallText call = call_of(
      "mail.send(to='a@example.com', amount = 12.50, 'odd key'=\"it's\", t=true, f=false, n=null, l=[1, 'x', "
      "[]], o={a=1, b={}})");
  EXPECT_EQ(call.capability, "mail.send");
  const json::Value& arguments = call.arguments;
  ASSERT_EQ(arguments.members().size(), 8U);
  EXPECT_EQ(*arguments.find("to")->as_string(), "a@example.com");
  EXPECT_EQ(*arguments.find("amount")->as_number_text(), "12.50");
  EXPECT_EQ(*arguments.find("odd key")->as_string(), "it's");
  EXPECT_TRUE(*arguments.find("t")->as_boolean());
  EXPECT_FALSE(*arguments.find("f")->as_boolean());
  EXPECT_EQ(arguments.find("n")->kind(), json::Value::Kind::kNull);
  EXPECT_EQ(arguments.find("l")->items().size(), 3U);
  EXPECT_EQ(*arguments.find("o")->find("a")->as_int64(), 1);
}

TEST(CallText, ReadsJsonToo) {
  EXPECT_TRUE(call_of("a()").arguments.members().empty());
  EXPECT_EQ(call_of("a()").arguments.kind(), json::Value::Kind::kObject);
  const CallText call = call_of("a.b( {\"to\": \"x\\n)\", \"n\": 1e400})");
  EXPECT_EQ(*call.arguments.find("to")->as_string(), "x\n)");
  EXPECT_EQ(*call.arguments.find("n")->as_number_text(), "1e400");
}

TEST(CallText, FaultsHaveAPlace) {
  EXPECT_EQ(fault(""), "0: the name of a capability is due at the beginning of a call");
  EXPECT_EQ(fault("a b()"), "0: the name of a capability is due at the beginning of a call");
  EXPECT_EQ(fault("a.*()"), "0: the name of a capability is due at the beginning of a call");
  EXPECT_EQ(fault("stdout()"), "0: the name of a capability is due at the beginning of a call");
  EXPECT_EQ(fault("a"), "1: `(` is due here");
  EXPECT_EQ(fault("a("), "2: the name of an argument is due here, not the end");
  EXPECT_EQ(fault("a(x)"), "3: `=` is due here, not `)`");
  EXPECT_EQ(fault("a(x=)"), "4: a value is due here, not `)`");
  EXPECT_EQ(fault("a(x=y)"), "4: a value is due here, not `y`");
  EXPECT_EQ(fault("a(x=1, x=2)"), "7: an argument is given once, not `x`");
  EXPECT_EQ(fault("a(x=1) b"), "7: nothing may follow here, not `b`");
  EXPECT_EQ(fault("a(x=01)"), "4: a number as JSON spells it is due here, not `01`");
  EXPECT_EQ(fault("a(x=[1)"), "6: `]` is due here, not `)`");
  EXPECT_EQ(fault("a({\"x\": 1}").substr(0, 2), "2:");
  EXPECT_EQ(fault("a({\"x\": 1,})").substr(0, 2), "2:");
  EXPECT_NE(fault("a({\"x\": 1, \"x\": 2})"), "(none)");
  EXPECT_NE(fault("a(x=" + std::string(100, '[') + ")").find("in each other"), std::string::npos);
  EXPECT_NE(fault("a(x='" + std::string(kPatternMax, 'x') + "')").find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace casemate::policy
