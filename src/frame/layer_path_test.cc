#include "frame/layer_path.h"

#include <gtest/gtest.h>

#include <map>

namespace casemate::frame {
namespace {

TEST(PathBeneathLayer, PutsWhatAProgramNamesBelowItsLayer) {
  const std::map<std::string, std::string> rows = {
      {"report.csv", "work/report.csv"},
      {"./report.csv", "work/report.csv"},
      {"out/a//b/./c", "work/out/a/b/c"},
      {"/work/x", "work/x"},
      {"/work", "work"},
      {"/work/", "work"},
      {"//work//x", "work/x"},
      {"/vol/work/x", "work/x"},
      {"/vol/home/x", "home/x"},
      {"/vol/./x", "x"},
      {"/tmp/x", "tmp/x"},
      {"work/x", "work/work/x"},
      {"vol/x", "work/vol/x"},
      {"...", "work/..."},
      {"..x", "work/..x"},
      {"x..", "work/x.."},
      {"", "work"},
      {" ", "work/ "},
      {"a\nb", "work/a\nb"},
  };
  for (const auto& [path, expected] : rows) {
    const auto below = path_beneath_layer(path);
    ASSERT_TRUE(below) << path;
    EXPECT_EQ(*below, expected) << path;
  }
}

TEST(PathBeneathLayer, RefusesEverythingElse) {
  for (const std::string path : {"..",
                                 "../x",
                                 "a/..",
                                 "a/../b",
                                 "a/../../b",
                                 "/work/..",
                                 "/work/../etc/passwd",
                                 "/vol/..",
                                 "/tmp/../vol/x",
                                 "//..",
                                 "/",
                                 "//",
                                 "/etc/passwd",
                                 "/workx/y",
                                 "/volx",
                                 "/tmpx",
                                 "/proc/self/root/x",
                                 "/dev/null",
                                 "/usr",
                                 "/vol",
                                 "/vol/",
                                 "/./vol/."}) {
    const auto below = path_beneath_layer(path);
    ASSERT_FALSE(below) << path << " became " << *below;
    EXPECT_EQ(below.error().code, ErrorCode::kDenied) << path;
  }
}

}  // namespace
}  // namespace casemate::frame
