#include "bridge/tools_file.h"

#include <gtest/gtest.h>

namespace casemate::bridge {
namespace {

constexpr const char* kConnector = "[connectors.c]\nkind = \"exec\"\ncommand = [\"x\"]\nunboxed = true\n";

std::string tool(const std::string& lines) {
  return std::string(kConnector) + "[[tools]]\nname = \"a.b\"\nconnector = \"c\"\n" + lines;
}

TEST(ToolsFile, IsReadWhole) {
  const ToolsFile file = read_tools_file(tool(R"(
description = "what it does"
effects = ["spend", "message"]
annotations = ["writes"]
labels = ["private"]
tier = 1
destination = "to"
durable = false
time_max = "5s"
arguments = '{"type": "object"}'
result = '''{"type": "array"}'''
[connectors.h]
kind = "caller"
parallel = 4
)"));
  ASSERT_TRUE(file.mistakes.empty()) << file.mistakes.front().what;
  ASSERT_EQ(file.tools.size(), 1U);
  const Tool& one = file.tools[0];
  EXPECT_EQ(one.capability.name, "a.b");
  EXPECT_TRUE(one.capability.effects.has(policy::Effect::kSpend));
  EXPECT_TRUE(one.capability.annotations.has(policy::Annotation::kWrites));
  EXPECT_EQ(one.capability.tier, policy::Tier::kOne);
  EXPECT_EQ(one.capability.labels, std::vector<std::string>{"private"});
  EXPECT_EQ(one.destination, "to");
  EXPECT_FALSE(one.durable);
  EXPECT_EQ(one.time_max, milliseconds{5000});
  EXPECT_TRUE(one.arguments && one.result);
  EXPECT_EQ(file.connectors, std::vector<std::string>{"c"});
  ASSERT_EQ(file.specs.size(), 2U);
  EXPECT_EQ(file.specs[1].kind, ConnectorSpec::Kind::kCaller);
  EXPECT_EQ(file.specs[1].parallel, 4U);
}

std::string http(const std::string& lines) { return "[connectors.b]\nkind = \"http\"\n" + lines; }

TEST(ToolsFile, AnHttpEndpointIsReadWhole) {
  const ToolsFile file = read_tools_file(http(R"(
url = "https://billing.internal/rpc"
headers = { "X-Team" = "a" }
headers_from_env = { "Authorization" = "BILLING_TOKEN" }
ca_file = "ca.pem"
parallel = 4
)"));
  ASSERT_TRUE(file.mistakes.empty()) << file.mistakes.front().what;
  ASSERT_EQ(file.specs.size(), 1U);
  const ConnectorSpec& spec = file.specs[0];
  EXPECT_EQ(spec.kind, ConnectorSpec::Kind::kHttp);
  EXPECT_EQ(spec.parallel, 4U);
  EXPECT_EQ(spec.http.url, "https://billing.internal/rpc");
  EXPECT_EQ(spec.http.ca_file, "ca.pem");
  ASSERT_EQ(spec.http.headers.size(), 1U);
  EXPECT_EQ(spec.http.headers[0].value, "a");
  ASSERT_EQ(spec.http.headers_from_env.size(), 1U);
  EXPECT_EQ(spec.http.headers_from_env[0].value, "BILLING_TOKEN");
  EXPECT_TRUE(read_tools_file(http("url = \"http://127.0.0.1/\"\nheaders_from_env = {A = \"B\"}\n"))
                  .mistakes.empty());
  EXPECT_TRUE(read_tools_file(http("url = \"http://a.internal/\"\n")).mistakes.empty());
}

TEST(ToolsFile, MistakesOfAnHttpEndpointAreTold) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "url"},
      {"url = \"ftp://a/\"\n", "https://"},
      {"url = \"https://u:hunter2@a/\"\n", "headers_from_env"},
      {"url = \"http://a.internal/\"\nheaders_from_env = {A = \"B\"}\n", "clear"},
      {"url = \"http://a.internal/\"\nca_file = \"x\"\n", "ca_file"},
      {"url = \"https://a/\"\nheaders = {Host = \"b\"}\n", "Host"},
      {"url = \"https://a/\"\nheaders = {X = \"a\\r\\nY: b\"}\n", "headers.X"},
      {"url = \"https://a/\"\nheaders = {X = \"a\"}\nheaders_from_env = {x = \"A\"}\n", "twice"},
      {"url = \"https://a/\"\nheaders_from_env = {X = \"Bearer hunter2\"}\n", "variable"},
      {"url = \"https://a/\"\nheaders = {X = 1}\n", "X should be a string"},
      {"url = \"https://a/\"\nverify = false\n", "verify"},
      {"url = \"https://a/\"\nunboxed = true\n", "unboxed"},
  };
  for (const auto& [lines, says] : wrong) {
    const ToolsFile file = read_tools_file(http(lines));
    ASSERT_FALSE(file.mistakes.empty()) << lines;
    const std::string& what = file.mistakes.front().what;
    EXPECT_NE(what.find(says), std::string::npos) << what;
    EXPECT_EQ(what.find("hunter2"), std::string::npos) << what;
  }
}

TEST(ToolsFile, NothingIsAFileOfNothing) {
  EXPECT_TRUE(read_tools_file("").mistakes.empty());
  EXPECT_TRUE(read_tools_file("tools = []\n").mistakes.empty());
}

TEST(ToolsFile, EachMistakeIsToldWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {tool("typo = 1\n"), "typo"},
      {tool("effects = [\"spendx\"]\n"), "spendx"},
      {tool("annotations = [\"nice\"]\n"), "nice"},
      {tool("labels = [\"Not A Label\"]\n"), "Not A Label"},
      {tool("tier = 3\n"), "tier"},
      {tool("time_max = \"never\"\n"), "time_max"},
      {tool("time_max = \"2h\"\n"), "time_max"},
      {tool("arguments = '[1'\n"), "arguments"},
      {tool("arguments = '{\"type\": \"text\"}'\n"), "arguments"},
      {tool("arguments = '{\"unevaluatedItems\": false}'\n"), "unevaluatedItems"},
      {tool("[[tools]]\nname = \"a.b\"\nconnector = \"c\"\n"), "another"},
      {tool("[[tools]]\nname = \"a.c\"\nconnector = \"d\"\n"), "connectors.d"},
      {tool("[[tools]]\nconnector = \"c\"\n"), "name"},
      {tool("[[tools]]\nname = \"casemate.x\"\nconnector = \"c\"\n"), "casemate."},
      {tool("[[tools]]\nname = \"a b\"\nconnector = \"c\"\n"), "a b"},
      {"[connectors.c]\nkind = \"exec\"\nunboxed = true\n", "command"},
      {"[connectors.c]\nkind = \"exec\"\nunboxed = true\ncommand = []\n", "command"},
      {"[connectors.c]\nkind = \"magic\"\n", "kind"},
      {"[connectors.c]\n", "kind"},
      {"[connectors.c]\nkind = \"exec\"\ncommand = [\"x\"]\n", "unboxed"},
      {"[connectors.c]\nkind = \"exec\"\ncommand = [\"x\"]\nunboxed = false\n", "unboxed"},
      {"[connectors.c]\nkind = \"caller\"\nurl = \"x\"\n", "url"},
      {"connectors = 1\n", "connectors"},
      {"x = 1\n", "x"},
      {"[[tools", ""},
  };
  for (const auto& [text, says] : wrong) {
    const ToolsFile file = read_tools_file(text);
    ASSERT_FALSE(file.mistakes.empty()) << text;
    const std::string& what = file.mistakes.front().what;
    EXPECT_TRUE(says.empty() || what.find(says) != std::string::npos) << what;
  }
  const ToolsFile both = read_tools_file(tool("tier = 9\ntypo = 1\nlabels = [\"A\"]\n"));
  EXPECT_EQ(both.mistakes.size(), 3U);
  EXPECT_LT(both.mistakes[0].place, both.mistakes[1].place);
}

}  // namespace
}  // namespace casemate::bridge
