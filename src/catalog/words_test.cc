#include "catalog/words.h"

#include <gtest/gtest.h>

namespace casemate::catalog {
namespace {

using Words = std::vector<std::string>;

TEST(Words, AreCutWhereNamesAre) {
  EXPECT_EQ(words_of("createPullRequest v2", 10), (Words{"create", "pull", "request", "v2"}));
  EXPECT_EQ(words_of("github.create_pull-request", 10), (Words{"github", "create", "pull", "request"}));
  EXPECT_EQ(words_of("HTTPServer parseJSON", 10), (Words{"http", "server", "parse", "json"}));
  EXPECT_EQ(words_of("Größe 中文", 10), (Words{"größe", "中文"}));
  EXPECT_EQ(words_of(" -.,\n", 10), Words{});
}

TEST(Words, ThatTellNothingApartAreLeftOut) {
  EXPECT_EQ(words_of("Reads the ledger of a tenant", 10), (Words{"read", "ledger", "tenant"}));
}

TEST(Words, PluralsMeetTheirSingular) {
  EXPECT_EQ(words_of("accounts entries status address analysis bus", 10),
            (Words{"account", "entry", "status", "address", "analysis", "bus"}));
}

TEST(Words, AreBounded) {
  EXPECT_EQ(words_of("b c e f", 2), (Words{"b", "c"}));
  EXPECT_EQ(words_of("b", 0), Words{});
  EXPECT_EQ(words_of(std::string(1000, 'x'), 10), Words{std::string(kWordMax, 'x')});
}

}  // namespace
}  // namespace casemate::catalog
