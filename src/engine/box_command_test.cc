#include "engine/box_command.h"

#include <gtest/gtest.h>

#include <array>

namespace casemate::engine {
namespace {

using Machine = RungBox::Machine;
using Words = std::vector<std::string>;

box::Limits some_limits() {
  box::Limits limits;
  limits.memory = mib(512);
  limits.disk = mib(256);
  limits.inodes = 1000;
  limits.file_size = mib(100);
  limits.pids = 32;
  limits.open_files = 48;
  return limits;
}

RungBox microvm(Machine machine = Machine::kRun) {
  return {frame::Rung::kMicrovm, some_limits(), Bytes{0}, machine};
}

TEST(BoxCommand, OfAJailIsItsProgram) {
  const RungBox jail{frame::Rung::kJail, some_limits()};
  EXPECT_EQ(box_command(jail, {"/bin/a", "b"}), (Words{"/bin/a", "b"}));
  EXPECT_EQ(box_limits(jail).memory.count, mib(512).count);
  EXPECT_EQ(box_limits(jail).pids, 32U);
}

TEST(BoxCommand, OfEachKindOfMachineNamesItsLimitsAndItsProgram) {
  constexpr std::array kNames = {"run", "template", "restore"};
  for (const Machine machine : {Machine::kRun, Machine::kTemplate, Machine::kRestore}) {
    EXPECT_EQ(box_command(microvm(machine), {"/usr/bin/python3", "-c", "pass", ""}),
              (Words{"/usr/lib/casemate/casemate-microvm", kNames.at(static_cast<std::size_t>(machine)),
                     "machine=657", "memory=536870912", "processes=32", "disk=268435456", "inodes=1000",
                     "file_size=104857600", "open_files=48", "--", "/usr/bin/python3", "-c", "pass", ""}));
  }
}

// A machine goes on in another one of the same size: what else differs between the three does not count.
TEST(MachineMemory, IsTheSameForATemplateAndWhatIsRestoredFromIt) {
  EXPECT_EQ(machine_memory(microvm(Machine::kTemplate)).count,
            machine_memory(microvm(Machine::kRestore)).count);
}

TEST(MachineMemory, HasRoomForTheProgramTheKernelAndTheInput) {
  struct Row {
    Bytes memory, input;
    std::uint64_t mib;
  };
  for (const Row& row :
       {Row{mib(16), Bytes{0}, 145}, Row{mib(512), Bytes{0}, 657}, Row{mib(512), Bytes{1}, 657},
        Row{mib(512), mib(1), 658}, Row{mib(512), mib(64), 721}, Row{gib(1024), Bytes{0}, 1081473}}) {
    RungBox box = microvm();
    box.limits.memory = row.memory;
    box.input = row.input;
    const std::uint64_t got = machine_memory(box).count;
    EXPECT_EQ(got, row.mib << 20) << row.memory.count;
    EXPECT_GE(got, row.memory.count + row.memory.count / 32 + mib(128).count + row.input.count)
        << row.memory.count;
  }
}

TEST(BoxLimits, OfAMachineAreItsQemus) {
  for (const Bytes memory : {mib(16), mib(512), gib(1024)}) {
    RungBox box = microvm();
    box.limits.memory = memory;
    const box::Limits limits = box_limits(box);
    const std::uint64_t machine = machine_memory(box).count;
    // Beside the guest's memory what QEMU takes, and the products, which are copied into the box's layer.
    EXPECT_EQ(limits.memory.count, machine + mib(224).count + mib(256).count);
    EXPECT_EQ(limits.file_size.count, std::max(mib(100).count, machine + mib(1).count))
        << "a template's memory is one file";
    EXPECT_EQ(limits.pids, 96U) << "the guest's processes are none of the host's";
    EXPECT_EQ(limits.open_files, 64U);
    EXPECT_EQ(limits.disk.count, mib(256).count);
    EXPECT_EQ(limits.inodes, 1000U);
  }
  RungBox box = microvm();
  box.limits.file_size = gib(100);
  box.limits.open_files = 1000;
  EXPECT_EQ(box_limits(box).file_size.count, gib(100).count)
      << "a product may be as large as the program's limit";
  EXPECT_EQ(box_limits(box).open_files, 1000U);
}

TEST(BoxCommand, OfASandboxSaysWhetherRunsShareIt) {
  RungBox sandbox{frame::Rung::kGvisor, some_limits()};
  const Words own{"/usr/lib/casemate/casemate-gvisor", "own",    "104857600", "48",
                  "/usr/lib/casemate/casemate-init",   "/bin/a", "b"};
  EXPECT_EQ(box_command(sandbox, {"/bin/a", "b"}), own);
  sandbox.sandbox = Sandbox::kShared;
  Words shared = own;
  shared[1] = "shared";
  EXPECT_EQ(box_command(sandbox, {"/bin/a", "b"}), shared);
  EXPECT_TRUE(shared_command("numpy", Bytes{4096}).back().ends_with("_shared.main('numpy', 4096)()"));
}

TEST(AloneCommand, SaysWhetherItGoesOnInAnotherMachine) {
  EXPECT_TRUE(alone_command("numpy", /*restored=*/false).back().ends_with("_alone.main('numpy')()"));
  EXPECT_TRUE(
      alone_command("numpy", /*restored=*/true).back().ends_with("_alone.main('numpy', template=True)()"));
}

}  // namespace
}  // namespace casemate::engine
