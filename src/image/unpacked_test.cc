// Images with files of a package that is only unpacked: packages made by dpkg-deb or byte by byte, and an apt
// that does as it is told.
#include <gtest/gtest.h>

#include <cstdlib>

#include "crypto/sha256.h"
#include "image/build.h"
#include "image/oci_test_support.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

const std::string kName = "linux-image-6.1-cloud-amd64";
const std::string kControl = "Package: " + kName +
                             "\nVersion: 6.1-1\nArchitecture: amd64\nMaintainer: nobody <n@example.org>\n"
                             "Description: a kernel\n";

TarText whole_kernel() {
  TarText tar;
  tar.directory("./").directory("./boot/").add("./boot/vmlinuz-6.1", "kernel", {.mode = 0600, .owner = 7});
  tar.add("./lib/modules/6.1/kernel/virtio.ko", "module");
  tar.add("./lib/modules/6.1/modules.builtin", "kernel/fs/squashfs.ko\n");
  return tar;
}

// ar(5), as deb(5) has it.
std::string member(const std::string& name, const std::string& content) {
  std::string header(60, ' ');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(16, "0");
  put(28, "0");
  put(34, "0");
  put(40, "100644");
  put(48, std::to_string(content.size()));
  put(58, "`\n");
  return header + content + (content.size() % 2 == 0 ? "" : "\n");
}

std::string deb_of(const TarText& data, const std::string& control = kControl) {
  const std::string control_tar = TarText().directory("./").add("./control", control, {.owner = 0}).text();
  return "!<arch>\n" + member("debian-binary", "2.0\n") + member("control.tar", control_tar) +
         member("data.tar", data.text());
}

class UnpackedTest : public testing::Test {
 protected:
  UnpackedTest() : debian_(dir_) {
    debian_.add_package("tool");
    debian_.add_file("tool", "/bin/tool", "#!/bin/sh\n", 0755);
    recipe_ = debian_.recipe({"tool"});
    recipe_.directories.insert(recipe_.directories.end(), {"/boot", "/m"});
    recipe_.unpacked = UnpackedPackage();
    recipe_.unpacked->meta = "linux-image-cloud-amd64";
    recipe_.unpacked->pattern = "linux-image-*-cloud-amd64";
    recipe_.unpacked->files = {{"/boot/vmlinuz-*", "/boot/vmlinuz"},
                               {"/usr/lib/modules/*/virtio.ko", "/m/virtio.ko", /*module=*/true},
                               {"/usr/lib/modules/*/squashfs.ko", "/m/squashfs.ko", /*module=*/true}};
  }

  // An apt whose lists have this package file, with the checksum that is named; and whether it can fetch it.
  void use_apt(const std::string& deb, const std::string& sum, bool online = true) {
    write_text(dir_ / "fetchable.deb", deb);
    write_script(
        "apt-cache",
        "case $3 in linux-image-cloud-amd64) echo 'Package: linux-image-cloud-amd64'; echo 'Depends: " +
            kName + " (= 6.1-1)';;\n" + kName + "=6.1-1) printf '" + "Package: " + kName +
            "\\nVersion: 6.1-1\\nArchitecture: amd64\\nSize: " + std::to_string(deb.size()) +
            "\\nSHA256: " + sum + "\\n';; *) exit 9;; esac");
    write_script("apt-get", online ? "cp " + (dir_ / "fetchable.deb") +
                                         " ./kernel.deb; echo fetched; pwd > " + (dir_ / "where")
                                   : "echo half > half.deb; echo 'E: Could not resolve host' >&2; exit 100");
    recipe_.unpacked->apt_cache = dir_ / "apt-cache";
    recipe_.unpacked->apt_get = dir_ / "apt-get";
  }
  void write_script(const std::string& name, const std::string& text) {
    write_text(dir_ / name, "#!/bin/sh\n" + text + "\n");
    ::chmod((dir_ / name).c_str(), 0755);
  }
  void give(const std::string& deb) {
    write_text(dir_ / "given.deb", deb);
    recipe_.unpacked->given = dir_ / "given.deb";
  }

  Result<Built> run() const {
    auto store = Store::open(dir_ / "store", StoreMode::kWrite);
    if (!store) return tl::unexpected<Error>(store.error());
    NoProgress progress;
    return build(*store, recipe_, {}, progress);
  }
  void expect_refused(const std::string& part, ErrorCode code = ErrorCode::kInvalid) const {
    const auto built = run();
    ASSERT_FALSE(built.has_value());
    EXPECT_EQ(built.error().code, code) << message_of(built);
    EXPECT_NE(message_of(built).find(part), std::string::npos) << message_of(built);
    EXPECT_EQ(message_of(built).find('\n'), std::string::npos) << message_of(built);
    for (const char* below : {"store/tmp", "store/sha256", "store/names"}) {
      EXPECT_TRUE(!std::filesystem::exists(dir_ / below) || names_in_directory(dir_ / below).empty())
          << below;
    }
  }

  TestDir dir_;
  FakeDebian debian_;
  Recipe recipe_;
};

TEST_F(UnpackedTest, TakesTheFilesOfAFetchedPackage) {
  const std::string deb = deb_of(whole_kernel());
  use_apt(deb, crypto::sha256_hex(deb));
  const auto built = run();
  ASSERT_TRUE(built.has_value()) << message_of(built);
  EXPECT_EQ(read_text(built->image.rootfs() + "/boot/vmlinuz"), "kernel");
  EXPECT_EQ(read_text(built->image.rootfs() + "/m/virtio.ko"), "module");
  EXPECT_FALSE(std::filesystem::exists(built->image.rootfs() + "/m/squashfs.ko"))
      << "the kernel has it in itself";
  EXPECT_EQ(names_in_directory(built->image.path).size(), 3U) << "the package file is gone";
  EXPECT_EQ(built->about.packages,
            (std::vector<PackageVersion>{{kName, "6.1-1", "amd64"}, {"tool", "1.0", "all"}}));
  const std::string manifest = read_text(built->image.path + "/manifest");
  EXPECT_NE(manifest.find("f 0644 6 " + crypto::sha256_hex("kernel") + " /boot/vmlinuz\n"),
            std::string::npos);
  EXPECT_NE(read_text(dir_ / "where").find("/store/tmp/"), std::string::npos);

  EXPECT_TRUE(run()->reused) << "and apt's candidate is what it was";
}

TEST_F(UnpackedTest, AFileThatIsNotTheOneOfTheListsIsRefused) {
  use_apt(deb_of(whole_kernel()), std::string(64, 'a'));
  expect_refused("what apt fetched is not the " + kName + " 6.1-1 of its lists", ErrorCode::kUnavailable);
}

TEST_F(UnpackedTest, SaysWhatToDoOffline) {
  use_apt(deb_of(whole_kernel()), std::string(64, 'a'), /*online=*/false);
  expect_refused(kName + "=6.1-1 cannot be fetched", ErrorCode::kUnavailable);
  expect_refused(
      "E: Could not resolve host; try `apt-get update`, or give a package file that you have: casemate image "
      "build fake --kernel FILE.deb",
      ErrorCode::kUnavailable);
  write_script("apt-cache", "echo 'E: No packages found' >&2; exit 100");
  expect_refused("apt says nothing of linux-image-cloud-amd64", ErrorCode::kUnavailable);
  recipe_.unpacked->apt_cache = dir_ / "absent";
  expect_refused("--kernel FILE.deb", ErrorCode::kUnavailable);
  use_apt("", std::string(64, 'a'));
  write_script("apt-get", "exit 0");
  expect_refused("apt says that it fetched", ErrorCode::kUnavailable);
}

TEST_F(UnpackedTest, AGivenFileIsTakenAndNeverTakenForAFetchedOne) {
  const std::string deb = deb_of(whole_kernel());
  use_apt(deb, crypto::sha256_hex(deb));
  const auto fetched = run();
  ASSERT_TRUE(fetched.has_value()) << message_of(fetched);
  give(deb_of(whole_kernel().add("./lib/modules/6.1/kernel/squashfs.ko", "its own")));
  for (int i = 0; i < 2; ++i) {
    const auto given = run();
    ASSERT_TRUE(given.has_value()) << message_of(given);
    EXPECT_FALSE(given->reused) << "the file may be another under the same name";
    EXPECT_EQ(given->about.packages, fetched->about.packages);
    EXPECT_NE(given->image.digest, fetched->image.digest);
  }
  recipe_.unpacked->given.clear();
  const auto again = run();
  ASSERT_TRUE(again.has_value()) << message_of(again);
  EXPECT_FALSE(again->reused);
  EXPECT_EQ(again->image.digest, fetched->image.digest);
}

TEST_F(UnpackedTest, OddPackageFilesAreRefused) {
  const std::string deb = deb_of(whole_kernel());
  struct Case {
    std::string deb;
    std::string part;
  };
  const std::vector<Case> cases = {
      {"no archive", "given.deb: "},
      {"", "given.deb: "},
      {deb.substr(0, deb.size() - 2000), "given.deb: "},
      {"!<arch>\n" + member("debian-binary", "2.0\n"), "given.deb: "},
      {deb.substr(0, deb.find("data.tar")), "given.deb: "},
      {deb_of(whole_kernel(), "Package: bash\nVersion: 5\nArchitecture: amd64\n"), "but 'bash'"},
      {deb_of(whole_kernel(), "Package: " + kName + "\nVersion: 5\nArchitecture: arm64\n"),
       "made for 'arm64'"},
      {deb_of(TarText().add("./boot/config-6.1", "x")), "it has no /boot/vmlinuz-*"},
      {deb_of(TarText().add("./boot/vmlinuz-6.1", "x")),
       "it has no /usr/lib/modules/*/virtio.ko, and no kernel"},
      {deb_of(whole_kernel().add("./boot/vmlinuz-6.1", "x")), "both /boot/vmlinuz-6.1 and /boot/vmlinuz-6.1"},
      {deb_of(whole_kernel().add("./boot/../../x", "x")), "a path that no package has"},
      {deb_of(TarText().link("./boot/vmlinuz-6.1", "/etc/shadow")), "is no regular file"},
      {deb_of(TarText().add("./x", "x").hard_link("./boot/vmlinuz-6.1", "./x")), "is no regular file"},
  };
  for (const Case& odd : cases) {
    give(odd.deb);
    expect_refused(odd.part);
  }
  recipe_.unpacked->given = dir_ / "absent.deb";
  expect_refused("absent.deb: No such file");
}

TEST_F(UnpackedTest, APackageHasABound) {
  give(deb_of(whole_kernel()));
  recipe_.unpacked->bytes_max = whole_kernel().text().size() - 1;
  expect_refused("it holds more bytes than a package may", ErrorCode::kExhausted);
  recipe_.unpacked->bytes_max += 1;
  EXPECT_TRUE(run().has_value());
}

TEST_F(UnpackedTest, IsForOneArchitectureAlone) {
  recipe_.only_on = "s390x";
  expect_refused("the image 'fake' is for s390x alone, and this machine is amd64", ErrorCode::kUnavailable);
}

TEST(Recipes, AreFoundByName) {
  EXPECT_EQ(recipe_names(), "python, microvm");
  EXPECT_EQ(find_recipe("microvm")->name, "microvm");
  EXPECT_FALSE(find_recipe("").has_value());
  const Recipe recipe = microvm_recipe();
  for (const Cut& cut : recipe.cuts) EXPECT_FALSE(cut.why.empty()) << cut.package;
  for (const Exclusion& exclusion : recipe.exclusions)
    EXPECT_FALSE(exclusion.why.empty()) << exclusion.pattern;
  const std::set<std::string> directories(recipe.directories.begin(), recipe.directories.end());
  for (const TakenFile& file : recipe.unpacked->files) {
    EXPECT_TRUE(directories.contains(file.path.substr(0, file.path.rfind('/')))) << file.path;
  }
  Recipe given = recipe;
  given.unpacked->given = "/x";
  EXPECT_NE(recipe_digest(given), recipe_digest(recipe));
  given.unpacked->given = "/y";
  Recipe other = recipe;
  other.only.pop_back();
  EXPECT_NE(recipe_digest(other), recipe_digest(recipe));
}

}  // namespace
}  // namespace casemate::image
