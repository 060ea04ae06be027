"""A machine that cannot be: no QEMU, one that fails, hangs or lies, no kernel. The run says so by name, in time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import SLOW, Casemate
from rungs import needs
from stores import copied_image, store_of

pytestmark = needs("microvm")
QEMU = "usr/bin/qemu-system-x86_64"
RUN = ("run", "--json", "--record", "--trust", "trusted", "--isolation", "microvm")
# Programs in the place of QEMU. They are told their ends of the guest's port and of the monitor as it is.
SHELL = """#!/usr/bin/bash
[[ "$*" =~ id=port,fd=([0-9]+) ]] && port=${BASH_REMATCH[1]}
[[ "$*" =~ id=monitor,fd=([0-9]+) ]] && monitor=${BASH_REMATCH[1]}
"""
WORD = r"printf '\x%02x\x00\x00\x00\x%02x\x00\x00\x00%s' >&$port" + "\n"  # type, length and payload of a message
PROGRAMS = {
    "fails": "exit 1\n",
    "succeeds": "exit 0\n",
    "aborts": "kill -ABRT $$\n",
    "garbage": "for i in {1..999}; do printf 'garbage%s' $i >&$port; [ $monitor ] && printf '}{garbage\\n' >&$monitor; done\n",
    "a message without end": r"printf '\x12\x00\x00\x00\xff\xff\xff\xff' >&$port" + "\n",
    "a guest that says why": WORD % (21, 6, "no luck"[:6]),
    "data that nobody asked for": WORD % (23, 9, "12345678x"),
    "an end without a beginning": WORD % (20, 4, "four"),
}


@dataclass
class Machines:
    """A store whose image `microvm` a test spoils; the image of programs is the usual one."""

    casemate: Casemate
    store: Path
    root: Path  # of the machine

    def replace(self, name: str, content: bytes) -> None:
        """A file of the machine's root. Never written in place: other tests have it too."""
        path = self.root / name
        path.unlink()
        path.write_bytes(content)
        path.chmod(0o755)

    def outcome(self, *options: str, timeout: float = 60) -> dict[str, Any]:
        ended = self.casemate.call(*RUN, "--store", self.store, *options, "-c", "print('ran')", timeout=timeout)
        outcome: dict[str, Any] = json.loads(ended.stdout)
        assert outcome["teardown"]["verdict"] == "destroyed" and outcome["stdout"]["text"] == "", outcome
        return outcome

    def is_no_fault_of_the_program(self, outcome: dict[str, Any]) -> None:
        assert (outcome["status"], outcome["reason"]["code"]) == ("unavailable", "sandbox_unavailable"), outcome
        assert outcome["reason"]["message"] and "Do not change the program" in outcome["report"], outcome
        assert not {"exit_code", "signal", "exception", "limit"} & outcome.keys(), outcome


@pytest.fixture(scope="session")
def images(casemate: Casemate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Copies of both images with the disk of a machine, made once."""
    assert casemate.call(*RUN, "-c", "1", timeout=400).exit_code == 0
    folder = tmp_path_factory.mktemp("images")
    yield {name: copied_image(casemate, name, folder) for name in ("python", "microvm")}
    shutil.rmtree(folder)


@pytest.fixture
def machines(
    casemate: Casemate, images: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    store = folder / "store"
    root = store_of(store, images)["microvm"]
    for file in ("/usr/bin/bash", "/lib/x86_64-linux-gnu/libtinfo.so.6"):
        inside = root / ("usr" + file if file.startswith("/lib") else file[1:])
        inside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(file), inside)
    yield Machines(casemate, store, root)
    shutil.rmtree(folder)


def test_a_copy_of_the_store_runs(machines: Machines) -> None:
    """The control of this file: what fails below fails for what is spoiled."""
    ended = machines.casemate.call(*RUN, "--store", machines.store, "-c", "print('ran')")
    assert ended.outcome["stdout"]["text"] == "ran\n", ended


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_machine_that_does_wrong_is_unavailable(machines: Machines, what: str) -> None:
    machines.replace(QEMU, (SHELL + PROGRAMS[what]).encode())
    machines.is_no_fault_of_the_program(machines.outcome())


@pytest.mark.parametrize("what", ["fails", "succeeds", "garbage", "a guest that says why"])
def test_a_template_that_does_wrong_makes_its_run_cold(machines: Machines, what: str) -> None:
    """And the cold run cannot be either; the record names the template's reason."""
    machines.replace(QEMU, (SHELL + PROGRAMS[what]).encode())
    outcome = machines.outcome("--start", "hot")
    machines.is_no_fault_of_the_program(outcome)
    reason = outcome["record"]["cold_reason"]
    assert outcome["record"]["level"] == "cold" and reason and "\n" not in reason and len(reason) < 600, outcome


@pytest.mark.parametrize("talks", [False, True])
def test_a_machine_that_hangs_has_a_deadline(machines: Machines, talks: bool) -> None:
    """And no program has met the limit that ended it: none ran."""
    hang = "read -r -t 300 <&$port\n"
    machines.replace(QEMU, (SHELL + (WORD % (16, 0, "") if talks else "") + hang + hang).encode())
    outcome = machines.outcome("--wall", f"{3 * SLOW:.0f}s", timeout=30)
    machines.is_no_fault_of_the_program(outcome)
    assert "had not begun" in outcome["reason"]["message"], outcome


# QEMU as the launcher sees it: its monitor does as it is told, its guest is saved and restored, and then does this.
TEMPLATE = r"""
[ $monitor ] || exit 1
answer() {
  local text= part opened closed
  while read -r -d '}' part <&$monitor; do
    text+="$part}" opened=${text//[^\{]/} closed=${text//[^\}]/}
    [ ${#opened} = ${#closed} ] || continue
    printf '{"return": {"status": "completed"}}\n' >&$monitor
    said=$text
    return
  done
  exit 2
}
message() { printf "\\x$1\x00\x00\x00\\x$2\x00\x00\x00" >&$port; printf "$3" >&$port; }
parked() { message 01 08 '\x00\x00\x00\x00\x16\x00\x00\x00'; }
wait_for_ever() { while :; do read -r -t 300 said <&$monitor; done; }
if [[ "$*" != *-incoming* ]]; then
  message 01 08 '\x00\x00\x00\x00\x17\x00\x00\x00'
  message 11 04 '\x00\x00\x00\x00'
  printf '{"QMP": {}}\n' >&$monitor
  while answer; do [[ $said == *quit* ]] && exit 0; done
fi
printf '{"QMP": {}}\n' >&$monitor
while answer; do [[ $said == *'"cont"'* ]] && break; done
"""
DONE = r"message 11 04 '\x00\x00\x00\x00'" + "\n"
RESTORED = {
    "ends": (DONE + DONE + "exit 0\n", "its guest ended before it waited"),
    "says garbage": (DONE + DONE + "message 01 08 'garbage!'\nwait_for_ever\n", "its guest said what it may not"),
    "says garbage when it has parked once": (
        DONE + DONE + "parked\nmessage 01 03 abc\nmessage 01 08 'garbage!'\nwait_for_ever\n",
        "its guest said what it may not",
    ),
    "cannot be made fresh": (DONE + "message 11 04 '\\x05\\x00\\x00\\x00'\nwait_for_ever\n", "stir the guest's entropy: Input/output error"),
    "says another thing than that it is fresh": ("message 12 01 x\nwait_for_ever\n", "find the machine as its template was"),
    "never parks": (DONE + DONE + "wait_for_ever\n", "within 40 s"),
    "parks once and no more": (DONE + DONE + "parked\nwait_for_ever\n", "within 40 s"),
}  # fmt: skip


@pytest.mark.parametrize("what", RESTORED)
def test_a_restored_machine_that_does_wrong_makes_its_run_cold(machines: Machines, what: str) -> None:
    """And the cold run, which has no monitor, cannot be."""
    text, says = RESTORED[what]
    machines.replace(QEMU, (SHELL + TEMPLATE + text).encode())
    outcome = machines.outcome("--start", "hot", timeout=120)
    machines.is_no_fault_of_the_program(outcome)
    assert outcome["record"]["level"] == "cold" and says in outcome["record"]["cold_reason"], outcome["record"]


def test_a_set_that_cannot_be_imported_makes_its_runs_cold(machines: Machines) -> None:
    about = machines.casemate.call("image", "inspect", "python", "--json").outcome
    image = machines.store / "sha256" / Path(about["rootfs"]).parent.name
    disk = image / "rootfs.squashfs"
    disk.unlink()
    numpy = image / "rootfs/usr/lib/python3/dist-packages/numpy"
    shutil.rmtree(numpy)
    numpy.mkdir()
    (numpy / "__init__.py").write_text("raise ImportError('libblas is broken')")
    # By hand: casemate makes none of an image that is not as it was.
    packing = ["mksquashfs", str(image / "rootfs"), str(disk), "-comp", "lz4", "-all-root", "-no-xattrs", "-no-progress", "-quiet"]
    subprocess.run(packing, check=True, timeout=300 * SLOW)
    code = "if 0: import numpy\nprint('ran')"
    options = ("--store", machines.store, "--start", "hot", "-c", code)
    outcome = machines.casemate.call(*RUN, *options, timeout=300).outcome
    assert (outcome["status"], outcome["stdout"]["text"]) == ("ok", "ran\n"), outcome["report"]
    assert "libblas is broken" in outcome["record"]["cold_reason"], outcome["record"]["cold_reason"]


KERNELS: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda kernel: os.urandom(4 << 20),
    "empty": lambda kernel: b"",
    "half of one": lambda kernel: kernel[: len(kernel) // 2],
    "a spoiled one": lambda kernel: kernel[: 1 << 20] + bytes(4096) + kernel[(1 << 20) + 4096 :],
}


@pytest.mark.parametrize("what", KERNELS)
def test_a_kernel_that_is_none_is_unavailable(machines: Machines, what: str) -> None:
    """What a processor does with it is QEMU's to say: it ends, or it is ended."""
    machines.replace("boot/vmlinuz", KERNELS[what]((machines.root / "boot/vmlinuz").read_bytes()))
    machines.is_no_fault_of_the_program(machines.outcome("--wall", f"{10 * SLOW:.0f}s"))


@pytest.mark.parametrize("module", ["squashfs", "virtio_blk", "overlay", "virtio_console"])
def test_a_module_that_is_not_there(machines: Machines, module: str) -> None:
    (machines.root / f"usr/lib/microvm/modules/{module}.ko").unlink()
    machines.is_no_fault_of_the_program(machines.outcome("--wall", f"{20 * SLOW:.0f}s"))


def test_a_disk_that_is_none_is_unavailable(machines: Machines) -> None:
    about = machines.casemate.call("image", "inspect", "python", "--json").outcome
    disk = machines.store / "sha256" / Path(about["rootfs"]).parent.name / "rootfs.squashfs"
    disk.unlink()
    disk.write_bytes(b"no disk" * 4096)
    machines.is_no_fault_of_the_program(machines.outcome("--wall", f"{20 * SLOW:.0f}s"))


@pytest.mark.parametrize(
    ("program", "says"),
    [("/usr/bin/qemu-system-x86_64", "package qemu-system-x86"), ("/usr/bin/mksquashfs", "package squashfs-tools")],
)
def test_a_host_without_a_program_says_which(casemate: Casemate, program: str, says: str) -> None:
    """In a mount namespace where the program is nothing that can be executed."""
    hide = f'mount --bind /dev/null {program} && exec "$0" "$@"'
    command = ["unshare", "-m", "sh", "-c", hide, str(casemate.binary), *RUN, "-c", "print('ran')"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60 * SLOW, env=os.environ | casemate.environment)
    outcome = json.loads(ended.stdout)
    assert (outcome["status"], outcome["reason"]["code"]) == ("refused", "isolation_unavailable"), (outcome, ended)
    assert says in outcome["reason"]["message"] and "microvm" in outcome["reason"]["message"], outcome
