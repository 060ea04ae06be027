#include "image/deb.h"

#include <gtest/gtest.h>

#include "image/test_support.h"

namespace casemate::image {
namespace {

const std::string kPattern = "linux-image-*-cloud-amd64";
const std::string kName = "linux-image-6.1.0-57-cloud-amd64";
const std::string kSum(64, 'a');

TEST(Paragraph, IsTheFirstOneWithoutContinuations) {
  const auto fields =
      parse_paragraph("Package: a\nDescription: one\n two\n\t three\nSize:12\n\nPackage: b\n");
  ASSERT_TRUE(fields.has_value()) << message_of(fields);
  EXPECT_EQ(*fields,
            (std::map<std::string, std::string>{{"Package", "a"}, {"Description", "one"}, {"Size", "12"}}));
  EXPECT_TRUE(parse_paragraph("")->empty());
  for (const char* text : {"Package\n", ": a\n", "Package: a\nPackage: b\n", "Package: a"}) {
    EXPECT_EQ(parse_paragraph(text).error().code, ErrorCode::kInvalid) << text;
  }
  EXPECT_FALSE(parse_paragraph("A: " + std::string(kControlBytesMax, 'x') + "\n").has_value());
}

std::string meant(const std::string& depends) {
  const auto named = parse_meta("Package: meta\nDepends: " + depends + "\n", kPattern);
  return named ? named->argument() : "error: " + named.error().message;
}

TEST(MetaPackage, NamesOnePackageAndItsVersion) {
  EXPECT_EQ(meant(kName + " (= 6.1.192-3)"), kName + "=6.1.192-3");
  EXPECT_EQ(meant(kName), kName);
  EXPECT_EQ(meant(kName + " (>= 6.1)"), kName);
  EXPECT_EQ(meant("kmod, " + kName + ":amd64 (=6.1.192-3) | other , x"), kName + "=6.1.192-3");
}

TEST(MetaPackage, RefusesWhatNoPackageIsCalled) {
  const std::string none = "error: it depends on no package that is called as " + kPattern;
  EXPECT_EQ(meant(""), none);
  EXPECT_EQ(meant("linux-image-amd64, kmod"), none);
  EXPECT_EQ(meant("-o=linux-image-6-cloud-amd64"), none);
  EXPECT_EQ(parse_meta("Package: meta\n", kPattern).error().message, none.substr(7));
  EXPECT_EQ(meant(kName + ", linux-image-6.2-cloud-amd64"),
            "error: it depends on several packages that are called as " + kPattern);
  for (const std::string& odd :
       {std::string("linux-image-../x-cloud-amd64"), std::string("linux-image-$(x)-cloud-amd64"),
        kName + " (= -o)", kName + " (= 6 -o x)", kName + " (= x)"}) {
    EXPECT_TRUE(meant(odd).starts_with("error: it depends on")) << odd << ": " << meant(odd);
  }
}

TEST(PackageFile, IsTheOneThatWasAskedFor) {
  const NamedPackage asked{kName, "6.1.192-3"};
  const std::string good = "Package: " + kName + "\nVersion: 6.1.192-3\nArchitecture: amd64\n";
  const auto file = parse_package_file(good + "Size: 26705532\nSHA256: " + kSum + "\n", asked);
  ASSERT_TRUE(file.has_value()) << message_of(file);
  EXPECT_EQ(file->package, (PackageVersion{kName, "6.1.192-3", "amd64"}));
  EXPECT_EQ(file->sha256, kSum);
  EXPECT_EQ(file->size_bytes, 26705532U);

  const std::string sized = "Size: 1\nSHA256: " + kSum + "\n";
  for (const std::string& text :
       {good, good + "Size: 1\n", good + "SHA256: " + kSum + "\n", good + "Size: 1\nSHA256: abc\n",
        good + "Size: -1\nSHA256: " + kSum + "\n",
        "Package: other\nVersion: 6.1.192-3\nArchitecture: amd64\n" + sized,
        "Package: " + kName + "\nVersion: 6.1.192-4\nArchitecture: amd64\n" + sized,
        "Package: " + kName + "\nVersion: 6.1.192-3\nArchitecture: a b\n" + sized, std::string()}) {
    EXPECT_EQ(parse_package_file(text, asked).error().code, ErrorCode::kInvalid) << text;
  }
}

TEST(Control, MustBeOfSuchAPackage) {
  const auto control = [](const std::string& name, const std::string& version,
                          const std::string& architecture) {
    return parse_control(
        "Package: " + name + "\nVersion: " + version + "\nArchitecture: " + architecture + "\n", kPattern,
        "amd64");
  };
  EXPECT_EQ(*control(kName, "6.1.192-3", "amd64"), (PackageVersion{kName, "6.1.192-3", "amd64"}));
  EXPECT_EQ(message_of(control("bash", "5", "amd64")),
            "it is no package that is called as " + kPattern + ", but 'bash'");
  EXPECT_EQ(message_of(control(kName, "", "amd64")), "it has no version");
  EXPECT_EQ(message_of(control(kName, "6.1", "arm64")), "it is made for 'arm64', not for amd64");
  EXPECT_FALSE(control("linux-image-\x1b[2J-cloud-amd64", "6.1", "amd64").has_value());
}

// What the image would hold of these entries, or what is wrong with them.
std::string taken(const std::vector<TarEntry>& entries, const std::string& builtin = "") {
  const std::vector<TakenFile> files = {{"/boot/vmlinuz-*", "/boot/vmlinuz"},
                                        {"/usr/lib/modules/*/virtio.ko", "/m/virtio.ko", /*module=*/true},
                                        {"/usr/lib/modules/*/overlay.ko", "/m/overlay.ko", /*module=*/true}};
  TakePlan plan(files);
  std::string paths;
  for (const TarEntry& entry : entries) {
    const auto file = plan.add(entry);
    if (!file) return file.error().message;
    if (*file != nullptr) paths += (*file)->path + " ";
  }
  const auto whole = plan.finish(builtin);
  return whole ? paths : whole.error().message;
}

TarEntry entry(const std::string& path, TarEntry::Type type = TarEntry::Type::kFile) {
  TarEntry made;
  made.path = path;
  made.type = type;
  return made;
}

const TarEntry kKernel = entry("./boot/vmlinuz-6.1");
const TarEntry kVirtio = entry("./lib/modules/6.1/kernel/drivers/virtio/virtio.ko");
const TarEntry kOverlay = entry("./usr/lib/modules/6.1/kernel/fs/overlay.ko");

TEST(TakePlan, TakesWhatIsNamedWhereverUsrIsMerged) {
  EXPECT_EQ(taken({entry("./", TarEntry::Type::kDirectory), entry("./boot/", TarEntry::Type::kDirectory),
                   entry("./boot/config-6.1"), kKernel, kVirtio,
                   entry("./lib/modules/6.1/kernel/drivers/virtio/virtio_ring.ko"), kOverlay}),
            "/boot/vmlinuz /m/virtio.ko /m/overlay.ko ");
}

TEST(TakePlan, AModuleOfTheKernelItselfIsNotMissed) {
  const std::string list = "kernel/drivers/virtio/virtio.ko\nkernel/fs/other_overlay.ko\n";
  EXPECT_EQ(taken({kKernel, kOverlay}, list), "/boot/vmlinuz /m/overlay.ko ");
  EXPECT_EQ(taken({kKernel, kVirtio}, list),
            "it has no /usr/lib/modules/*/overlay.ko, and no kernel with it");
  EXPECT_TRUE(TakePlan::is_builtin_list(entry("./lib/modules/6.1/modules.builtin")));
  EXPECT_FALSE(TakePlan::is_builtin_list(entry("./lib/modules/6.1/modules.builtin.modinfo")));
  EXPECT_FALSE(TakePlan::is_builtin_list(entry("./lib/modules/6.1/modules.builtin", TarEntry::Type::kLink)));
}

TEST(TakePlan, RefusesWhatIsMissingTwiceOrNoFile) {
  EXPECT_EQ(taken({kVirtio, kOverlay}), "it has no /boot/vmlinuz-*");
  EXPECT_EQ(taken({kKernel, kOverlay, entry("./lib/modules/6.1/virtio.ko.xz")}),
            "/usr/lib/modules/6.1/virtio.ko.xz is a compressed module, which is not taken");
  EXPECT_EQ(taken({kKernel, kKernel}), "both /boot/vmlinuz-6.1 and /boot/vmlinuz-6.1 would be /boot/vmlinuz");
  EXPECT_EQ(taken({kKernel, entry("./boot/vmlinuz-6.2")}),
            "both /boot/vmlinuz-6.1 and /boot/vmlinuz-6.2 would be /boot/vmlinuz");
  for (const TarEntry::Type type :
       {TarEntry::Type::kLink, TarEntry::Type::kHardLink, TarEntry::Type::kDevice}) {
    EXPECT_EQ(taken({entry("./boot/vmlinuz-6.1", type)}), "/boot/vmlinuz-6.1 is no regular file");
  }
  TarEntry large = kKernel;
  large.size = kTakenFileMax + 1;
  EXPECT_EQ(taken({large}), "/boot/vmlinuz-6.1 is too large");
}

TEST(TakePlan, RefusesPathsThatNoPackageHas) {
  for (const char* path : {"/boot/vmlinuz-6.1", "boot/vmlinuz-6.1", "./../boot/vmlinuz-6.1",
                           "./boot/../vmlinuz-6.1", "./boot//vmlinuz-6.1", "..", "./boot/vmlinuz-6.1/"}) {
    EXPECT_EQ(taken({entry(path)}), "it holds a path that no package has: " + std::string(path));
  }
}

}  // namespace
}  // namespace casemate::image
