#include "crypto/digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "crypto/sha256.h"

namespace casemate::crypto {
namespace {

struct Vector {
  std::string bytes;
  const char* sha256;
  const char* md5;
};

// FIPS 180-2 appendix B, RFC 1321 appendix A.5, and lengths around one block.
const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
       "d41d8cd98f00b204e9800998ecf8427e"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
       "900150983cd24fb0d6963f7d28e17f72"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
       "8215ef0796a20bcaaae116d3876c664a"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
       "7707d6ae4e027c70eea2a935c2296f21"},
  };
  return all;
}

TEST(Digest, MatchesPublishedVectors) {
  for (const Vector& vector : vectors()) {
    EXPECT_EQ(digest_hex(DigestKind::kSha256, vector.bytes), vector.sha256) << vector.bytes.size();
    EXPECT_EQ(digest_hex(DigestKind::kMd5, vector.bytes), vector.md5) << vector.bytes.size();
  }
}

TEST(Digest, PiecesGiveTheSameAsTheWhole) {
  const std::string bytes(100'003, 'x');
  const std::string whole = sha256_hex(bytes);
  for (const std::size_t piece : {1U, 63U, 64U, 65U, 4096U}) {
    Sha256 digest;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      digest.update(std::string_view(bytes).substr(at, piece));
    }
    EXPECT_EQ(digest.finish_hex(), whole) << piece;
  }
}

TEST(Digest, StartsAnewAfterFinish) {
  Sha256 digest;
  digest.update("abc");
  const std::string first = digest.finish_hex();
  digest.update("abc");
  EXPECT_EQ(digest.finish_hex(), first);
}

TEST(Digest, ReadsADescriptorToItsEnd) {
  const int fd = ::memfd_create("digest", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string bytes(1'000'000, 'a');
  ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(::lseek(fd, 0, SEEK_SET), 0);
  const auto hex = sha256_hex_of(fd);
  ASSERT_TRUE(hex.has_value());
  EXPECT_EQ(*hex, vectors()[3].sha256);
  ::close(fd);
}

TEST(Digest, ADescriptorThatCannotBeReadIsAnError) {
  const auto hex = sha256_hex_of(-1);
  ASSERT_FALSE(hex.has_value());
  EXPECT_EQ(hex.error().code, ErrorCode::kSystem);
  EXPECT_EQ(hex.error().errno_value, EBADF);
}

TEST(Digest, LowerHexIsStrict) {
  EXPECT_TRUE(is_lower_hex("00ff", 4));
  EXPECT_FALSE(is_lower_hex("00FF", 4));
  EXPECT_FALSE(is_lower_hex("00f", 4));
  EXPECT_FALSE(is_lower_hex("00fg", 4));
  EXPECT_TRUE(is_lower_hex("", 0));
}

}  // namespace
}  // namespace casemate::crypto
