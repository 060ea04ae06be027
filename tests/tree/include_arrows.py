"""Fails on an #include that the layers of the tree do not allow: include_arrows.py [ROOT]

A library may include itself, what its row in LAYERS names, and what those name. Headers of other
projects stay behind the libraries that THIRD_PARTY names for them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sources import tree_files

LAYERS: dict[str, list[str]] = {
    "base": [],
    "sys": ["base"],
    "frame": ["base"],
    "json": ["base"],
    "toml": ["base"],
    "crypto": ["base"],
    "url": ["base"],
    "jail": ["sys", "frame"],
    "policy": ["json", "toml"],
    "schema": ["json"],
    "catalog": ["schema"],
    "pool": ["base"],
    "outcome": ["json", "frame"],
    "mcp": ["json"],
    "store": ["sys", "crypto"],
    "audit": ["sys", "json", "crypto", "store"],
    "reconcile": ["sys", "json", "crypto", "audit"],
    "image": ["sys", "json", "crypto"],
    "http": ["sys", "json", "url"],
    "http_server": ["sys", "json", "crypto"],
    "approve": ["sys", "json"],
    "box": ["sys", "frame", "outcome"],
    "bridge": ["frame", "sys", "policy", "catalog", "audit", "approve", "outcome", "url"],
    "egress": ["http", "policy", "audit"],
    "connect": ["bridge", "mcp"],
    "engine": ["box", "bridge", "pool", "image", "store", "outcome", "audit"],
    "api": ["engine", "http", "http_server", "mcp"],
}

# Programs. What is not named here may include everything. The warden is held to what its link map
# is held to, since it is the one program with privilege.
APPS: dict[str, list[str]] = {"casemate-warden": ["jail"], "casemate-http": ["http"], "casemate-egress": ["egress"]}
# What runs inside a box. The zygote's module forks slots, with the steps of the jail that come after a clone.
GUEST = ["sys", "frame"]
GUEST_ZYGOTE = ["jail"]

# Header prefix: the places that may include it. A place is a library, or a folder at the root.
THIRD_PARTY: dict[str, list[str]] = {
    "tl/expected.hpp": ["base"],
    "fmt/": ["outcome", "engine", "apps"],
    "nettle/": ["crypto"],
    "seccomp.h": ["tools", "jail"],
    "rapidjson/": ["json"],
    "boost/": ["http_server"],
    "toml++/": ["toml"],
    "sqlite3.h": ["store", "audit"],
    "curl/": ["http"],
    "re2/": ["policy", "schema"],
    "archive": ["image"],
    "prometheus/": ["api"],
    "libpq-fe.h": ["store"],
    "Python.h": ["guest"],
    "gtest/": ["tests"],
    "gmock/": ["tests"],
    "benchmark/": ["bench"],
}

# Headers of the C library and the kernel. Those of C++ have no dot in their names.
_SYSTEM_FOLDERS = ("sys/", "linux/", "net/", "netinet/", "arpa/", "asm/")
_SYSTEM = set(
    """alloca assert complex ctype dirent dlfcn elf endian err errno execinfo fcntl fenv float fnmatch
    ftw getopt glob grp ifaddrs inttypes langinfo libgen limits link locale malloc math mntent mqueue
    netdb poll pthread pty pwd regex resolv sched search semaphore setjmp sgtty shadow signal spawn
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings syscall
    sysexits syslog termios threads time uchar ucontext ulimit unistd utime utmp wait wchar wctype
    wordexp x86intrin""".split()
)

_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def reach(names: list[str]) -> set[str]:
    """The libraries named and all that those may use."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += LAYERS.get(name, [])
    return reached


def place_of(path: Path) -> tuple[str, set[str]]:
    """Where a source stands: its place, and the libraries of ours that it may include."""
    parts = path.parts
    if parts[0] == "src":
        return parts[1], reach([parts[1]])
    if parts[0] == "apps" and parts[1] in APPS:
        return "apps", reach(APPS[parts[1]])
    if parts[0] == "guest":
        return "guest", reach(GUEST_ZYGOTE if parts[1] == "zygote" else GUEST)
    return parts[0], set(LAYERS)


def is_test(path: Path) -> bool:
    """Tests may also use what only tests use."""
    return path.stem.endswith("_test") or path.stem.startswith("test_") or path.parts[0] in ("tests", "sim")


def third_party(header: str) -> str | None:
    """The row of THIRD_PARTY that a header falls under: the longest prefix."""
    rows = [row for row in THIRD_PARTY if header.startswith(row)]
    return max(rows, key=len) if rows else None


def is_system(header: str) -> bool:
    """True for a header of the language, the C library or the kernel."""
    if header.startswith(_SYSTEM_FOLDERS):
        return True
    if header.endswith(".h"):
        return header[:-2] in _SYSTEM
    return "." not in header and "/" not in header


def check_file(root: Path, path: Path) -> list[str]:
    """What is wrong with the #include lines of one source, one line of text each."""
    wrong = []
    place, allowed = place_of(path)
    text = (root / path).read_text(errors="replace")
    for match in _INCLUDE.finditer(text):
        quoted, angled = match.groups()
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        header = quoted or angled
        row = third_party(header)
        if quoted and row is None:
            library = quoted.split("/")[0]
            beside = (root / path.parent / quoted).is_file() and "/" not in quoted
            generated = "/" not in quoted and not beside
            if library in LAYERS and library not in allowed:
                wrong.append(f"{where}: {place} may not include {quoted} (allowed: {', '.join(sorted(allowed))})")
            elif library not in LAYERS and place in LAYERS and not beside and not generated:
                wrong.append(f"{where}: {quoted} is of no library in tests/tree/include_arrows.py")
        elif row is not None:
            places = THIRD_PARTY[row] + (["tests"] if is_test(path) else [])
            ours = {place} | ({"tests"} if is_test(path) else set())
            if not ours & set(places):
                wrong.append(f"{where}: <{header}> stays behind {', '.join(THIRD_PARTY[row])}")
        elif not is_system(header):
            wrong.append(f"{where}: <{header}> is in no table of tests/tree/include_arrows.py")
    return wrong


def check_links(root: Path) -> list[str]:
    """What casemate_library() lines link beyond what the table of layers allows."""
    lists = root / "src" / "CMakeLists.txt"
    if not lists.is_file():
        return []
    wrong = []
    for match in re.finditer(r"casemate_library\(\s*(\w+)([^)]*)\)", lists.read_text()):
        name, rest = match.groups()
        if name not in LAYERS:
            wrong.append(f"src/CMakeLists.txt: {name} is in no row of tests/tree/include_arrows.py")
            continue
        uses = re.search(r"\bUSES\b([\w\s]*?)(?:\b(?:SOURCES|LINKS|PUBLIC_LINKS)\b|$)", rest)
        extra = set(uses.group(1).split() if uses else []) - reach([name])
        if extra:
            wrong.append(f"src/CMakeLists.txt: {name} may not use {', '.join(sorted(extra))}")
    return wrong


def check(root: Path) -> list[str]:
    """All that is wrong below `root`."""
    wrong = check_links(root)
    for path in tree_files(root):
        if path.suffix not in (".h", ".cc") or len(path.parts) < 2:
            continue
        if path.parts[0] == "src" and len(path.parts) > 2 and path.parts[1] not in LAYERS:
            wrong.append(f"{path}: {path.parts[1]} is in no row of tests/tree/include_arrows.py")
            continue
        if path.parts[0] in ("src", "apps", "guest", "fuzz", "sim", "bench", "tools", "tests"):
            wrong += check_file(root, path)
    return wrong


def main() -> int:
    """Prints what is wrong; the exit code says whether anything is."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2])
    wrong = check(root)
    print("\n".join(wrong) if wrong else "include arrows: all point down")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
