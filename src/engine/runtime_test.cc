#include "engine/runtime.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/test_support.h"

namespace casemate::engine {
namespace {

Image some_image() { return {"sha256:1", "/images/root", "", ""}; }

TEST(Runtimes, AJailNeedsNothing) {
  Runtimes runtimes("/nowhere/runsc");
  const auto runtime = runtimes.of(frame::Rung::kJail, some_image());
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->box_root, "/images/root");
  EXPECT_EQ(runtime->files, (std::array<int, frame::kRuntimeFilesMax>{-1, -1, -1}));
}

TEST(Runtimes, ARunscThatIsNotThereIsAnError) {
  EXPECT_FALSE(Runtimes("/nowhere/runsc").of(frame::Rung::kGvisor, some_image()));
}

TEST(Runtimes, AnImageThatWasNotMadeForAMicrovmIsUnavailable) {
  const sys::TestDir dir;
  sys::write_text(dir / "root.squashfs", "a disk");
  Runtimes runtimes("");
  for (const bool disk : {false, true}) {
    Image image = some_image();
    (disk ? image.squashfs : image.machine_root) = dir / "root.squashfs";
    const auto runtime = runtimes.of(frame::Rung::kMicrovm, image);
    ASSERT_FALSE(runtime);
    EXPECT_EQ(runtime.error().code, ErrorCode::kUnavailable);
  }
  Image image{"sha256:1", "/images/root", dir / "gone", "/images/machine"};
  const auto runtime = runtimes.of(frame::Rung::kMicrovm, image);
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code, ErrorCode::kSystem);
}

TEST(Runtimes, AMicrovmHasTheMachinesRootAndTheImageAsItsDisk) {
  const sys::TestDir dir;
  sys::write_text(dir / "root.squashfs", "a disk");
  Runtimes runtimes("");
  const Image image{"sha256:1", "/images/root", dir / "root.squashfs", "/images/machine"};
  const auto runtime = runtimes.of(frame::Rung::kMicrovm, image);
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->box_root, "/images/machine");
  EXPECT_EQ(runtime->files[1], -1);
  const std::size_t open = sys::open_descriptors();
  const auto again = runtimes.of(frame::Rung::kMicrovm, image);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->files, runtime->files);
  EXPECT_EQ(sys::open_descriptors(), open) << "one for all runs";
  EXPECT_EQ(::fcntl(runtime->files[0], F_GETFL) & O_ACCMODE, O_RDONLY);
}

// What a QEMU that was broken does to its descriptor reaches no other machine of the image.
TEST(OwnDisk, IsAFileDescriptionForOneBox) {
  const sys::TestDir dir;
  sys::write_text(dir / "root.squashfs", "a disk");
  Runtimes runtimes("");
  const auto runtime = runtimes.of(frame::Rung::kMicrovm,
                                   {"sha256:1", "/images/root", dir / "root.squashfs", "/images/machine"});
  ASSERT_TRUE(runtime);
  RuntimeFiles one = runtime->files, two = runtime->files;
  const auto disk = own_disk(frame::Rung::kMicrovm, one), other = own_disk(frame::Rung::kMicrovm, two);
  ASSERT_TRUE(disk && other);
  EXPECT_EQ(one[0], disk->get());
  ASSERT_EQ(::fcntl(one[0], F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(::fcntl(two[0], F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(runtime->files[0], F_GETFL) & O_NONBLOCK, 0);
  ASSERT_EQ(::lseek(one[0], 3, SEEK_SET), 3);
  EXPECT_EQ(::lseek(two[0], 0, SEEK_CUR), 0);
  EXPECT_EQ(::fcntl(two[0], F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST(OwnDisk, OfAnotherRungIsNone) {
  RuntimeFiles files = {7, -1, -1};
  const auto disk = own_disk(frame::Rung::kGvisor, files);
  ASSERT_TRUE(disk);
  EXPECT_FALSE(static_cast<bool>(*disk));
  EXPECT_EQ(files[0], 7);
  RuntimeFiles none = {-1, -1, -1};
  EXPECT_FALSE(own_disk(frame::Rung::kMicrovm, none));
}

}  // namespace
}  // namespace casemate::engine
