#include "image/archive.h"

#include <gtest/gtest.h>

#include "image/oci_test_support.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

// In pieces of a few bytes, to find what relies on whole blocks.
class Dribble final : public ByteSource {
 public:
  explicit Dribble(std::string_view text) : text_(text) {}
  Result<std::string_view> next() override {
    const std::string_view piece = text_.substr(0, 7);
    text_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view text_;
};

class Broken final : public ByteSource {
 public:
  Result<std::string_view> next() override { return fail(ErrorCode::kSystem, "the disk broke"); }
};

Result<std::string> unpack(std::string_view text, Packing packing, std::uint64_t most = kPlenty) {
  TextSource source(text);
  std::uint64_t left = most;
  Unpacked unpacked(source, packing, left);
  std::string out;
  for (;;) {
    const std::string_view piece = TRY(unpacked.next());
    if (piece.empty()) return out;
    out.append(piece);
  }
}

struct Read {
  std::vector<TarEntry> entries;
  std::vector<std::string> contents;
};

Result<Read> read_tar(ByteSource& source, bool with_content = true) {
  TarReader tar(source);
  Read read;
  while (const auto entry = TRY(tar.next())) {
    read.entries.push_back(*entry);
    std::string content;
    while (with_content) {
      const std::string_view piece = TRY(tar.data());
      if (piece.empty()) break;
      content.append(piece);
    }
    read.contents.push_back(content);
  }
  return read;
}

Result<Read> read_tar(std::string_view text, bool with_content = true) {
  TextSource source(text);
  return read_tar(source, with_content);
}

TEST(Unpacked, TakesOffOneLayerOfPacking) {
  std::string text(300'000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 3U);
  for (const bool zstd : {false, true}) {
    const std::string small = packed(text, zstd);
    EXPECT_EQ(*unpack(small, zstd ? Packing::kZstd : Packing::kGzip), text);
    EXPECT_EQ(*unpack(small, Packing::kAny), text);
  }
  EXPECT_EQ(*unpack(text, Packing::kNone), text);
  EXPECT_EQ(*unpack(text, Packing::kAny), text);
}

// As pigz and eStargz write it.
TEST(Unpacked, TakesSeveralMembersAsOneText) {
  for (const bool zstd : {false, true}) {
    EXPECT_EQ(*unpack(packed("first ", zstd) + packed("second", zstd), Packing::kAny), "first second");
  }
}

TEST(Unpacked, HashesWhatCameOut) {
  const std::string text = "some bytes";
  const std::string small = packed(text, /*zstd=*/false);
  Dribble source(small);
  std::uint64_t left = kPlenty;
  Unpacked unpacked(source, Packing::kGzip, left);
  EXPECT_EQ(*unpacked.finish_sha256(), crypto::sha256_hex(text));
  EXPECT_EQ(left, kPlenty - text.size());
}

TEST(Unpacked, RefusesAnotherPackingThanItIsSaidToHave) {
  EXPECT_NE(message_of(unpack("plain text", Packing::kGzip)).find("said to be packed with gzip"),
            std::string::npos);
  EXPECT_NE(message_of(unpack(packed("x", false), Packing::kZstd)).find("said to be packed with zstd"),
            std::string::npos);
  EXPECT_FALSE(unpack("", Packing::kGzip).has_value());
}

TEST(Unpacked, RefusesPackingWithinPacking) {
  const std::string twice = packed(packed(std::string(5000, 'x'), false), false);
  EXPECT_NE(message_of(unpack(twice, Packing::kGzip)).find("packed twice"), std::string::npos);
  EXPECT_NE(message_of(unpack(twice, Packing::kAny)).find("packed twice"), std::string::npos);
}

TEST(Unpacked, RefusesWhatIsCutShortOrDamaged) {
  std::string text(100'000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 3U);
  for (const bool zstd : {false, true}) {
    std::string small = packed(text, zstd);
    EXPECT_FALSE(unpack(small.substr(0, small.size() / 2), Packing::kAny).has_value());
    small[small.size() / 2] = static_cast<char>(small[small.size() / 2] ^ 0x55);
    const auto damaged = unpack(small, Packing::kAny);
    EXPECT_TRUE(!damaged.has_value() || *damaged != text);
  }
}

TEST(Unpacked, ABombEndsAtTheLimit) {
  const std::string bomb = packed(std::string(std::size_t{64} << 20, '\0'), /*zstd=*/true);
  EXPECT_LT(bomb.size(), 100'000U);
  const auto result = unpack(bomb, Packing::kZstd, 1 << 20);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(unpack("12345", Packing::kNone, 5).value(), "12345");
  EXPECT_EQ(unpack("12345", Packing::kNone, 4).error().code, ErrorCode::kExhausted);
}

TEST(TarReader, ReadsEveryKindOfEntry) {
  const std::string text = TarText()
                               .directory("d/")
                               .add("d/f", "content", {.mode = 04755})
                               .link("l", "../d")
                               .hard_link("h", "d/f")
                               .add("c", "", {.type = '3'})
                               .add("b", "", {.type = '4'})
                               .add("p", "", {.type = '6'})
                               .text();
  Dribble source(text);
  const auto read = read_tar(source);
  ASSERT_TRUE(read.has_value()) << message_of(read);
  ASSERT_EQ(read->entries.size(), 7U);
  using Type = TarEntry::Type;
  const std::vector<Type> types = {Type::kDirectory, Type::kFile,   Type::kLink, Type::kHardLink,
                                   Type::kDevice,    Type::kDevice, Type::kPipe};
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(read->entries[i].type, types[i]) << i;
  EXPECT_EQ(read->entries[1].path, "d/f");
  EXPECT_EQ(read->entries[1].size, 7U);
  EXPECT_TRUE(read->entries[1].executable);
  EXPECT_EQ(read->contents[1], "content");
  EXPECT_EQ(read->entries[2].target, "../d");
  EXPECT_EQ(read->entries[3].target, "d/f");
}

TEST(TarReader, PassesOverContentThatNobodyAsksFor) {
  const std::string text = TarText().add("a", std::string(100'000, 'a')).add("b", "b").text();
  const auto read = read_tar(text, /*with_content=*/false);
  ASSERT_TRUE(read.has_value()) << message_of(read);
  EXPECT_EQ(read->entries.size(), 2U);
}

TEST(TarReader, NamesAreBytesWhateverTheLocale) {
  const std::string text = TarText()
                               .pax("path", "usr/\u00e9\u4e2d/\U0001d11e")
                               .add("x", "1")
                               .add("raw/\xff\xe9", "2")
                               .pax("linkpath", "\u00e9")
                               .link("l", "x")
                               .pax("SCHILY.xattr.security.capability", "\x01")
                               .add("capable", "3")
                               .text();
  const auto read = read_tar(text);
  ASSERT_TRUE(read.has_value()) << message_of(read);
  ASSERT_EQ(read->entries.size(), 4U);
  EXPECT_EQ(read->entries[0].path, "usr/\u00e9\u4e2d/\U0001d11e");
  EXPECT_EQ(read->entries[1].path, "raw/\xff\xe9");
  EXPECT_EQ(read->entries[2].target, "\u00e9");
  EXPECT_EQ(read->entries[3].path, "capable");
}

TEST(TarReader, RefusesWhatIsNoTarOrCutShort) {
  const std::string text = TarText().add("a", std::string(5000, 'a')).text();
  for (const std::string& bad : {std::string("not a tar archive"), std::string(1000, 'x'),
                                 text.substr(0, 700), text.substr(0, 2000), std::string()}) {
    const auto read = read_tar(bad);
    ASSERT_FALSE(read.has_value()) << bad.size();
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(TarReader, RefusesAHeaderWithAnotherChecksum) {
  std::string text = TarText().add("first", "1").add("second", "2").text();
  text[1024] = 'X';
  EXPECT_FALSE(read_tar(text).has_value());
}

TEST(TarReader, RefusesSparseFiles) {
  const std::string text =
      TarText().pax("GNU.sparse.size", "1000000000000").pax("GNU.sparse.map", "0,1").add("hole", "x").text();
  const auto read = read_tar(text);
  ASSERT_FALSE(read.has_value());
}

TEST(TarReader, PassesOnWhatItsSourceSays) {
  Broken source;
  TarReader tar(source);
  const auto entry = tar.next();
  ASSERT_FALSE(entry.has_value());
  EXPECT_EQ(entry.error().code, ErrorCode::kSystem);
  EXPECT_EQ(entry.error().message, "the disk broke");
  std::uint64_t left = kPlenty;
  Unpacked unpacked(source, Packing::kGzip, left);
  EXPECT_EQ(unpacked.next().error().message, "the disk broke");
}

}  // namespace
}  // namespace casemate::image
