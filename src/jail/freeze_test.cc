// Groups that stand still, on the kernel's own hierarchies: v2's, and v1's freezer, under which nobody dies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "jail/cgroup.h"
#include "sys/fd.h"

namespace casemate::jail {
namespace {

constexpr milliseconds kEndTime{10'000};

// Where a group can be made, on v2 or below v1's freezer.
std::optional<CgroupBase> base_on(bool v2) {
  for (const char* path : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/freezer"}) {
    struct stat status {};
    const bool unified = ::stat((std::string(path) + "/cgroup.controllers").c_str(), &status) == 0;
    const bool freezer = std::string_view(path).ends_with("freezer") && !unified;
    if ((v2 ? unified : freezer) && ::access(path, W_OK) == 0)
      return CgroupBase{path, v2, {v2 ? Controller::kUnified : Controller::kFreezer}};
  }
  return std::nullopt;
}

class Freeze : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const auto base = base_on(GetParam());
    if (!base) GTEST_SKIP() << "needs a hierarchy of " << (GetParam() ? "v2" : "v1's freezer") << " to write";
    CgroupLayout layout;
    layout.bases.push_back(*base);
    const std::string name = "casemate.freeze-test." + std::to_string(::getpid());
    groups_ = BoxGroups::create(layout, name).value();
    sys::Pair pipe = sys::make_pipe().value();
    child_ = ::fork();
    if (child_ == 0) {
      for (;;) {
        if (::write(pipe.second.get(), "x", 1) < 0) ::_exit(1);
        (void)::poll(nullptr, 0, 1);
      }
    }
    said_ = std::move(pipe.first);
    ASSERT_TRUE(
        sys::write_file_at(AT_FDCWD, base->path + "/" + name + "/cgroup.procs", std::to_string(child_)));
  }
  void TearDown() override {
    if (child_ <= 0) return;
    (void)groups_.freeze(false);
    (void)::kill(child_, SIGKILL);
    (void)::waitpid(child_, nullptr, 0);
  }
  // Whether it says anything for a while.
  bool says() {
    pollfd item{said_.get(), POLLIN, 0};
    return ::poll(&item, 1, 300) > 0;
  }
  // What was said before it stood still is read, as far as that goes in two seconds.
  bool grows_quiet() {
    const Deadline until = Deadline::in(milliseconds{2000});
    std::string chunk(std::size_t{64} << 10, '\0');
    while (!until.passed(now())) {
      if (!says()) return true;
      (void)sys::read_some(said_, chunk);
    }
    return false;
  }

  BoxGroups groups_;
  sys::Fd said_;
  pid_t child_ = 0;
};

TEST_P(Freeze, StandsStillAndGoesOn) {
  EXPECT_FALSE(grows_quiet());
  ASSERT_TRUE(groups_.freeze(true));
  EXPECT_TRUE(grows_quiet());
  ASSERT_TRUE(groups_.freeze(false));
  EXPECT_TRUE(says());
}

TEST_P(Freeze, WhoStandsStillIsEndedAllTheSame) {
  ASSERT_TRUE(groups_.freeze(true));
  ASSERT_TRUE(grows_quiet());
  const BoxGroups::End end = groups_.end(Deadline::in(kEndTime));
  EXPECT_TRUE(end.empty);
  EXPECT_TRUE(end.removed);
  EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
  child_ = 0;
}

INSTANTIATE_TEST_SUITE_P(Hierarchies, Freeze, testing::Bool(),
                         [](const auto& one) { return one.param ? "v2" : "v1"; });

TEST(NoFreezer, SaysThatItCannot) { EXPECT_FALSE(BoxGroups().freeze(true)); }

}  // namespace
}  // namespace casemate::jail
