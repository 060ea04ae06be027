#include "microvm/machine.h"

namespace casemate::guest {
namespace {

using Arguments = std::vector<std::string>;

void add(Arguments& arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

std::string descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string kernel_arguments(bool emulated, const std::string& counter_khz) {
  std::string kernel =
      "panic=-1 reboot=t quiet loglevel=0 tsc=reliable cryptomgr.notests init_on_alloc=0 audit=0 "
      // Self-tests and lists of what this guest has not, a tenth of a second each when emulated.
      "initcall_blacklist=init_kprobe_trace,load_system_certificate_list";
  if (emulated) kernel += " tsc_early_khz=" + counter_khz;
  return kernel;
}

}  // namespace

Arguments machine_arguments(const MachineRequest& request, const MachineEnds& ends,
                            const std::string& counter_khz) {
  const bool emulated = request.accelerator == "tcg", booted = request.kind == MachineKind::kBooted;
  Arguments arguments = {
      "/usr/bin/qemu-system-x86_64",
      // Nothing that was not asked for: no configuration, no devices but these, no display, no network.
      "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
      // Nor more rights than these; it is in casemate's jail beside.
      "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny", "-accel",
      emulated ? "tcg,thread=multi,tb-size=32" : request.accelerator,
      // Tables of five levels are walked in software when emulated.
      "-cpu", emulated ? "max,-la57" : "host", "-smp", "1", "-m", request.memory_mib, "-bios",
      "/usr/share/qemu/qboot.rom"};
  // ACPI tells an ordinary kernel of the devices. Without a clock chip it would wait for one for two seconds;
  // the timers of a PC are slower than the processor's own.
  std::string machine = "microvm,acpi=on,rtc=on,isa-serial=off,pit=off,pic=off,x-option-roms=off";
  if (!booted) {
    machine += ",memory-backend=memory";
    add(arguments, {"-object", "memory-backend-file,id=memory,size=" + request.memory_mib +
                                   "M,mem-path=" + descriptor(ends.memory) +
                                   (request.kind == MachineKind::kTemplate ? ",share=on" : ",share=off")});
    add(arguments, {"-chardev", "socket,id=monitor,fd=" + std::to_string(ends.monitor), "-mon",
                    "chardev=monitor,mode=control"});
  }
  add(arguments, {"-M", machine});
  if (request.kind == MachineKind::kRestored) {
    add(arguments, {"-S", "-incoming", "defer"});
  } else {
    add(arguments, {"-kernel", "/boot/vmlinuz", "-initrd", descriptor(ends.initramfs), "-append",
                    kernel_arguments(emulated, counter_khz)});
  }
  add(arguments,
      {"-add-fd", "fd=" + std::to_string(ends.image) + ",set=1", "-blockdev",
       "driver=file,node-name=image,filename=/dev/fdset/1,read-only=on,locking=off", "-device",
       "virtio-blk-device,drive=image", "-chardev", "socket,id=port,fd=" + std::to_string(ends.port),
       "-device", "virtio-serial-device,max_ports=2", "-device", "virtserialport,chardev=port,nr=1"});
  return arguments;
}

}  // namespace casemate::guest
