#include "http_server/bearer.h"

#include <gtest/gtest.h>

#include "crypto/sha256.h"
#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

std::optional<std::string> tenant_with(const KeyTable& table, const std::string& authorization) {
  Request request;
  request.fields.push_back({"authorization", authorization});
  return table.tenant_of(request);
}

TEST(KeyTable, AKeyNamesItsTenant) {
  const Secret first = new_key(), second = new_key(), third = new_key();
  const auto table = KeyTable::make(
      {{"acme", key_sha256(first)}, {"globex", key_sha256(second)}, {"acme", key_sha256(third)}});
  ASSERT_TRUE(table);
  EXPECT_EQ(tenant_with(*table, "Bearer " + first.reveal()), "acme");
  EXPECT_EQ(tenant_with(*table, "bEARER " + second.reveal()), "globex");
  EXPECT_EQ(tenant_with(*table, "Bearer " + third.reveal()), "acme");
  EXPECT_EQ(tenant_with(*table, "Bearer " + new_key().reveal()), std::nullopt);
  EXPECT_EQ(table->tenant_of(Request()), std::nullopt);
}

TEST(KeyTable, TheFormIsStrict) {
  const Secret key = new_key();
  const auto table = KeyTable::make({{"acme", key_sha256(key)}});
  ASSERT_TRUE(table);
  const std::string& text = key.reveal();
  for (const std::string& bad :
       {text, "Bearer" + text, "Bearer  " + text, "Bearer " + text + " ", "Bearer\t" + text, "Basic " + text,
        "Bearer " + text + ",", "Bearer " + text.substr(1), std::string("Bearer "), std::string("Bearer"),
        "Bearer " + text + text})
    EXPECT_EQ(tenant_with(*table, bad), std::nullopt) << bad;
}

// A key that people choose can be guessed from its hash, so none such works, even when it is in the table.
TEST(KeyTable, OnlyRandomKeysAreTaken) {
  for (const char* weak : {"", "secret", "casemate_", "casemate_secret"}) {
    const auto table = KeyTable::make({{"acme", crypto::sha256_hex(weak)}});
    ASSERT_TRUE(table);
    EXPECT_EQ(tenant_with(*table, std::string("Bearer ") + weak), std::nullopt);
    EXPECT_EQ(table->tenant_of(Request()), std::nullopt);
  }
}

TEST(KeyTable, NoKeysLetNobodyIn) {
  const auto table = KeyTable::make({});
  ASSERT_TRUE(table);
  EXPECT_EQ(tenant_with(*table, "Bearer " + new_key().reveal()), std::nullopt);
}

TEST(KeyTable, SaysWhatIsWrongWithAnEntry) {
  const std::string hash = key_sha256(new_key());
  EXPECT_FALSE(KeyTable::make({{"", hash}}));
  EXPECT_FALSE(KeyTable::make({{"a b", hash}}));
  EXPECT_FALSE(KeyTable::make({{std::string(kTenantMax + 1, 'a'), hash}}));
  EXPECT_FALSE(KeyTable::make({{"acme", hash.substr(1)}}));
  EXPECT_FALSE(KeyTable::make({{"acme", std::string(64, 'A')}}));
  EXPECT_FALSE(KeyTable::make({{"acme", hash}, {"globex", hash}})) << "one key is one tenant's";
}

TEST(NewKey, HasTwoHundredFiftySixBitsAndIsNeverTheSame) {
  const Secret a = new_key(), b = new_key();
  EXPECT_EQ(a.reveal().size(), 9U + 64U);
  EXPECT_NE(a.reveal(), b.reveal());
}

TEST(Unauthorized, IsOneAnswer) {
  const Answer answer = unauthorized();
  EXPECT_EQ(answer.status, 401);
  EXPECT_NE(find_value(answer.fields, "WWW-Authenticate"), nullptr);
  EXPECT_EQ(answer.body, unauthorized().body);
}

}  // namespace
}  // namespace casemate::http_server
