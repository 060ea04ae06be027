"""One virtual machine: QEMU's software emulation, three disks, two serial lines, no network.

The first serial line is the kernel's console. On the second the session in the guest reports, one JSON
object a line, while it works; what it leaves as files comes back as a tar archive on the third disk.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disks import PrepareError, System

RESULTS_MIB = 64


@dataclass(frozen=True)
class MachineSpec:
    """What is booted, and for how long at most (seconds)."""

    system: System
    payload: Path
    folder: Path  # of this run: console, reports, results
    memory_mib: int = 3072
    cpus: int = 2
    timeout: float = 3600.0


def _command(spec: MachineSpec, results: Path) -> list[str]:
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        raise PrepareError("QEMU is not installed: apt-get install qemu-system-x86")
    # No mitigations: nobody shares this processor, and under TCG each entry to the kernel pays for them.
    # la57=off: with five levels of page tables every miss of the software TLB takes one step more.
    # nosoftlockup: a host that stops this process for a while is no lockup of the kernel's.
    arguments = (
        "root=LABEL=root rootfstype=ext4 rw console=ttyS0 quiet loglevel=4 mitigations=off panic=-1 "
        "nosoftlockup systemd.show_status=0 systemd.log_level=notice raid=noautodetect"
    )
    command = ["nice", "-n", "10", qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    # erms=off: TCG does what `rep movsb` copies byte by byte, and the kernel would use it for every page.
    # smap=off: each access of the kernel to a program's memory would end a translated block, twice.
    command += ["-machine", "q35,accel=tcg,usb=off", "-cpu", "max,la57=off,erms=off,smap=off"]
    command += ["-smp", str(spec.cpus), "-m", str(spec.memory_mib)]
    command += ["-kernel", str(spec.system.kernel), "-initrd", str(spec.system.initrd), "-append", arguments]
    command += ["-serial", f"file:{spec.folder / 'console.log'}", "-serial", f"file:{spec.folder / 'report.jsonl'}"]
    command += ["-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng"]
    # snapshot: what the guest writes goes to a file that has no name; the system disk stays as it was made.
    for name, path, how in (
        ("root", spec.system.disk, "snapshot=on,cache=unsafe"),
        ("payload", spec.payload, "readonly=on"),
        ("results", results, "cache=unsafe"),
    ):
        command += ["-drive", f"if=none,id={name},file={path},format=raw,{how}"]
        command += ["-device", f"virtio-blk-pci,drive={name},serial={name}"]
    return command


def _follow(path: Path, seen: int, on_report: Callable[[dict[str, Any]], None]) -> int:
    """Passes on the whole lines after the first `seen` bytes; returns how many bytes are read now."""
    try:
        with path.open("rb") as file:
            file.seek(seen)
            text = file.read()
    except FileNotFoundError:
        return seen
    whole = text[: text.rfind(b"\n") + 1]
    for line in whole.splitlines():
        try:
            report = json.loads(line)
        except ValueError:
            continue  # something else wrote to the line
        if isinstance(report, dict):
            on_report(report)
    return seen + len(whole)


@dataclass(frozen=True)
class Ended:
    """How the machine ended."""

    seconds: float
    timed_out: bool
    exit_code: int


def boot(spec: MachineSpec, on_report: Callable[[dict[str, Any]], None]) -> Ended:
    """Runs the machine until it powers off or its time is over, and unpacks its results."""
    results = spec.folder / "results.disk"
    with results.open("wb") as file:
        file.truncate(RESULTS_MIB << 20)
    begun = time.monotonic()
    seen = 0
    timed_out = False
    with (spec.folder / "qemu.log").open("wb") as log:
        machine = subprocess.Popen(
            _command(spec, results),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str(spec.folder)},
        )
        try:
            while machine.poll() is None:
                seen = _follow(spec.folder / "report.jsonl", seen, on_report)
                if time.monotonic() - begun > spec.timeout:
                    timed_out = True
                    break
                try:
                    machine.wait(timeout=0.5)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            if machine.poll() is None:
                machine.kill()
            machine.wait()
    _follow(spec.folder / "report.jsonl", seen, on_report)
    unpacked = spec.folder / "results"
    unpacked.mkdir()
    # Nothing is on it when the session never came that far; its reports say how far it came.
    subprocess.run(
        ["tar", "-xf", str(results), "-C", str(unpacked), "--no-same-owner"], stderr=subprocess.DEVNULL, check=False
    )
    results.unlink()
    return Ended(time.monotonic() - begun, timed_out, machine.returncode)
