#include "engine/products.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "crypto/sha256.h"
#include "sys/test_support.h"

namespace casemate::engine {
namespace {

namespace fs = std::filesystem;
using outcome::ArtifactState;
using outcome::Stream;
using sys::read_text;

// A layer of plain strings, and a directory for products.
TEST(Manifest, HasEachFileOnceByItsLastDeclaration) {
  std::vector<outcome::GuestArtifact> declared(5);
  declared[0] = {.path = "/vol/work/a", .name = "a", .summary = "first", .media_type = "", .figure = false};
  declared[1] = {.path = "/vol/work/b", .name = "b", .summary = "mine", .media_type = "", .figure = false};
  declared[2] = {.path = "/work/./a", .name = "a", .summary = "last", .media_type = "", .figure = false};
  declared[3] = {.path = "/vol/work/b", .name = "b", .summary = "title", .media_type = "", .figure = true};
  declared[4] = {.path = "../x", .name = "x", .summary = "", .media_type = "", .figure = false};
  const auto wanted = manifest(declared, {"a", "./b", "c", "c"});
  ASSERT_EQ(wanted.size(), 4U);
  EXPECT_EQ(wanted[0].summary, "last");
  EXPECT_EQ(wanted[1].summary, "mine");
  EXPECT_EQ(wanted[2].path, "../x");  // store() refuses it
  EXPECT_EQ(wanted[3].name, "c");
}

class ProductsTest : public ::testing::Test {
 protected:
  Products open(Bytes budget = mib(1)) {
    return std::move(*Products::open({dir_ / "out", /*create_now=*/true, budget}));
  }
  Products::Stored store(Products& products, const std::string& name, const std::string& content) {
    outcome::GuestArtifact declared;
    declared.path = "x";
    declared.name = name;
    return products.store(declared, [&](const std::string&) -> Result<sys::Fd> {
      sys::write_text(dir_ / "source", content);
      return sys::open_at(AT_FDCWD, dir_ / "source", O_RDONLY);
    });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(dir_ / "out")) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

  sys::TestDir dir_;
};

TEST_F(ProductsTest, StoresAFileWithItsDigest) {
  Products products = open();
  outcome::GuestArtifact declared;
  declared.path = "/work/out/r.csv";
  declared.name = "r.csv";
  declared.summary = "a table";
  declared.media_type = "text/csv";
  std::string asked;
  const auto stored = products.store(declared, [&](const std::string& path) -> Result<sys::Fd> {
    asked = path;
    sys::write_text(dir_ / "source", "a,b\n");
    return sys::open_at(AT_FDCWD, dir_ / "source", O_RDONLY);
  });
  EXPECT_EQ(asked, "work/out/r.csv");
  EXPECT_FALSE(stored.ours);
  EXPECT_EQ(stored.artifact.state, ArtifactState::kStored);
  EXPECT_EQ(stored.artifact.bytes, 4U);
  EXPECT_EQ(stored.artifact.sha256, crypto::sha256_hex("a,b\n"));
  EXPECT_EQ(stored.artifact.media_type, "text/csv");
  EXPECT_EQ(stored.artifact.summary, "a table");
  EXPECT_EQ(stored.artifact.uri, dir_ / "out/r.csv");
  EXPECT_EQ(read_text(dir_ / "out/r.csv"), "a,b\n");
  EXPECT_EQ(names(), std::vector<std::string>{"r.csv"});
}

TEST_F(ProductsTest, GivesAnyNameOneSafePart) {
  Products products = open();
  const std::map<std::string, std::string> rows = {
      {"plain.txt", "plain.txt"},
      {"two words", "two words"},
      {"", "_"},
      {".", "_."},
      {"..", "_.."},
      {".bashrc", "_.bashrc"},
      {"-rf", "_-rf"},
      {"../up", "_.._up"},
      {"/etc/passwd", "_etc_passwd"},
      {"a/b/c", "a_b_c"},
      {std::string("nul\0byte", 8), "nul_byte"},
      {"line\nend", "line_end"},
      {"\x1b[31mred", "_[31mred"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
  };
  for (const auto& [name, expected] : rows) {
    const auto stored = store(products, name, "x");
    EXPECT_EQ(stored.artifact.uri, dir_ / ("out/" + expected)) << name;
    EXPECT_EQ(stored.artifact.name, name);  // the outcome shows it as the program wrote it
  }
  EXPECT_EQ(names().size(), rows.size());
}

TEST_F(ProductsTest, CutsALongNameAndKeepsItsEnd) {
  Products products = open();
  EXPECT_EQ(store(products, std::string(300, 'a') + ".csv", "x").artifact.uri,
            dir_ / ("out/" + std::string(196, 'a') + ".csv"));
  // Never in the middle of a character.
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\xe2\x82\xac";  // three bytes each
  const auto stored = store(products, name + ".x", "x");
  EXPECT_EQ(stored.artifact.uri, dir_ / ("out/" + name.substr(name.size() - 198) + ".x"));
}

TEST_F(ProductsTest, NumbersNamesThatAreTaken) {
  Products products = open();
  for (const std::string content : {"1", "2", "3"}) (void)store(products, "r.tar.gz", content);
  for (const std::string content : {"1", "2"}) (void)store(products, "noext", content);
  (void)store(products, "r.tar-2.gz", "mine");
  EXPECT_EQ(read_text(dir_ / "out/r.tar.gz"), "1");
  EXPECT_EQ(read_text(dir_ / "out/r.tar-2.gz"), "2");
  EXPECT_EQ(read_text(dir_ / "out/r.tar-3.gz"), "3");
  EXPECT_EQ(read_text(dir_ / "out/r.tar-2-2.gz"), "mine");
  EXPECT_EQ(read_text(dir_ / "out/noext-2"), "2");
  EXPECT_EQ(names().size(), 6U);
}

// What is written lies under another name until it is whole; that name is nobody's product.
TEST_F(ProductsTest, ANameOfAPartIsNoWayToLoseAProduct) {
  Products products = open();
  const auto first = store(products, ".x.part", "first");
  const auto second = store(products, "x", "second");
  EXPECT_EQ(read_text(first.artifact.uri), "first");
  EXPECT_EQ(read_text(second.artifact.uri), "second");
}

TEST_F(ProductsTest, ReplacesAProductOfAnEarlierRunWhole) {
  fs::create_directory(dir_ / "out");
  sys::write_text(dir_ / "out/r", "of an earlier run, and longer");
  sys::write_text(dir_ / "out/.r.part", "of a run that was killed");
  sys::write_text(dir_ / "victim", "of the host");
  fs::create_symlink(dir_ / "victim", dir_ / "out/linked");
  fs::create_symlink(dir_ / "victim", dir_ / "out/.linked.part");
  Products products = open();
  (void)store(products, "r", "new");
  (void)store(products, "linked", "new");
  EXPECT_EQ(read_text(dir_ / "out/r"), "new");
  EXPECT_EQ(read_text(dir_ / "out/linked"), "new");
  EXPECT_FALSE(fs::is_symlink(dir_ / "out/linked"));
  EXPECT_EQ(read_text(dir_ / "victim"), "of the host");
  EXPECT_EQ(names(), (std::vector<std::string>{"linked", "r"}));
}

TEST_F(ProductsTest, HaveABudgetTogether) {
  Products products = open(Bytes{10});
  EXPECT_EQ(store(products, "a", "1234567890").artifact.state, ArtifactState::kStored);
  const auto more = store(products, "b", "1");
  EXPECT_EQ(more.artifact.state, ArtifactState::kFailed);
  EXPECT_FALSE(more.ours);  // the program made too much
  EXPECT_NE(more.artifact.description.find("10 B"), std::string::npos) << more.artifact.description;
  EXPECT_EQ(store(products, "c", "").artifact.state, ArtifactState::kStored);
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "c"}));
}

TEST_F(ProductsTest, OneThatDoesNotFitLeavesRoomForOthers) {
  Products products = open(Bytes{10});
  EXPECT_EQ(store(products, "large", std::string(11, 'x')).artifact.state, ArtifactState::kFailed);
  EXPECT_EQ(store(products, "a", std::string(10, 'x')).artifact.state, ArtifactState::kStored);
}

TEST_F(ProductsTest, TellTheProgramsFaultFromOurs) {
  Products products = open();
  outcome::GuestArtifact declared;
  declared.path = "x";
  declared.name = "x";
  const auto failing = [&](ErrorCode code) {
    return products.store(declared, [&](const std::string&) -> Result<sys::Fd> { return fail(code, "why"); });
  };
  for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kDenied, ErrorCode::kInvalid}) {
    const auto stored = failing(code);
    EXPECT_FALSE(stored.ours) << error_code_name(code);
    EXPECT_EQ(stored.artifact.state, ArtifactState::kFailed);
    EXPECT_EQ(stored.artifact.description, "not stored: why");
    EXPECT_TRUE(stored.artifact.uri.empty());
  }
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kDeadline}) {
    EXPECT_TRUE(failing(code).ours) << error_code_name(code);
  }
  declared.path = "../../etc/passwd";
  const auto outside = products.store(declared, [](const std::string&) -> Result<sys::Fd> {
    ADD_FAILURE() << "it was opened";
    return sys::Fd();
  });
  EXPECT_FALSE(outside.ours);
  EXPECT_EQ(outside.artifact.state, ArtifactState::kFailed);
  // A name that is a directory of the host's: nothing that the program could help.
  fs::create_directory(dir_ / "out/taken");
  EXPECT_TRUE(store(products, "taken", "x").ours);
  EXPECT_TRUE(fs::is_directory(dir_ / "out/taken"));
  EXPECT_EQ(names(), std::vector<std::string>{"taken"});
}

TEST_F(ProductsTest, MakesItsDirectoryOnlyWhenThereIsSomethingToPutThere) {
  Products products = *Products::open({dir_ / "deep/er/out", /*create_now=*/false, mib(1)});
  EXPECT_FALSE(fs::exists(dir_ / "deep"));
  EXPECT_EQ(store(products, "a", "x").artifact.uri, dir_ / "deep/er/out/a");
  EXPECT_EQ(read_text(dir_ / "deep/er/out/a"), "x");
}

TEST_F(ProductsTest, RefusesADirectoryThatIsNone) {
  sys::write_text(dir_ / "file", "");
  for (const std::string place : {"file", "file/below"}) {
    const auto products = Products::open({dir_ / place, /*create_now=*/true, mib(1)});
    ASSERT_FALSE(products) << place;
    EXPECT_EQ(products.error().code, ErrorCode::kDenied) << products.error().message;
  }
}

TEST_F(ProductsTest, SpoolsAStreamAndStoresItOnce) {
  Products products = open();
  EXPECT_FALSE(products.finish_stream(Stream::kStdout));
  products.spool(Stream::kStdout, "one ");
  products.spool(Stream::kStderr, "err");
  products.spool(Stream::kStdout, std::string("t\0o", 3));
  const auto out = products.finish_stream(Stream::kStdout);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->artifact.name, "stdout.bin");
  EXPECT_EQ(out->artifact.bytes, 7U);
  EXPECT_EQ(out->artifact.sha256, crypto::sha256_hex(std::string("one t\0o", 7)));
  EXPECT_EQ(read_text(out->artifact.uri), std::string("one t\0o", 7));
  EXPECT_FALSE(out->ours);
  EXPECT_EQ(products.finish_stream(Stream::kStderr)->artifact.bytes, 3U);
  // A product of the same name is another one.
  EXPECT_EQ(store(products, "stdout.bin", "mine").artifact.uri, dir_ / "out/stdout-2.bin");
}

}  // namespace
}  // namespace casemate::engine
