#include "crypto/hmac.h"

#include <gtest/gtest.h>

#include <vector>

namespace casemate::crypto {
namespace {

HmacKey key_of(const std::string& bytes) {
  return HmacKey(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

// RFC 4231, test cases 1, 2 and 6.
TEST(Hmac, AgreesWithTheTestCasesOfTheStandard) {
  EXPECT_EQ(key_of(std::string(20, '\x0b')).hex_of("Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(key_of("Jefe").hex_of("what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(key_of(std::string(131, '\xaa')).hex_of("Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, TheSameKeyAnswersAgainAndAnotherKeyOtherwise) {
  const HmacKey key = key_of("one");
  const std::string first = key.hex_of("host");
  EXPECT_EQ(key.hex_of("host"), first);
  EXPECT_NE(key.hex_of("hosts"), first);
  EXPECT_NE(key_of("two").hex_of("host"), first);
}

}  // namespace
}  // namespace casemate::crypto
