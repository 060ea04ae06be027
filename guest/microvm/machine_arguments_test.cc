// Each machine's command line, word for word: what stands in it is what a guest's machine is made of.
#include <gtest/gtest.h>

#include <algorithm>

#include "microvm/machine.h"

namespace casemate::guest {
namespace {

using Words = std::vector<std::string>;

Words joined(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Words machine(MachineKind kind, const char* accelerator) {
  MachineRequest request;
  request.kind = kind;
  request.memory_mib = "577";
  request.accelerator = accelerator;
  request.command = std::string("the-program\0\0THE=environment\0\0the_limit=1\0", 42);
  request.limits = "the_limit=1";
  MachineEnds ends;
  ends.image = 4;
  ends.port = 8;
  if (kind != MachineKind::kRestored) ends.initramfs = 9;
  if (kind != MachineKind::kBooted) {
    ends.memory = 5;
    ends.monitor = 10;
  }
  return machine_arguments(request, ends, kind == MachineKind::kRestored ? "" : "2100000");
}

const Words kBegin = {"/usr/bin/qemu-system-x86_64",
                      "-no-user-config",
                      "-nodefaults",
                      "-display",
                      "none",
                      "-no-reboot",
                      "-sandbox",
                      "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"};
const Words kEmulated = {"-accel", "tcg,thread=multi,tb-size=32", "-cpu", "max,-la57"};
const Words kVirtualized = {"-accel", "kvm", "-cpu", "host"};
const Words kMemory = {"-smp", "1", "-m", "577", "-bios", "/usr/share/qemu/qboot.rom"};
const std::string kMachine = "microvm,acpi=on,rtc=on,isa-serial=off,pit=off,pic=off,x-option-roms=off";
const std::string kKernel =
    "panic=-1 reboot=t quiet loglevel=0 tsc=reliable cryptomgr.notests init_on_alloc=0 audit=0 "
    "initcall_blacklist=init_kprobe_trace,load_system_certificate_list";
const Words kMonitor = {"-chardev", "socket,id=monitor,fd=10", "-mon", "chardev=monitor,mode=control"};
const Words kDevices = {
    "-add-fd",   "fd=4,set=1",
    "-blockdev", "driver=file,node-name=image,filename=/dev/fdset/1,read-only=on,locking=off",
    "-device",   "virtio-blk-device,drive=image",
    "-chardev",  "socket,id=port,fd=8",
    "-device",   "virtio-serial-device,max_ports=2",
    "-device",   "virtserialport,chardev=port,nr=1"};

Words boot(const std::string& kernel) {
  return {"-kernel", "/boot/vmlinuz", "-initrd", "/proc/self/fd/9", "-append", kernel};
}
Words memory_file(const char* share) {
  return {"-object",
          std::string("memory-backend-file,id=memory,size=577M,mem-path=/proc/self/fd/5,share=") + share};
}

struct Accelerator {
  const char* name;
  Words words;
  std::string kernel;
};
const std::vector<Accelerator> kAccelerators = {{"tcg", kEmulated, kKernel + " tsc_early_khz=2100000"},
                                                {"kvm", kVirtualized, kKernel}};

TEST(MachineArguments, OfAMachineForOneRun) {
  for (const Accelerator& each : kAccelerators) {
    EXPECT_EQ(machine(MachineKind::kBooted, each.name),
              joined({kBegin, each.words, kMemory, {"-M", kMachine}, boot(each.kernel), kDevices}));
  }
}

TEST(MachineArguments, OfATemplate) {
  for (const Accelerator& each : kAccelerators) {
    EXPECT_EQ(machine(MachineKind::kTemplate, each.name), joined({kBegin,
                                                                  each.words,
                                                                  kMemory,
                                                                  memory_file("on"),
                                                                  kMonitor,
                                                                  {"-M", kMachine + ",memory-backend=memory"},
                                                                  boot(each.kernel),
                                                                  kDevices}));
  }
}

// It has no kernel: what it goes on with is in its memory. And what it changes there stays its own.
TEST(MachineArguments, OfAMachineThatIsRestored) {
  for (const Accelerator& each : kAccelerators) {
    EXPECT_EQ(machine(MachineKind::kRestored, each.name),
              joined({kBegin,
                      each.words,
                      kMemory,
                      memory_file("off"),
                      kMonitor,
                      {"-M", kMachine + ",memory-backend=memory", "-S", "-incoming", "defer"},
                      kDevices}));
  }
}

// Of each kind the devices are the same, in one order: a state that was saved names them by their places.
TEST(MachineArguments, AMachineIsRestoredWithTheDevicesThatItWasSavedWith) {
  const auto devices = [](const Words& words) {
    Words found;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "-device" || words[i] == "-M" || words[i] == "-cpu" || words[i] == "-m" ||
          words[i] == "-smp")
        found.push_back(words[i + 1]);
    }
    return found;
  };
  for (const Accelerator& each : kAccelerators) {
    EXPECT_EQ(devices(machine(MachineKind::kTemplate, each.name)),
              devices(machine(MachineKind::kRestored, each.name)));
  }
}

TEST(MachineArguments, NothingOfTheProgramsStandsInThem) {
  for (const MachineKind kind : {MachineKind::kBooted, MachineKind::kTemplate, MachineKind::kRestored}) {
    for (const std::string& word : machine(kind, "tcg")) {
      for (const char* own : {"the-program", "THE=", "the_limit"})
        EXPECT_EQ(word.find(own), std::string::npos) << word;
      EXPECT_EQ(word.find('\0'), std::string::npos) << word;
    }
  }
}

}  // namespace
}  // namespace casemate::guest
