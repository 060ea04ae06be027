# guest: reads the kernel's settings and state through /proc
# source: runc CVE-2025-31133 (masked paths); moby's list of masked paths
# attacks: knowledge of the host, kernel memory, sysrq
# walls: ProcSubset
# observer: boot_id_in_output
# oracle: the host's boot id comes out
# status: ok
# credit: random/boot_id: ENOENT
from attack import attempt, tell

for name in (
    "sys/kernel/random/boot_id", "sys/kernel/core_pattern", "kcore", "keys", "kallsyms", "timer_list", "interrupts",
    "meminfo", "cmdline", "mounts", "sysrq-trigger", "kmsg", "bus", "scsi", "acpi", "irq", "fs", "modules",
):  # fmt: skip
    text = attempt(name, lambda: open("/proc/" + name).read(200))
    if text:
        tell(name, text)
