#include "engine/request.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "base/limits.h"
#include "sys/test_support.h"

namespace casemate::engine {
namespace {

class CheckRequest : public ::testing::Test {
 protected:
  void SetUp() override { sys::write_text(dir_ / "source", "1234"); }
  InputFile file(const std::string& path) const {
    return {path, *sys::open_at(AT_FDCWD, dir_ / "source", O_RDONLY)};
  }
  // The message of the refusal; empty when it is taken.
  static std::string refusal(const Request& request) {
    const auto checked = check_request(request);
    if (checked) return {};
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalid) << checked.error().message;
    EXPECT_EQ(checked.error().message.find('\n'), std::string::npos);
    return checked.error().message;
  }
  std::string refusal_of_file(const std::string& path) const {
    Request request;
    request.files.push_back(file(path));
    return refusal(request);
  }
  static std::string refusal_of_artifact(const std::string& path) {
    Request request;
    request.artifacts.push_back(path);
    return refusal(request);
  }

  sys::TestDir dir_;
};

TEST_F(CheckRequest, TakesAPlainOne) {
  Request request;
  request.program = "print(1)";
  request.arguments = {"", "a b", "\xff"};
  request.environment = {"A=1", "EMPTY=", "B=x=y"};
  request.files.push_back(file("in/data.csv"));
  request.artifacts = {"out/report.html", "plot.png"};
  EXPECT_EQ(refusal(request), "");
}

TEST_F(CheckRequest, NamesNoProductOfASharedSandbox) {
  Request request;
  request.sandbox = Sandbox::kShared;
  EXPECT_EQ(refusal(request), "");
  request.artifacts.push_back("out.csv");
  EXPECT_NE(refusal(request).find("'out.csv' without --share-sandbox"), std::string::npos);
}

TEST_F(CheckRequest, BoundsTheProgram) {
  Request request;
  request.program.assign(kProgramMax.count, 'x');
  EXPECT_EQ(refusal(request), "");
  request.program.push_back('x');
  EXPECT_NE(refusal(request).find("--file"), std::string::npos);
  request.program = std::string("print(1)\0", 9);
  EXPECT_NE(refusal(request).find("NUL"), std::string::npos);
}

TEST_F(CheckRequest, BoundsArgumentsAndEnvironment) {
  Request request;
  request.arguments.assign(kArgumentsMax, "a");
  EXPECT_EQ(refusal(request), "");
  request.arguments.emplace_back("a");
  EXPECT_EQ(refusal(request), "there are too many arguments");
  request.arguments = {std::string("a\0", 2)};
  EXPECT_NE(refusal(request).find("NUL"), std::string::npos);

  request = {};
  request.environment.assign(kEnvironmentMax, "A=1");
  EXPECT_EQ(refusal(request), "");
  request.environment.emplace_back("A=1");
  EXPECT_EQ(refusal(request), "there are too many environment variables");

  request = {};
  request.arguments = {std::string(kFramePayloadMax / 2, 'a')};
  EXPECT_EQ(refusal(request), "");
  request.environment = {"A="};
  EXPECT_NE(refusal(request).find("--file"), std::string::npos);
}

TEST_F(CheckRequest, TakesNoVariableWithoutAName) {
  for (const std::string& entry : {std::string("A"), std::string("=1"), std::string("="), std::string(),
                                   std::string("A=\0", 3), std::string("A\0B=1", 5)}) {
    Request request;
    request.environment = {entry};
    EXPECT_NE(refusal(request), "") << entry;
  }
}

const char* const kGoodPaths[] = {"a", "a/b/c", "..a", "a..", "a/...", "-rf", "sp ace", "\xff"};
const char* const kBadPaths[] = {"",     "/",    "/etc/passwd", "/work/x",  "..",
                                 "../x", "a/..", "a/../b",      "a/../../b"};

TEST_F(CheckRequest, InputFilesStayBelowWork) {
  for (const char* path : kGoodPaths) EXPECT_EQ(refusal_of_file(path), "") << path;
  for (const char* path : kBadPaths) EXPECT_NE(refusal_of_file(path), "") << path;
  // The runner could not make these.
  for (const char* path : {".", "./a", "a/.", "a//b", "a/", "out"})
    EXPECT_NE(refusal_of_file(path), "") << path;
  EXPECT_EQ(refusal_of_file("out/a"), "");
}

TEST_F(CheckRequest, ArtifactsStayBelowWork) {
  for (const char* path : kGoodPaths) EXPECT_EQ(refusal_of_artifact(path), "") << path;
  for (const char* path : kBadPaths) EXPECT_NE(refusal_of_artifact(path), "") << path;
}

TEST_F(CheckRequest, BoundsPathsAndNames) {
  std::string path(255, 'a');
  EXPECT_EQ(refusal_of_file(path), "");
  EXPECT_NE(refusal_of_file(path + "a"), "");
  // The box's own path of it, with /vol/work/ before it, must fit too.
  constexpr std::size_t kMost = kPathMax - sizeof("/vol/work/");
  while (path.size() + 256 <= kMost) path += "/" + std::string(255, 'a');
  path += "/" + std::string(kMost - path.size() - 1, 'a');
  ASSERT_EQ(path.size(), kMost);
  EXPECT_EQ(refusal_of_file(path), "");
  EXPECT_EQ(refusal_of_artifact(path), "");
  EXPECT_NE(refusal_of_file(path + "a"), "");
  EXPECT_NE(refusal_of_artifact(path + "a"), "");
  EXPECT_NE(refusal_of_file(std::string("a\0b", 3)), "");
}

TEST_F(CheckRequest, InputFilesHaveNamesOfTheirOwn) {
  Request request;
  request.files.push_back(file("a"));
  request.files.push_back(file("b/c"));
  EXPECT_EQ(refusal(request), "");
  request.files.push_back(file("a"));
  EXPECT_NE(refusal(request).find("twice"), std::string::npos);
  request.files.pop_back();
  request.files.push_back(file("b"));
  EXPECT_NE(refusal(request).find("directory"), std::string::npos);
}

TEST_F(CheckRequest, InputFilesFitIntoTheBox) {
  Request request;
  request.files.push_back(file("a"));
  request.limits.file_size = Bytes{4};
  EXPECT_EQ(refusal(request), "");
  request.limits.file_size = Bytes{3};
  EXPECT_NE(refusal(request).find("file-size"), std::string::npos);
  request.limits.file_size = mib(256);
  request.limits.disk = kib(256);
  ASSERT_EQ(::truncate((dir_ / "source").c_str(), 256 << 10), 0);
  EXPECT_EQ(refusal(request), "");
  ASSERT_EQ(::truncate((dir_ / "source").c_str(), (256 << 10) + 1), 0);
  EXPECT_NE(refusal(request).find("--disk"), std::string::npos);
}

TEST_F(CheckRequest, BoundsTheNumberOfFilesAndArtifacts) {
  Request request;
  request.artifacts.assign(kArtifactsMax, "a");
  EXPECT_EQ(refusal(request), "");
  request.artifacts.emplace_back("a");
  EXPECT_EQ(refusal(request), "there are too many artifacts");
  request = {};
  // Descriptors that are none: the number alone is too large to look at them.
  for (std::size_t i = 0; i <= kInputFilesMax; ++i) request.files.push_back({std::to_string(i), sys::Fd()});
  EXPECT_EQ(refusal(request), "there are too many input files");
}

TEST_F(CheckRequest, LooksAtTheLimitsToo) {
  Request request;
  request.limits.pids = 0;
  EXPECT_TRUE(refusal(request).starts_with("the pids limit"));
}

}  // namespace
}  // namespace casemate::engine
