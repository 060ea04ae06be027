#include "policy/tiers.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "policy/test_support.h"

namespace casemate::policy {
namespace {

TEST(Tiers, ListsWhatTheFileNamesAndTheCatalogueHas) {
  const Policy policy = policy_of(
      "[permissions]\nask = ['mail.send(x > 1)']\nallow = ['docs.*', 'ledger.read']\n"
      "[effects]\n'mail.send' = 'message'\n'pay.*' = 'spend'\n[tiers]\n'draft.send' = { tier = 2, override = "
      "'a draft' }\n");
  Capability pay = named("pay.now");
  Capability writer = named("wiki.edit");
  writer.annotations.add(Annotation::kWrites);
  const auto rows = tier_rows(policy, {pay, writer, named("sms.send")});
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].facts.name, "mail.send");
  EXPECT_EQ(rows[0].facts.tier_why, "it has the effect message");
  ASSERT_NE(rows[0].named_by, nullptr);
  EXPECT_EQ(rows[0].named_by->text.place.line, 2U);
  EXPECT_EQ(rows[1].facts.name, "pay.now");
  EXPECT_EQ(rows[1].named_by, nullptr);
  EXPECT_EQ(rows[2].facts.name, "draft.send");
  EXPECT_EQ(rows[2].facts.tier_why, "an override names it (line 8): a draft");
  EXPECT_EQ(rows[2].proposal, "");
  EXPECT_EQ(rows[3].facts.name, "ledger.read");
  EXPECT_EQ(rows[3].proposal, "");
  EXPECT_EQ(rows[4].proposal, "\"sms.send\" = [\"message\"] in [effects]: its name has `send`");
  EXPECT_EQ(rows[5].proposal, "say in [effects] what it changes: its server says that it writes");
}

TEST(Tiers, VerbsAreWholeWords) {
  const Policy policy = policy_of("");
  const auto proposal = [&](const std::string& name) { return tier_rows(policy, {named(name)})[0].proposal; };
  EXPECT_NE(proposal("github.delete_repo"), "");
  EXPECT_NE(proposal("mcp__mail__send"), "");
  EXPECT_NE(proposal("sendMail"), "");
  EXPECT_EQ(proposal("calendar.sender"), "");
  EXPECT_EQ(proposal("reorder.list"), "");
}

TEST(Tiers, MoreThanFifteenDrawAWarning) {
  std::string file = "[effects]\n";
  for (std::size_t i = 0; i < kTierOneAdvised; ++i) file += "'t" + std::to_string(i) + "' = 'spend'\n";
  EXPECT_EQ(listed(Policy::parse(file).warnings), "");
  EXPECT_EQ(listed(Policy::parse(file + "'one-more' = 'spend'\n").warnings),
            "1:1 16 tier 1 tools; a model chooses badly among more than 15\n");
}

TEST(Tiers, AnAllowRuleThatCoversATierOneCapabilityDrawsAWarning) {
  EXPECT_EQ(
      listed(
          Policy::parse("[permissions]\nallow = ['mail.*']\n[effects]\n'mail.send' = 'message'\n").warnings),
      "2:10 this covers mail.send, which is tier 1, and does not open it to code in a box: name it\n");
  EXPECT_EQ(listed(Policy::parse("[permissions]\nallow = ['mail.send']\n[effects]\n'mail.send' = 'message'\n")
                       .warnings),
            "");
}

}  // namespace
}  // namespace casemate::policy
