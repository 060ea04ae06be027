#include "image/import.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "image/blobs.h"
#include "image/oci.h"
#include "image/oci_test_support.h"
#include "image/recipe.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

TarText base_layer() {
  return TarText()
      .directory("usr/")
      .directory("usr/bin/")
      .add("usr/bin/python3", "#!/bin/sh\n", {.mode = 06755})
      .hard_link("usr/bin/python", "usr/bin/python3")
      .link("bin", "usr/bin")
      .add("etc/secret", "s", {.mode = 0600});
}

class ImportTest : public testing::Test {
 protected:
  ImportTest() {
    archive_.architecture = python_recipe().architecture;
    options_.name = "other";
    options_.now_s = 1'700'000'000;
  }

  Result<Imported> import() { return import(archive_.text()); }
  Result<Imported> import(const std::string& text) {
    auto store = Store::open(dir_ / "store", StoreMode::kWrite);
    if (!store) return tl::unexpected<Error>(store.error());
    write_text(dir_ / "archive.tar", text);
    const sys::Fd file(::open((dir_ / "archive.tar").c_str(), O_RDONLY | O_CLOEXEC));
    NoProgress progress;
    return import_image(*store, file, options_, progress);
  }

  // That the import fails like this and leaves no image, no name and no draft.
  void refused(const Result<Imported>& imported, const std::string& said,
               ErrorCode code = ErrorCode::kInvalid) {
    ASSERT_FALSE(imported.has_value());
    EXPECT_NE(imported.error().message.find(said), std::string::npos) << imported.error().message;
    EXPECT_EQ(imported.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(imported.error().code, code) << imported.error().message;
    for (const char* below : {"store/tmp", "store/names", "store/sha256"}) {
      EXPECT_TRUE(names_in_directory(dir_ / below).empty()) << below;
    }
  }
  void refuses_layer(const TarText& tar, const std::string& said) {
    archive_.layers.clear();
    archive_.layer(base_layer()).layer(tar);
    refused(import(), said);
    if (HasFailure()) ADD_FAILURE() << "for: " << said;
  }
  VerifyReport verified(const Imported& imported) {
    NoProgress progress;
    const auto store = Store::open(dir_ / "store", StoreMode::kRead);
    return store->verify(imported.image, Depth::kFull, /*threads=*/1, progress).value();
  }

  TestDir dir_;
  OciArchive archive_;
  ImportOptions options_;
};

TEST_F(ImportTest, MakesAnImageLikeAnyOther) {
  archive_.layer(base_layer());
  const auto imported = import();
  ASSERT_TRUE(imported.has_value()) << message_of(imported);
  const std::string file = "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf";
  EXPECT_EQ(read_text(imported->image.path + "/manifest"),
            "d 0755 0 - /\n"
            "l 0777 0 usr/bin /bin\n"
            "d 0755 0 - /dev\n"
            "d 0755 0 - /etc\n"
            "f 0644 1 043a718774c572bd8a25adbeb1bfcd5c0256ae11cecf9f9c3f925d0e52beaf89 /etc/secret\n"
            "d 0755 0 - /proc\n"
            "d 0755 0 - /tmp\n"
            "d 0755 0 - /usr\n"
            "d 0755 0 - /usr/bin\n"
            "f 0755 10 " +
                file + " /usr/bin/python\nf 0755 10 " + file +
                " /usr/bin/python3\n"
                "d 0755 0 - /usr/lib\n"
                "d 0755 0 - /vol\n"
                "l 0777 0 /vol/work /work\n");
  EXPECT_EQ(imported->about.recipe, OciArchive::digest(archive_.manifest()));
  EXPECT_EQ(imported->about.files, 3U);
  EXPECT_EQ(imported->layers, 1U);
  EXPECT_TRUE(verified(*imported).ok());
  EXPECT_EQ(names_in_directory(imported->image.path).size(), 3U);  // rootfs, manifest, about
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());
  const auto store = Store::open(dir_ / "store", StoreMode::kRead);
  EXPECT_EQ(store->find("other")->digest, imported->image.digest);
  EXPECT_EQ(store->about(imported->image)->name, "other");
}

TEST_F(ImportTest, TheSameFilesHaveOneDigestHoweverTheyArePacked) {
  archive_.layer(base_layer());
  const std::string first = import()->image.digest;
  options_.replace = true;
  for (const bool zstd : {false, true}) {
    OciArchive::Layer& layer = archive_.layers.front();
    layer.blob = packed(layer.unpacked, zstd);
    layer.type = std::string("application/vnd.oci.image.layer.v1.tar+") + (zstd ? "zstd" : "gzip");
    for (const std::string& text : {archive_.text(), packed(archive_.text(), zstd)}) {
      const auto again = import(text);
      ASSERT_TRUE(again.has_value()) << message_of(again);
      EXPECT_EQ(again->image.digest, first);
    }
  }
}

TEST_F(ImportTest, LayersLieOverEachOther) {
  archive_.layer(base_layer().add("a/old", "1").add("b", "1"));
  archive_.layer(TarText().add("a/.wh..wh..opq", "").add("a/new", "2").add(".wh.b", "").add("bin/tool", "3"));
  archive_.layer(TarText().add("a", "4"));
  const auto imported = import();
  ASSERT_TRUE(imported.has_value()) << message_of(imported);
  const std::string root = imported->image.rootfs();
  EXPECT_EQ(read_text(root + "/a"), "4");
  EXPECT_FALSE(std::filesystem::exists(root + "/b"));
  EXPECT_EQ(read_text(root + "/usr/bin/tool"), "3");  // through /bin, which is a link
  EXPECT_TRUE(verified(*imported).ok());
}

TEST_F(ImportTest, NothingOfTheArchiveIsSharedOrPrivileged) {
  archive_.layer(
      base_layer().pax("SCHILY.xattr.security.capability", "\x01").add("capable", "x", {.mode = 04777}));
  archive_.layer(TarText()
                     .add("dev/sda", "", {.type = '4'})
                     .add("run/p", "", {.type = '6'})
                     .add("usr/new", "", {.owner = 0}));
  const auto imported = import();
  ASSERT_TRUE(imported.has_value()) << message_of(imported);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(imported->image.rootfs())) {
    struct stat status {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, ::geteuid()) << entry.path();
    EXPECT_TRUE(S_ISDIR(status.st_mode) || status.st_nlink == 1) << entry.path();
    EXPECT_TRUE(S_ISLNK(status.st_mode) || (status.st_mode & 07022U) == 0) << entry.path();
  }
  EXPECT_FALSE(std::filesystem::exists(imported->image.rootfs() + "/dev/sda"));
  EXPECT_FALSE(std::filesystem::exists(imported->image.rootfs() + "/run"));
}

TEST_F(ImportTest, HostileEntriesEndTheImport) {
  write_text(dir_ / "outside", "untouched");
  const std::string out = dir_ / "outside";
  refuses_layer(TarText().add(out, "x"), "absolute");
  refuses_layer(TarText().add("../../../../outside", "x"), "'..'");
  refuses_layer(TarText().add("usr/../x", "x"), "'..'");
  refuses_layer(TarText().link("l", dir_.path()).add("l/outside", "x"), "a link leads to it");
  refuses_layer(TarText().link("l", "../../../..").add("l/outside/x", "x").add("outside", "x"), "twice");
  refuses_layer(TarText().hard_link("h", out), "absolute");
  refuses_layer(TarText().hard_link("h", "../../outside"), "'..'");
  refuses_layer(TarText().link("l", out).hard_link("h", "l"), "no file of the image");
  refuses_layer(TarText().add("twice", "1").add("twice", "2"), "comes twice");
  refuses_layer(TarText().link("f", out).add("f", "x"), "comes twice");
  refuses_layer(TarText().add("usr/bin/python3/x", "1"), "is a file");
  refuses_layer(TarText().link("dev", "/"), "must be a directory");
  refuses_layer(TarText().link("work", "/etc"), "/work must be");
  refuses_layer(TarText().add("usr/.wh...", ""), "hides nothing");
  refuses_layer(TarText().pax("path", std::string(5000, 'p')).add("x", "1"), "too long");
  refuses_layer(TarText().pax("GNU.sparse.size", "99999999999").pax("GNU.sparse.map", "0,1").add("s", "x"),
                "layer 2");
  EXPECT_EQ(read_text(out), "untouched");
}

TEST_F(ImportTest, EveryBlobIsHeldAgainstItsDigest) {
  archive_.layer(base_layer());
  const std::string layer = OciArchive::path_of(archive_.layers[0].blob);
  archive_.files[layer] = TarText().add("evil", "x").text();
  refused(import(), "does not have the digest");
  archive_.files.clear();
  archive_.files[OciArchive::path_of(archive_.config())] = "{}";
  refused(import(), "does not have the digest");
}

TEST_F(ImportTest, EveryLayerIsHeldAgainstItsSizeAndItsUnpackedDigest) {
  archive_.layer(base_layer());
  archive_.size_added = 1;
  refused(import(), "and should have");
  archive_.size_added = 0;
  archive_.layers[0].unpacked += "x";
  refused(import(), "unpacked, it does not have the digest");
}

TEST_F(ImportTest, RefusesArchivesThatAreNotWhole) {
  archive_.layer(base_layer());
  const std::string whole = archive_.text();
  refused(import(whole.substr(0, whole.size() / 2)), "");
  refused(import("no archive at all"), "");
  refused(import(""), "");
  refused(import(TarText().add("a", "b").text()), "no index.json");
  refused(import(TarText().add("manifest.json", "[]").text()), "docker save");
  archive_.with_layout = false;
  refused(import(), "no oci-layout");
  archive_.with_layout = true;
  refused(import(TarText().add("index.json", "{}").add("./index.json", "{}").text()), "twice");
  archive_.layers[0].type = "application/vnd.oci.image.layer.v1.tar+gzip";
  refused(import(), "said to be packed with gzip");
}

TEST_F(ImportTest, RefusesAnotherMachinesImage) {
  archive_.layer(base_layer());
  archive_.architecture = "s390x";
  refused(import(), "not an image for linux/");
  archive_.architecture = python_recipe().architecture;
  archive_.os = "windows";
  refused(import(), "not an image for linux/");
}

TEST_F(ImportTest, ADocumentThatTwoReadersReadDifferentlyIsRefused) {
  archive_.layer(base_layer());
  std::string index = archive_.index();
  archive_.files["index.json"] = index.insert(1, "\"manifests\":[],");
  refused(import(), "comes twice in one object");
}

TEST_F(ImportTest, BoundsHoldWhileUnpacking) {
  const std::string zeros = TarText().add("zeros", std::string(std::size_t{8} << 20, '\0')).text();
  archive_.layers.push_back({packed(zeros, true), zeros, "application/vnd.oci.image.layer.v1.tar+zstd"});
  options_.limits.bytes = std::uint64_t{1} << 20;
  refused(import(), "more bytes", ErrorCode::kExhausted);
  options_.limits = {};
  options_.limits.archive_bytes = 1000;
  refused(import(), "more bytes", ErrorCode::kExhausted);
  options_.limits = {};
  options_.limits.entries = 3;
  archive_.layers.clear();
  archive_.layer(base_layer());
  refused(import(), "more files and directories", ErrorCode::kExhausted);
}

TEST_F(ImportTest, TheNumberOfEntriesOfTheArchiveIsBounded) {
  TarText tar;
  for (std::size_t i = 0; i <= kArchiveEntriesMax; ++i) tar.directory("d" + std::to_string(i));
  refused(import(tar.text()), "more than 4096 entries", ErrorCode::kExhausted);
}

TEST_F(ImportTest, TheNumberOfLayersIsBounded) {
  for (std::size_t i = 0; i < kOciLayersMax + 1; ++i) archive_.layer(TarText().add("f", std::to_string(i)));
  refused(import(), "more than 128", ErrorCode::kExhausted);
}

TEST_F(ImportTest, ANameIsTakenOnlyWhenAskedTo) {
  archive_.layer(base_layer());
  const auto first = import();
  ASSERT_TRUE(first.has_value()) << message_of(first);
  archive_.layer(TarText().add("more", "x"));
  EXPECT_NE(message_of(import()).find("already"), std::string::npos);
  options_.replace = true;
  const auto second = import();
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_NE(second->image.digest, first->image.digest);
  options_.name = "../x";
  EXPECT_NE(message_of(import()).find("cannot be an image's name"), std::string::npos);
}

TEST(ImageNameOf, IsTheFilesOwnWithoutItsEndings) {
  EXPECT_EQ(image_name_of("Tool-1.2.tar"), "tool-1.2");
  EXPECT_EQ(image_name_of("/tmp/x/a_b.tar.gz"), "a_b");
  EXPECT_EQ(image_name_of("a.tgz"), "a");
  EXPECT_EQ(image_name_of("a.tar.zst"), "a");
  EXPECT_EQ(image_name_of("-"), "");
  EXPECT_EQ(image_name_of("a b.tar"), "");
  EXPECT_EQ(image_name_of(".tar"), "");
  EXPECT_EQ(image_name_of("x/"), "");
}

// A file system that takes no more bytes: here the limit of a file's size, which is an errno too.
TEST_F(ImportTest, AFailedWriteLeavesNothing) {
  archive_.layer(base_layer().add("large", std::string(1 << 20, 'x')));
  const std::string text = archive_.text();
  write_text(dir_ / "archive.tar", text);
  ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1 << 19, before.rlim_max};
  const auto store = Store::open(dir_ / "store", StoreMode::kWrite);
  const sys::Fd file(::open((dir_ / "archive.tar").c_str(), O_RDONLY | O_CLOEXEC));
  NoProgress progress;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto imported = import_image(*store, file, options_, progress);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  refused(imported, "File too large", ErrorCode::kSystem);
}

}  // namespace
}  // namespace casemate::image
