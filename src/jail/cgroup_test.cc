// Control groups on plain directories, which stand in for the kernel's: what is written, read, removed.
// The kernel's own are met by tests/cleanup.
#include "jail/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "jail/cgroup_layout.h"
#include "sys/test_support.h"

namespace casemate::jail {
namespace {

namespace fs = std::filesystem;
using sys::read_text;
using sys::TestDir;
using sys::write_text;

constexpr const char* kHybrid =
    "22 1 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "23 22 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "24 22 0:32 /docker/abc /sys/fs/cgroup/memory ro,nosuid master:5 propagate_from:2 - cgroup cgroup "
    "rw,memory\n"
    "25 22 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
    "26 22 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw,nsdelegate\n"
    "27 1 0:40 / /proc rw - proc proc rw\n"
    "not a line of mountinfo\n"
    "1 2 3 - cgroup cgroup rw\n"
    "\n";

TEST(CgroupLayout, FindsTheMountsInMountinfo) {
  const std::vector<CgroupMount> mounts = cgroup_mounts(kHybrid);
  ASSERT_EQ(mounts.size(), 4U);
  EXPECT_EQ(mounts[0].point, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts[0].options, (std::vector<std::string>{"rw", "cpu", "cpuacct"}));
  EXPECT_FALSE(mounts[0].v2);
  EXPECT_EQ(mounts[1].root, "/docker/abc");
  EXPECT_EQ(mounts[1].point, "/sys/fs/cgroup/memory");
  EXPECT_EQ(mounts[3].point, "/sys/fs/cgroup/uni fied");
  EXPECT_TRUE(mounts[3].v2);
  EXPECT_TRUE(cgroup_mounts("").empty());
}

TEST(CgroupLayout, FindsTheOwnGroupOfAController) {
  const std::string hybrid = "9:name=systemd:/init.scope\n4:cpu,cpuacct:/a:b\n3:memory:/x\n0::/y/z\n";
  EXPECT_EQ(own_group(hybrid, "memory"), "/x");
  EXPECT_EQ(own_group(hybrid, "cpu"), "/a:b");
  EXPECT_EQ(own_group(hybrid, "cpuacct"), "/a:b");
  EXPECT_EQ(own_group(hybrid, ""), "/y/z");
  EXPECT_EQ(own_group(hybrid, "pids"), "/");
  EXPECT_EQ(own_group("0::/only\n", "memory"), "/");
  EXPECT_EQ(own_group("", ""), "/");
  EXPECT_EQ(own_group("nonsense\n:\n", "memory"), "/");
}

TEST(CgroupLayout, PutsAGroupBelowItsMount) {
  struct Row {
    const char* root;
    const char* own;
    const char* directory;
  };
  for (const Row& row : {Row{"/", "/", "/m"},
                         {"/", "/a/b", "/m/a/b"},
                         {"/a", "/a", "/m"},
                         {"/a", "/a/b", "/m/b"},
                         {"/a", "/ab", ""},  // a name that only begins alike
                         {"/a", "/", ""},
                         {"/a", "/b", ""},
                         {"/", "/..", ""},
                         {"/", "/../cpu", ""},
                         {"/", "/..a", "/m/..a"}}) {
    EXPECT_EQ(group_directory(CgroupMount{"/m", row.root, false, {}}, row.own), row.directory)
        << row.root << ' ' << row.own;
  }
}

TEST(GroupName, NamesInstanceAndBox) { EXPECT_EQ(group_name(3, 17), "casemate.i3.b17"); }

class Groups : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"memory", "pids", "cpu", "unified"}) fs::create_directory(dir_ / name);
  }
  CgroupLayout v1() const {
    return {{{dir_ / "memory", false, {Controller::kMemory}},
             {dir_ / "pids", false, {Controller::kPids}},
             {dir_ / "cpu", false, {Controller::kCpu, Controller::kCpuAcct}}},
            CgroupKind::kV1};
  }
  CgroupLayout v2() const {
    return {{{dir_ / "unified",
              true,
              {Controller::kUnified, Controller::kMemory, Controller::kPids, Controller::kCpu}}},
            CgroupKind::kV2};
  }
  // The kernel makes these with the directory.
  void make_files(const std::string& group, std::initializer_list<const char*> names) {
    for (const char* name : names) write_text(dir_ / (group + "/" + name), "");
  }
  void remove_files(const std::string& group) {
    for (const auto& entry : fs::directory_iterator(dir_ / group)) fs::remove(entry);
  }
  std::string text(const std::string& path) const { return read_text(dir_ / path); }

  TestDir dir_;
};

TEST_F(Groups, AreMadeInEveryBaseAndRemovedFromEveryOne) {
  {
    const auto groups = BoxGroups::create(v1(), "g");
    ASSERT_TRUE(groups);
    for (const std::string base : {"memory/g", "pids/g", "cpu/g"}) EXPECT_TRUE(fs::is_directory(dir_ / base));
    EXPECT_FALSE(fs::exists(dir_ / "unified/g"));
  }
  for (const std::string base : {"memory/g", "pids/g", "cpu/g"})
    EXPECT_FALSE(fs::exists(dir_ / base)) << base;
}

TEST_F(Groups, LeaveNothingWhenOneOfThemCannotBeMade) {
  const std::size_t before = sys::open_descriptors();
  fs::create_directory(dir_ / "cpu/g");
  const auto groups = BoxGroups::create(v1(), "g");
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().errno_value, EEXIST);
  EXPECT_FALSE(fs::exists(dir_ / "memory/g"));
  EXPECT_FALSE(fs::exists(dir_ / "pids/g"));
  EXPECT_TRUE(fs::exists(dir_ / "cpu/g"));  // somebody else's
  EXPECT_EQ(sys::open_descriptors(), before);
}

TEST_F(Groups, TakeTheLimitsOfVersion2) {
  auto groups = BoxGroups::create(v2(), "g");
  ASSERT_TRUE(groups);
  make_files("unified/g", {"memory.max", "memory.oom.group", "memory.swap.max", "pids.max", "cpu.max"});
  ASSERT_TRUE(groups->set_limits({64 << 20, 10, 1500}));
  EXPECT_EQ(text("unified/g/memory.max"), "67108864");
  EXPECT_EQ(text("unified/g/memory.oom.group"), "1");
  EXPECT_EQ(text("unified/g/memory.swap.max"), "0");
  EXPECT_EQ(text("unified/g/pids.max"), "11");  // and the init
  EXPECT_EQ(text("unified/g/cpu.max"), "150000 100000");
  EXPECT_EQ(groups->oom_event(), nullptr);
  remove_files("unified/g");
}

TEST_F(Groups, TakeTheLimitsOfVersion1) {
  auto groups = BoxGroups::create(v1(), "g");
  ASSERT_TRUE(groups);
  make_files("memory/g", {"memory.limit_in_bytes", "memory.oom_control", "cgroup.event_control"});
  make_files("pids/g", {"pids.max"});
  make_files("cpu/g", {"cpu.cfs_quota_us"});
  ASSERT_TRUE(groups->set_limits({64 << 20, 10, 250}));
  EXPECT_EQ(text("memory/g/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(text("pids/g/pids.max"), "11");
  EXPECT_EQ(text("cpu/g/cpu.cfs_quota_us"), "25000");
  ASSERT_NE(groups->oom_event(), nullptr);
  EXPECT_TRUE(
      text("memory/g/cgroup.event_control").starts_with(std::to_string(groups->oom_event()->get()) + " "));
  for (const std::string group : {"memory/g", "pids/g", "cpu/g"}) remove_files(group);
}

TEST_F(Groups, YieldTheProcessorsWhileTheyArePrepared) {
  using Share = BoxGroups::Share;
  auto groups = BoxGroups::create(v1(), "g");
  ASSERT_TRUE(groups);
  groups->set_share(Share::kPreparing);  // no such file: no harm
  make_files("cpu/g", {"cpu.shares"});
  groups->set_share(Share::kPreparing);
  EXPECT_EQ(text("cpu/g/cpu.shares"), "102");
  groups->set_share(Share::kRunning);
  EXPECT_EQ(text("cpu/g/cpu.shares"), "1024");
  remove_files("cpu/g");

  auto unified = BoxGroups::create(v2(), "h");
  ASSERT_TRUE(unified);
  make_files("unified/h", {"cpu.weight"});
  unified->set_share(Share::kPreparing);
  EXPECT_EQ(text("unified/h/cpu.weight"), "10");
  unified->set_share(Share::kRunning);
  EXPECT_EQ(text("unified/h/cpu.weight"), "100");
  remove_files("unified/h");
}

TEST_F(Groups, ALimitThatCannotBeWrittenIsAnError) {
  for (const std::string missing : {"memory.max", "memory.oom.group", "pids.max", "cpu.max"}) {
    auto groups = BoxGroups::create(v2(), "g");
    ASSERT_TRUE(groups);
    make_files("unified/g", {"memory.max", "memory.oom.group", "pids.max", "cpu.max"});
    fs::remove(dir_ / ("unified/g/" + missing));
    EXPECT_FALSE(groups->set_limits({64 << 20, 10, 1000})) << missing;
    remove_files("unified/g");
  }
}

TEST_F(Groups, TellWhatWasUsed) {
  const auto groups = BoxGroups::create(v2(), "g");
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->usage().memory_peak_bytes, 0U);  // an older kernel has no such file
  write_text(dir_ / "unified/g/memory.peak", "123456\n");
  write_text(dir_ / "unified/g/memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n");
  write_text(dir_ / "unified/g/pids.events", "max 6\n");
  write_text(dir_ / "unified/g/pids.peak", "7\n");
  write_text(dir_ / "unified/g/cpu.stat", "usage_usec 890\nuser_usec 1\nsystem_usec 2\n");
  const GroupUsage usage = groups->usage();
  EXPECT_EQ(usage.memory_peak_bytes, 123456U);
  EXPECT_EQ(usage.oom_kills, 4U);
  EXPECT_EQ(usage.pids_refused, 6U);
  EXPECT_EQ(usage.pids_peak, 7U);
  EXPECT_EQ(usage.cpu_us, 890U);
  remove_files("unified/g");
}

TEST_F(Groups, TellWhatWasUsedOnVersion1) {
  const auto groups = BoxGroups::create(v1(), "g");
  ASSERT_TRUE(groups);
  write_text(dir_ / "memory/g/memory.max_usage_in_bytes", "4096\n");
  write_text(dir_ / "memory/g/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  write_text(dir_ / "pids/g/pids.events", "max max\n");
  write_text(dir_ / "cpu/g/cpuacct.usage", "5000999\n");
  const GroupUsage usage = groups->usage();
  EXPECT_EQ(usage.memory_peak_bytes, 4096U);
  EXPECT_EQ(usage.oom_kills, 2U);
  EXPECT_EQ(usage.pids_refused, 0U);
  EXPECT_EQ(usage.cpu_us, 5000U);
  for (const std::string group : {"memory/g", "pids/g", "cpu/g"}) remove_files(group);
}

TEST_F(Groups, AnEndThatDoesNotSucceedSaysSo) {
  auto groups = BoxGroups::create(v1(), "g");
  ASSERT_TRUE(groups);
  write_text(dir_ / "memory/g/stays", "");
  const BoxGroups::End end = groups->end(Deadline::in(milliseconds{20}));
  EXPECT_TRUE(end.empty);
  EXPECT_FALSE(end.removed);
  EXPECT_FALSE(fs::exists(dir_ / "pids/g"));  // the others go all the same
  EXPECT_FALSE(fs::exists(dir_ / "cpu/g"));
}

TEST_F(Groups, AListOfMembersOfAnyLengthIsNotEmpty) {
  auto groups = BoxGroups::create(v2(), "g");
  ASSERT_TRUE(groups);
  std::string members;  // of no process: past the largest pid that there is
  for (int i = 0; i < 40'000; ++i) members += "99999999\n";
  write_text(dir_ / "unified/g/cgroup.procs", members);
  const BoxGroups::End end = groups->end(Deadline::at(now()));
  EXPECT_FALSE(end.empty);
  EXPECT_FALSE(end.removed);
}

TEST_F(Groups, RecoveryRemovesThoseOfOneInstanceAlone) {
  for (const std::string name : {"casemate.i1.b1", "casemate.i1.b22", "casemate.i10.b1", "casemate.i11.b1",
                                 "casemate.i2.b1", "casemate.i1", "other"}) {
    fs::create_directory(dir_ / ("memory/" + name));
  }
  fs::create_directory(dir_ / "pids/casemate.i1.b1");
  const auto removed = remove_groups_of_instance({dir_ / "memory", dir_ / "pids", dir_ / "gone"}, 1,
                                                 Deadline::in(milliseconds{1000}));
  ASSERT_TRUE(removed);
  EXPECT_EQ(*removed, 3U);
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(dir_ / "memory")) ++left;
  EXPECT_EQ(left, 5U);
  EXPECT_TRUE(fs::exists(dir_ / "memory/casemate.i10.b1"));
  EXPECT_TRUE(fs::is_empty(dir_ / "pids"));
}

TEST_F(Groups, RecoveryThatDoesNotSucceedIsAnError) {
  fs::create_directories(dir_ / "memory/casemate.i1.b1/stays");
  const auto stays = remove_groups_of_instance({dir_ / "memory"}, 1, Deadline::in(milliseconds{20}));
  ASSERT_FALSE(stays);
  EXPECT_NE(stays.error().message.find("casemate.i1.b1"), std::string::npos);
  // A base that cannot be looked into may hold anything.
  write_text(dir_ / "file", "");
  EXPECT_FALSE(remove_groups_of_instance({dir_ / "file"}, 1, Deadline::in(milliseconds{20})));
}

}  // namespace
}  // namespace casemate::jail
