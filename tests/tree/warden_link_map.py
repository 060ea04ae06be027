"""Fails when casemate-warden has more in it than it may: warden_link_map.py MAP

What holds privilege links base, sys, frame, jail, and the C and C++ run time; nothing else. MAP is what
GNU ld's -Map writes: each object and archive that was read is in it, whether or not it was used.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

OURS = {"casemate_base", "casemate_sys", "casemate_frame", "casemate_jail"}
# libdl, libpthread and librt are empty in glibc 2.36, but still named by compilers.
RUN_TIME = {"libstdc++", "libm", "libmvec", "libgcc", "libgcc_eh", "libgcc_s", "libc", "libc_nonshared"}
RUN_TIME |= {"libpthread", "libdl", "librt", "ld-linux-x86-64", "ld-linux-aarch64"}
START_FILES = {"crt1", "crti", "crtn", "crtbegin", "crtbeginS", "crtbeginT", "crtend", "crtendS", "Scrt1", "rcrt1"}
OWN_OBJECTS = re.compile(r"casemate-warden\.dir/")


def inputs(text: str) -> set[str]:
    """The files that the linker read: archives without the names of their members."""
    found = set(re.findall(r"^LOAD (.+)$", text, re.MULTILINE))
    # "path/libx.a(member.o)": in the list of members, and beside each section.
    found |= set(re.findall(r"(?:^|\s)(\S+\.a)\([^)\s]+\)", text))
    return found


def is_allowed(name: str) -> bool:
    """Whether one input file may be part of the warden."""
    path = Path(name)
    # Behind libm.a, a linker script, stands libm-2.36.a.
    stem = re.sub(r"(?:-\d[.\d]*)?\.(?:a|o|so[.\d]*)$", "", path.name)
    if OWN_OBJECTS.search(name):
        return True
    return stem in RUN_TIME or stem in START_FILES or stem.removeprefix("lib") in OURS


def check(text: str) -> list[str]:
    """All that is wrong with a link map."""
    read = inputs(text)
    stems = {Path(name).name for name in read}
    if not OWN_OBJECTS.search(text) or "libcasemate_jail.a" not in stems:
        return ["this is no link map of casemate-warden: neither its objects nor libcasemate_jail.a are in it"]
    return [f"casemate-warden may not contain {name}" for name in sorted(read) if not is_allowed(name)]


def main() -> int:
    """Prints what is wrong; the exit code says whether anything is."""
    wrong = check(Path(sys.argv[1]).read_text(errors="replace"))
    print("\n".join(wrong) if wrong else "warden: base, sys, frame, jail and the run time, nothing else")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
