#include "microvm/identity.h"

#include <gtest/gtest.h>

namespace casemate::guest {
namespace {

constexpr std::uint64_t kInodes = 7;
const Nonce kName = {1}, kRun = {2}, kOther = {3};

Identity saved() {
  Identity identity;
  EXPECT_EQ(identity.be_template(bytes_of(kName), kInodes), 0);
  return identity;
}
int restore(Identity& identity, const Nonce& from, std::uint64_t inodes = kInodes) {
  const Restored restored{from, kRun};
  return identity.be_restored(bytes_of(restored), inodes);
}

TEST(Identity, IsRestoredFromItsTemplateOnce) {
  Identity identity = saved(), another = identity;  // of the same template
  EXPECT_EQ(identity.run(), Nonce{});
  EXPECT_EQ(restore(identity, kName), 0);
  EXPECT_EQ(identity.run(), kRun);
  EXPECT_EQ(restore(identity, kName), EALREADY);
  EXPECT_EQ(restore(another, kName), 0);
}

TEST(Identity, IsNotRestoredFromAnythingElse) {
  Identity booted;
  EXPECT_EQ(restore(booted, Nonce{}), ESTALE) << "it is no template";
  Identity identity = saved();
  EXPECT_EQ(restore(identity, kOther), ESTALE);
  EXPECT_EQ(restore(identity, kName, kInodes + 1), ENOTEMPTY);
  EXPECT_EQ(restore(identity, kName, kInodes - 1), ENOTEMPTY);
  EXPECT_EQ(identity.be_restored("", kInodes), EINVAL);
  EXPECT_EQ(identity.run(), Nonce{});
  EXPECT_EQ(restore(identity, kName), 0);
}

TEST(Identity, OfARestoredMachineIsSavedByNobody) {
  Identity identity = saved();
  EXPECT_EQ(identity.be_template(bytes_of(kOther), kInodes), EINVAL);
  EXPECT_EQ(restore(identity, kName), 0);
  EXPECT_EQ(identity.be_template(bytes_of(kOther), kInodes), EINVAL);
  EXPECT_EQ(Identity().be_template("short", kInodes), EINVAL);
}

}  // namespace
}  // namespace casemate::guest
