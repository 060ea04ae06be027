#include "image/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace casemate::image {
namespace {

const std::string kHash(64, 'a');

Manifest small_manifest() {
  Manifest manifest;
  manifest.entries = {{EntryType::kDirectory, 0755, 0, "", "/"},
                      {EntryType::kDirectory, 0755, 0, "", "/usr"},
                      {EntryType::kFile, 0644, 3, kHash, "/usr/a b"},
                      {EntryType::kLink, 0777, 0, "a b", "/usr/back\\slash"},
                      {EntryType::kFile, 0755, 0, kHash, std::string("/usr/\xff\n")}};
  return manifest;
}

TEST(Manifest, ComesBackAsItWasPrinted) {
  const std::string text = print_manifest(small_manifest());
  EXPECT_EQ(text, "d 0755 0 - /\nd 0755 0 - /usr\nf 0644 3 " + kHash +
                      " /usr/a\\x20b\nl 0777 0 a\\x20b /usr/back\\x5cslash\nf 0755 0 " + kHash +
                      " /usr/\\xff\\x0a\n");
  const auto parsed = parse_manifest(text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->entries, small_manifest().entries);
}

TEST(Manifest, DigestIsThatOfItsBytes) {
  EXPECT_EQ(image_digest("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(is_image_digest(image_digest("")));
  EXPECT_FALSE(is_image_digest("sha256:" + std::string(63, 'a')));
  EXPECT_FALSE(is_image_digest("sha256:" + std::string(64, 'A')));
  EXPECT_FALSE(is_image_digest("sha512:" + kHash));
}

TEST(Manifest, EveryMalformedLineIsRefused) {
  const std::string root = "d 0755 0 - /\n";
  const std::string file = " " + kHash + " /a\n";
  const std::vector<std::string> bad = {
      "",
      "\n",
      "d 0755 0 - /",                         // no line feed
      root + "\n",                            // empty line
      "f 0644 0" + file,                      // does not begin with the root
      "l 0777 0 x /\n",                       // the root is a link
      root + root,                            // twice
      root + "x 0644 0" + file,               // type
      root + "ff 0644 0" + file,              //
      root + "f 644 0" + file,                // mode
      root + "f 1644 0" + file,               //
      root + "f 0648 0" + file,               //
      root + "f 0644 -1" + file,              // size
      root + "f 0644 01" + file,              //
      root + "f 0644 1x" + file,              //
      root + "f 0644 99999999999999" + file,  //
      root + "f 0644 18446744073709551616" + file,
      root + "f  0644 0" + file,                                   // two spaces
      root + "f 0644 0 " + kHash + " /a \n",                       // a field too many
      root + "f 0644 0 " + kHash + "\n",                           // a field too few
      root + "f 0644 0 " + std::string(63, 'a') + " /a\n",         // hash
      root + "f 0644 0 " + std::string(64, 'A') + " /a\n",         //
      root + "f 0644 0 - /a\n",                                    //
      root + "d 0755 1 - /a\n",                                    // a directory with a size
      root + "d 0755 0 x /a\n",                                    // or with content
      root + "l 0755 0 x /a\n",                                    // a link with a mode
      root + "l 0777 1 x /a\n",                                    // or with a size
      root + "l 0777 0 \\x00 /a\n",                                // or a NUL in its target
      root + "l 0777 0 " + std::string(1025, 'x') + " /a\n",       //
      root + "f 0644 0 " + kHash + " a\n",                         // paths
      root + "f 0644 0 " + kHash + " //a\n",                       //
      root + "f 0644 0 " + kHash + " /a/\n",                       //
      root + "f 0644 0 " + kHash + " /.\n",                        //
      root + "f 0644 0 " + kHash + " /..\n",                       //
      root + "f 0644 0 " + kHash + " /a\\x00\n",                   //
      root + "f 0644 0 " + kHash + " /a\\x61\n",                   // escaped without need
      root + "f 0644 0 " + kHash + " /a\\xFF\n",                   // upper case
      root + "f 0644 0 " + kHash + " /a\\xf\n",                    // cut short
      root + "f 0644 0 " + kHash + " /a\\n\n",                     //
      root + "f 0644 0 " + kHash + " /\xc3\xa4\n",                 // not escaped
      root + "f 0644 0 " + kHash + " /a\t\n",                      //
      root + "f 0644 0 " + kHash + " /b\nf 0644 0" + file,         // order
      root + "f 0644 0" + file + "f 0644 0" + file,                // twice
      root + "f 0644 0 " + kHash + " /a/b\n",                      // no parent
      root + "f 0644 0" + file + "f 0644 0 " + kHash + " /a/b\n",  // the parent is a file
      root + "l 0777 0 x /a\nf 0644 0 " + kHash + " /a/b\n",       // or a link
      root + "f 0644 0 " + kHash + " /" + std::string(256, 'n') + "\n",
  };
  for (const std::string& text : bad) {
    const auto parsed = parse_manifest(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid) << text;
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  }
}

TEST(Manifest, DepthAndLengthOfPathsAreBounded) {
  std::string path;
  for (std::size_t i = 0; i < kImageDepthMax; ++i) path += "/d";
  EXPECT_TRUE(is_image_path(path));
  EXPECT_FALSE(is_image_path(path + "/d"));
  std::string longest;
  while (longest.size() + 200 < kImagePathMax) longest += "/" + std::string(199, 'x');
  longest += "/" + std::string(kImagePathMax - longest.size() - 1, 'y');
  EXPECT_TRUE(is_image_path(longest));
  EXPECT_FALSE(is_image_path(longest + "y"));
}

// Whatever the parser takes, the printer writes again byte for byte.
TEST(Manifest, NothingIsAcceptedThatIsNotPrintedTheSame) {
  const std::string good = print_manifest(small_manifest());
  for (std::uint32_t seed = 0; seed < 5000; ++seed) {
    std::mt19937 random(seed);
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 4); break;
        default: text.insert(at, 1, good[random() % good.size()]); break;
      }
      if (text.empty()) break;
    }
    const auto parsed = parse_manifest(text);
    if (parsed) {
      EXPECT_EQ(print_manifest(*parsed), text) << "seed " << seed;
    }
  }
}

TEST(Escape, EveryByteComesBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const auto back = unescape(escape(all));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, all);
  EXPECT_EQ(escape("plain/~!"), "plain/~!");
}

TEST(Compare, NamesEveryDifference) {
  const Manifest expected = small_manifest();
  EXPECT_TRUE(compare(expected, expected, Depth::kFull).empty());

  Manifest found = expected;
  found.entries[1].mode = 0777;
  found.entries[2].content = std::string(64, 'b');
  found.entries[3].content = "elsewhere";
  found.entries[4].path = "/usr/added";
  std::swap(found.entries[2], found.entries[4]);
  std::swap(found.entries[2], found.entries[3]);
  std::sort(found.entries.begin(), found.entries.end(),
            [](const Entry& a, const Entry& b) { return a.path < b.path; });
  std::vector<FaultKind> kinds;
  for (const Fault& fault : compare(expected, found, Depth::kFull)) kinds.push_back(fault.kind);
  EXPECT_EQ(kinds, (std::vector<FaultKind>{FaultKind::kMode, FaultKind::kContent, FaultKind::kExtra,
                                           FaultKind::kTarget, FaultKind::kMissing}));
}

TEST(Compare, AQuickLookPassesOverContentButNotSize) {
  const Manifest expected = small_manifest();
  Manifest found = expected;
  found.entries[2].content.clear();
  EXPECT_TRUE(compare(expected, found, Depth::kQuick).empty());
  found.entries[2].size = 4;
  ASSERT_EQ(compare(expected, found, Depth::kQuick).size(), 1U);
  EXPECT_EQ(compare(expected, found, Depth::kQuick)[0].kind, FaultKind::kSize);
  found.entries[2].type = EntryType::kDirectory;
  EXPECT_EQ(compare(expected, found, Depth::kQuick)[0].kind, FaultKind::kType);
}

About full_about() {
  About about;
  about.name = "python";
  about.digest = image_digest("x");
  about.recipe = image_digest("y");
  about.created_s = 1'700'000'000;
  about.files = 3;
  about.directories = 2;
  about.links = 1;
  about.size_bytes = 12345;
  about.python = "3.11.2";
  about.packages = {{"bash", "5.2.15-2+b8", "amd64"}, {"tzdata", "2025b-0+deb12u2", "all"}};
  about.modules = {"json", "numpy"};
  about.omitted = {{"/etc/with space", "base"}};
  return about;
}

TEST(About, ComesBackAsItWasPrinted) {
  const auto parsed = parse_about(print_about(full_about()));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(*parsed, full_about());

  About bare = full_about();
  bare.python.clear();
  bare.packages.clear();
  bare.modules.clear();
  bare.omitted.clear();
  const auto parsed_bare = parse_about(print_about(bare));
  ASSERT_TRUE(parsed_bare.has_value()) << parsed_bare.error().message;
  EXPECT_EQ(*parsed_bare, bare);
}

TEST(About, EveryMissingSwappedDoubledOrCutLineIsRefused) {
  const std::string good = print_about(full_about());
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < good.size();) {
    const std::size_t end = good.find('\n', at) + 1;
    lines.push_back(good.substr(at, end - at));
    at = end;
  }
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += part;
    return text;
  };
  constexpr std::size_t kSingleLines = 9;  // the first line and eight keys that must be there
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> doubled = lines;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    EXPECT_FALSE(parse_about(joined(doubled)).has_value()) << lines[i];
    if (i >= kSingleLines) continue;
    std::vector<std::string> without = lines;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(parse_about(joined(without)).has_value()) << lines[i];
    std::vector<std::string> swapped = lines;
    std::swap(swapped[i], swapped[i + 1]);
    EXPECT_FALSE(parse_about(joined(swapped)).has_value()) << lines[i];
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto parsed = parse_about(good.substr(0, size));
    // Cut exactly after a list's line it is a shorter list, which nothing in the text can tell.
    if (parsed) {
      EXPECT_EQ(print_about(*parsed), good.substr(0, size));
    }
  }
  EXPECT_FALSE(parse_about(good + "more x\n").has_value());
  EXPECT_FALSE(parse_about(good + "\n").has_value());
}

TEST(About, NothingIsAcceptedThatIsNotPrintedTheSame) {
  const std::string good = print_about(full_about());
  for (std::uint32_t seed = 0; seed < 5000; ++seed) {
    std::mt19937 random(seed);
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 2); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random());
      } else {
        text.insert(at, 1, good[random() % good.size()]);
      }
    }
    const auto parsed = parse_about(text);
    if (parsed) {
      EXPECT_EQ(print_about(*parsed), text) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace casemate::image
