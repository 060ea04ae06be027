#include "image/layer_tree.h"

#include <gtest/gtest.h>

#include "image/test_support.h"
#include "image/tree_in_memory.h"

namespace casemate::image {
namespace {

using Type = TarEntry::Type;
using Entries = std::map<std::string, std::string>;

// A tree, and what a disk would have made of its changes.
class LayerTreeTest : public testing::Test {
 protected:
  explicit LayerTreeTest(const ImportLimits& limits = {}) : tree_(limits) { tree_.begin_layer(); }

  Result<void> add(TarEntry entry) { return take(tree_.add(entry)); }
  Result<void> take(Result<std::vector<TreeChange>> changes) {
    if (!changes) return tl::unexpected<Error>(changes.error());
    for (const TreeChange& change : *changes) EXPECT_EQ(disk_.apply(change), "");
    return {};
  }
  Result<void> file(const std::string& path, std::uint64_t size = 1) {
    return add({.type = Type::kFile, .path = path, .target = "", .size = size});
  }
  Result<void> directory(const std::string& path) {
    return add({.type = Type::kDirectory, .path = path, .target = ""});
  }
  Result<void> link(const std::string& path, const std::string& target) {
    return add({.type = Type::kLink, .path = path, .target = target});
  }
  Result<void> hard_link(const std::string& path, const std::string& target) {
    return add({.type = Type::kHardLink, .path = path, .target = target});
  }
  // That an entry is refused, with these words.
  static void refused(const Result<void>& result, const std::string& why) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
  }
  static void made(const Result<void>& result) { EXPECT_TRUE(result.has_value()) << message_of(result); }
  Entries entries() const {
    Entries all = disk_.entries();
    all.erase("/");
    return all;
  }

  LayerTree tree_;
  TreeInMemory disk_;
};

TEST_F(LayerTreeTest, TakesEveryKindOfEntry) {
  made(directory("./"));
  made(directory("./usr/"));
  made(file("usr/a"));
  made(add({.type = Type::kFile, .path = "usr//./b", .target = "", .executable = true}));
  made(link("usr/c", "../../../etc/passwd"));
  made(hard_link("usr/d", "./usr/b"));
  made(file("made/on/the/way"));
  EXPECT_EQ(entries(), (Entries{{"/made", "d"},
                                {"/made/on", "d"},
                                {"/made/on/the", "d"},
                                {"/made/on/the/way", "f"},
                                {"/usr", "d"},
                                {"/usr/a", "f"},
                                {"/usr/b", "fx"},
                                {"/usr/c", "l ../../../etc/passwd"},
                                {"/usr/d", "fx"}}));
}

TEST_F(LayerTreeTest, RefusesPathsThatLeadOut) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "a/..", ".."}) {
    EXPECT_FALSE(file(path).has_value()) << path;
    EXPECT_FALSE(directory(path).has_value()) << path;
    EXPECT_FALSE(hard_link("b", path).has_value()) << path;
  }
  refused(file("."), "no directory");
  refused(file("a/.wh."), "hides nothing");
  refused(file("a/.wh..."), "hides nothing");
  EXPECT_TRUE(entries().empty());
}

TEST_F(LayerTreeTest, RefusesPathsThatAreTooLongOrTooDeep) {
  const auto repeated = [](const std::string& text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  made(file(repeated("d/", kImageDepthMax - 1) + "f"));
  refused(file(repeated("e/", kImageDepthMax) + "f"), "too deep");
  made(file(std::string(255, 'n')));
  refused(file(std::string(256, 'n')), "too long a name");
  refused(file(repeated("long/", 300)), "too long");
  made(link("l", std::string(kImagePathMax, 't')));
  refused(link("m", std::string(kImagePathMax + 1, 't')), "too long a target");
}

TEST_F(LayerTreeTest, RefusesAPathThatComesTwiceInOneLayer) {
  made(directory("d"));
  made(directory("d"));  // as archives do that were put together
  made(file("d/f"));
  refused(file("d/f"), "twice");
  refused(link("./d/./f", "x"), "twice");
  refused(directory("d/f"), "twice");
  refused(file("d"), "twice");
  refused(hard_link("d/f", "d/f"), "itself");
}

TEST_F(LayerTreeTest, ALaterLayerReplacesWhatItNames) {
  made(file("a/f"));
  made(file("b"));
  made(link("c", "b"));
  made(directory("keep"));
  made(file("keep/f"));
  tree_.begin_layer();
  made(file("a"));
  made(directory("b"));
  made(directory("c"));
  made(directory("keep"));
  EXPECT_EQ(entries(), (Entries{{"/a", "f"}, {"/b", "d"}, {"/c", "d"}, {"/keep", "d"}, {"/keep/f", "f"}}));
}

TEST_F(LayerTreeTest, RefusesAFileAsADirectory) {
  made(file("f"));
  refused(file("f/x"), "is a file");
  tree_.begin_layer();
  refused(file("f/x"), "is a file");
  refused(file("f/.wh.x"), "is a file");
  refused(hard_link("g", "f/x"), "is a file");
}

TEST_F(LayerTreeTest, AFileAndADirectoryInOneLayerAreRefused) {
  made(directory("d"));
  tree_.begin_layer();
  made(file("d/x"));
  refused(file("d"), "twice");
}

TEST_F(LayerTreeTest, ParentsThatAreLinksAreFollowedInsideTheTree) {
  made(directory("usr/lib"));
  made(link("lib", "usr/lib"));
  made(link("out", "../../../../usr"));
  made(link("root", "/"));
  made(link("up", "root/../../lib"));
  tree_.begin_layer();
  made(file("lib/a"));
  made(file("out/b"));
  made(file("root/usr/c"));
  made(file("up/d"));
  Entries all = entries();
  EXPECT_EQ(all.count("/usr/lib/a") + all.count("/usr/b") + all.count("/usr/c") + all.count("/usr/lib/d"),
            4U);
  made(hard_link("e", "up/d"));
}

TEST_F(LayerTreeTest, RefusesParentsThatLeadNowhere) {
  made(link("gone", "/not/there"));
  made(link("loop", "loop"));
  made(link("a", "b"));
  made(link("b", "a"));
  made(link("to_file", "f"));
  made(file("f"));
  refused(file("gone/x"), "a link leads to it");
  refused(file("loop/x"), "too many links");
  refused(file("a/x"), "too many links");
  refused(file("to_file/x"), "is a file");
}

TEST_F(LayerTreeTest, AWhiteoutHidesWhatLowerLayersHave) {
  made(file("d/a"));
  made(file("d/sub/b"));
  made(file("e"));
  made(link("l", "d"));
  tree_.begin_layer();
  made(file("d/.wh.sub"));
  made(file(".wh.e"));
  made(file(".wh.l"));
  made(file(".wh.not_there"));
  made(file("not/there/.wh.x"));
  EXPECT_EQ(entries(), (Entries{{"/d", "d"}, {"/d/a", "f"}}));
  refused(file(".wh.e"), "twice");
}

TEST_F(LayerTreeTest, AWhiteoutLeavesItsOwnLayer) {
  made(file("d/old"));
  made(file("f"));
  tree_.begin_layer();
  made(file("d/deep/new"));
  made(file(".wh.d"));
  made(file(".wh.f"));
  made(file("f"));
  EXPECT_EQ(entries(), (Entries{{"/d", "d"}, {"/d/deep", "d"}, {"/d/deep/new", "f"}, {"/f", "f"}}));
}

TEST_F(LayerTreeTest, AnOpaqueDirectoryHidesWhatWasInIt) {
  made(file("d/a"));
  made(file("d/sub/b"));
  made(file("d-other"));
  tree_.begin_layer();
  made(file("d/new"));
  made(file("d/.wh..wh..opq"));
  made(file("d/sub/newer"));
  EXPECT_EQ(
      entries(),
      (Entries{{"/d", "d"}, {"/d-other", "f"}, {"/d/new", "f"}, {"/d/sub", "d"}, {"/d/sub/newer", "f"}}));
  tree_.begin_layer();
  made(file(".wh..wh..opq"));
  EXPECT_TRUE(entries().empty());
}

TEST_F(LayerTreeTest, DropsWhatABoxCannotUse) {
  made(add({.type = Type::kDevice, .path = "dev/sda", .target = ""}));
  made(add({.type = Type::kPipe, .path = "run/pipe", .target = ""}));
  made(file(".wh..wh.plnk"));
  EXPECT_EQ(tree_.dropped(), 3U);
  EXPECT_TRUE(entries().empty());
  refused(add({.type = Type::kDevice, .path = "../sda", .target = ""}), "'..'");
}

TEST_F(LayerTreeTest, HardLinksAreToFilesOfTheImage) {
  made(directory("d"));
  made(link("l", "/etc/passwd"));
  refused(hard_link("a", "d"), "no file");
  refused(hard_link("a", "l"), "no file");
  refused(hard_link("a", "l/x"), "nothing");
  refused(hard_link("a", "nowhere"), "no file");
  refused(hard_link("a", "."), "the root");
  tree_.begin_layer();
  made(file("e/f"));
  tree_.begin_layer();
  refused(hard_link("e", "e/f"), "itself");
}

class SmallTreeTest : public LayerTreeTest {
 protected:
  SmallTreeTest() : LayerTreeTest({.bytes = 10, .entries = 6, .path_bytes = 100, .tree_steps = 1000}) {}
  static void exhausted(const Result<void>& result) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kExhausted) << message_of(result);
  }
};

TEST_F(SmallTreeTest, EntriesAreBounded) {
  for (int i = 0; i < 5; ++i) made(file(std::to_string(i)));
  exhausted(file("6"));
}

TEST_F(SmallTreeTest, WhatIsDroppedCountsToo) {
  for (int i = 0; i < 6; ++i) made(add({.type = Type::kPipe, .path = "p", .target = ""}));
  exhausted(add({.type = Type::kPipe, .path = "p", .target = ""}));
}

TEST_F(SmallTreeTest, DirectoriesMadeOnTheWayAreBounded) { exhausted(file("a/b/c/d/e/f")); }

TEST_F(SmallTreeTest, BytesAreBoundedAndCopiesCount) {
  made(file("a", 4));
  made(hard_link("b", "a"));
  exhausted(hard_link("c", "a"));
}

TEST_F(SmallTreeTest, BytesThatAreHiddenCount) {
  made(file("a", 6));
  tree_.begin_layer();
  exhausted(file("a", 6));
}

TEST_F(SmallTreeTest, PathsAreBoundedTogether) {
  made(link("a", std::string(80, 't')));
  exhausted(link("b", std::string(20, 't')));
}

TEST_F(LayerTreeTest, LinksCannotMakeItWorkForEver) {
  LayerTree tree({.tree_steps = 100'000});
  tree.begin_layer();
  ASSERT_TRUE(tree.add({.type = Type::kDirectory, .path = "d", .target = ""}).has_value());
  for (int i = 0; i < 30; ++i) {
    const std::string next = i == 0 ? "d" : "l" + std::to_string(i - 1);
    std::string way;
    while (way.size() < 900) way += "d/../";
    ASSERT_TRUE(
        tree.add({.type = Type::kLink, .path = "l" + std::to_string(i), .target = way + next}).has_value());
  }
  Result<std::vector<TreeChange>> last = std::vector<TreeChange>();
  for (int i = 0; i < 1000 && last; ++i) {
    last = tree.add({.type = Type::kFile, .path = "l29/f" + std::to_string(i), .target = ""});
  }
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().code, ErrorCode::kExhausted);
}

TEST_F(LayerTreeTest, CompletesWhatABoxNeeds) {
  made(file("usr/local/bin/python3.11"));
  made(link("usr/local/bin/python3", "python3.11"));
  made(directory("work"));
  made(take(tree_.complete()));
  const Entries all = entries();
  for (const char* path : {"/dev", "/proc", "/tmp", "/usr/lib", "/vol"}) EXPECT_EQ(all.at(path), "d") << path;
  EXPECT_EQ(all.at("/work"), "l /vol/work");
  EXPECT_EQ(all.at("/usr/bin/python3"), "l /usr/local/bin/python3");
  EXPECT_TRUE(tree_.has_file("/usr/bin/python3"));
}

TEST_F(LayerTreeTest, LeavesAWholeImageAsItIs) {
  for (const char* path : {"dev", "proc", "tmp", "usr/bin", "usr/lib", "vol"}) made(directory(path));
  made(file("usr/bin/python3.11"));
  made(link("usr/bin/python3", "python3.11"));
  made(link("work", "/vol/work"));
  const Entries before = entries();
  made(take(tree_.complete()));
  EXPECT_EQ(entries(), before);
}

TEST_F(LayerTreeTest, WithoutPythonThereIsNone) {
  made(link("usr/bin/python3", "/usr/bin/nowhere"));
  made(take(tree_.complete()));
  EXPECT_FALSE(tree_.has_file("/usr/bin/python3"));
  EXPECT_FALSE(tree_.has_file("/usr"));
  EXPECT_FALSE(tree_.has_file("/"));
}

// stops: the warden's mounts would follow a link of the image on the host.
TEST(LayerTreeComplete, RefusesLinksWhereABoxMounts) {
  for (const char* path : {"dev", "proc", "tmp", "vol", "usr", "usr/lib"}) {
    LayerTree tree({});
    tree.begin_layer();
    ASSERT_TRUE(tree.add({.type = Type::kLink, .path = path, .target = "/"}).has_value());
    const auto changes = tree.complete();
    ASSERT_FALSE(changes.has_value()) << path;
    EXPECT_NE(message_of(changes).find("must be a directory"), std::string::npos);
  }
}

TEST(LayerTreeComplete, RefusesARunnerOfTheImagesOwn) {
  LayerTree tree({});
  tree.begin_layer();
  ASSERT_TRUE(
      tree.add({.type = Type::kFile, .path = "usr/lib/casemate/python/json.py", .target = ""}).has_value());
  EXPECT_NE(message_of(tree.complete()).find("/usr/lib/casemate must be absent"), std::string::npos);
}

TEST(LayerTreeComplete, RefusesAWorkThatIsSomethingElse) {
  for (const bool with_file : {false, true}) {
    LayerTree tree({});
    tree.begin_layer();
    ASSERT_TRUE(
        tree.add({.type = Type::kFile, .path = with_file ? "work/f" : "work", .target = ""}).has_value());
    EXPECT_NE(message_of(tree.complete()).find("/work must be"), std::string::npos);
  }
}

}  // namespace
}  // namespace casemate::image
