#include "schema/place.h"

#include "schema/test_support.h"

namespace casemate::schema {
namespace {

TEST(Place, WritesPointers) {
  Place place;
  EXPECT_EQ(place.pointer(), "");
  const Place::Step items(place, "it/e~ms");
  const Place::Step third(place, 3);
  {
    const Place::Step empty(place, "");
    EXPECT_EQ(place.pointer(), "/it~1e~0ms/3/");
  }
  EXPECT_EQ(place.pointer(), "/it~1e~0ms/3");
}

TEST(Place, LongPointersAreCut) {
  Place place;
  const std::string key(kPointerMax - 1, 'k');
  const Place::Step first(place, key);
  EXPECT_EQ(place.pointer(), "/" + key);
  const Place::Step second(place, "x");
  EXPECT_TRUE(place.pointer().ends_with("k…"));
  EXPECT_LE(place.pointer().size(), kPointerMax);
}

TEST(Follower, FindsWhatPointersName) {
  // The document of RFC 6901, section 5.
  const json::Value document = value_of(
      R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  Follower follower(document);
  EXPECT_EQ(follower.follow(""), &document);
  EXPECT_EQ(follower.follow("/foo"), document.find("foo"));
  EXPECT_EQ(follower.follow("/foo/0"), document.find("foo")->items().data());
  EXPECT_EQ(follower.follow("/"), document.find(""));
  EXPECT_EQ(follower.follow("/a~1b"), document.find("a/b"));
  EXPECT_EQ(follower.follow("/m~0n"), document.find("m~n"));
  for (const std::string_view pointer :
       {"foo", "/foo/2", "/foo/-", "/foo/00", "/foo/1x", "/foo/99999999999999999999", "/nope", "/foo/0/x",
        "/m~n", "/m~2n", "/m~"}) {
    EXPECT_EQ(follower.follow(pointer), nullptr) << pointer;
  }
}

TEST(Members, LargeObjectsAnswerAsSmallOnesDo) {
  for (const int count : {0, 1, 16, 17, 1000}) {
    std::string text = "{";
    for (int i = count; i > 0; --i)
      text += (text.size() > 1 ? "," : "") + ("\"k" + std::to_string(i) + "\":") + std::to_string(i);
    const json::Value object = value_of(text + "}");
    Members members(object);
    for (int i = 1; i <= count; ++i)
      EXPECT_EQ(members.find("k" + std::to_string(i)), object.find("k" + std::to_string(i)));
    EXPECT_EQ(members.find("k0"), nullptr);
    EXPECT_EQ(members.find(""), nullptr);
    EXPECT_EQ(members.find("z"), nullptr);
  }
}

}  // namespace
}  // namespace casemate::schema
