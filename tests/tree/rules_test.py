"""The rules of the tree catch what they are for: each is shown one violation in a tree of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import include_arrows
import tree_rules
import warden_link_map


def plant(root: Path, files: dict[str, str]) -> Path:
    """Writes a small tree and returns its root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


CLEAN = {
    "src/CMakeLists.txt": "casemate_library(base)\ncasemate_library(json USES base)\n",
    "src/base/x.h": "#pragma once\n#include <sys/stat.h>\n\n#include <vector>\n",
    "src/json/x.cc": '#include "base/x.h"\n\n#include <vector>\n',
    "src/json/x_test.cc": '#include <gtest/gtest.h>\n\n#include "json/x.h"\n',
    "apps/casemate/main.cc": '#include "json/x.h"\n',
    "docs/a.md": "[there](../src/base/x.h#L1) and [outside](https://example.com)\n",
}


def test_a_clean_tree_passes(tmp_path: Path) -> None:
    plant(tmp_path, CLEAN)
    assert include_arrows.check(tmp_path) == []
    assert tree_rules.check(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("src/base/y.cc", '#include "json/x.h"\n', "base may not include json/x.h"),
        ("src/jail/y.cc", '#include "json/x.h"\n', "jail may not include json/x.h"),
        ("src/frame/y.h", '#include "sys/fd.h"\n', "frame may not include sys/fd.h"),
        ("src/engine/y.cc", '#include "http/x.h"\n', "engine may not include http/x.h"),
        ("apps/casemate-warden/main.cc", '#include "json/x.h"\n', "may not include json/x.h"),
        ("guest/init/main.cc", '#include "engine/x.h"\n', "guest may not include engine/x.h"),
        ("src/json/y.cc", "#include <nettle/sha2.h>\n", "stays behind crypto"),
        ("src/json/y.cc", "#include <gtest/gtest.h>\n", "stays behind tests"),
        ("src/json/y.cc", "#include <zlib.h>\n", "in no table"),
        ("src/odd/y.cc", "#include <vector>\n", "odd is in no row"),
        ("src/CMakeLists.txt", "casemate_library(crypto USES base json LINKS x)\n", "crypto may not use json"),
    ],
)
def test_an_arrow_that_runs_up_fails(tmp_path: Path, name: str, text: str, said: str) -> None:
    plant(tmp_path, CLEAN | {name: text})
    wrong = include_arrows.check(tmp_path)
    assert len(wrong) == 1 and said in wrong[0], wrong


LONG_FUNCTION = "namespace a {\n\nvoid f(int a,\n       int b) {\n" + "  a();\n" * 70 + "}\n\n}  // namespace a\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("src/base/long.h", "//\n" * 251, "251 lines; the ceiling is 250"),
        ("src/base/long.cc", "//\n" * 401, "401 lines; the ceiling is 400"),
        ("src/base/long.cc", "//\n" * 701, "no file has more than 700"),
        ("src/base/f.cc", LONG_FUNCTION, "f(): 73 lines; the ceiling is 70"),
        ("guest/f.py", "def f():\n" + "    a = 1\n" * 70, "f(): 71 lines; the ceiling is 70"),
        ("src/string_utils/x.h", "\n", "'utils'"),
        ("src/base/misc.cc", "\n", "'misc'"),
        ("src/pool/slot_manager.h", "\n", "'manager'"),
        ("src/base/y.cc", "// FIXME\n", "a leftover marker"),
        ("src/base/y.cc", "// TODO: later\n", "a leftover marker"),
        ("docs/b.md", "<<<<<<< HEAD\n", "a merge conflict"),
        ("guest/x.py", "breakpoint()\n", "a debugger call"),
        ("docs/b.md", "cd /work/main\n", "a path of one machine"),
        ("docs/b.md", "see /root/x\n", "a path of one machine"),
        ("docs/b.md", "from https://pypi.org/simple\n", "the host name of a registry"),
        ("docs/b.md", "a\r\n", "CR LF"),
        ("docs/b.md", "a \n", "white space at the end"),
        ("docs/b.md", "a\tb\n", "a tab"),
        ("docs/b.md", "a", "no line end"),
        ("docs/b.md", "[gone](gone.md#here)\n", "links to gone.md"),
        ("tests/tree/long.txt", "src/gone.cc 500\n", "src/gone.cc is not there"),
        ("tests/tree/long.txt", "src/base/x.h 300\n", "take it out"),
    ],
)
def test_a_broken_rule_fails(tmp_path: Path, name: str, text: str, said: str) -> None:
    plant(tmp_path, CLEAN)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    wrong = tree_rules.check(tmp_path)
    assert len(wrong) >= 1 and said in wrong[0], wrong


def test_a_long_function_on_the_list_may_not_grow(tmp_path: Path) -> None:
    plant(tmp_path, CLEAN | {"src/base/f.cc": LONG_FUNCTION, "tests/tree/long.txt": "src/base/f.cc:f 73\n"})
    assert tree_rules.check(tmp_path) == []
    plant(tmp_path, {"tests/tree/long.txt": "src/base/f.cc:f 72\n"})
    assert "that list shrinks" in tree_rules.check(tmp_path)[0]


def test_a_long_file_on_the_list_may_not_grow(tmp_path: Path) -> None:
    plant(tmp_path, CLEAN | {"src/base/l.cc": "//\n" * 450, "tests/tree/long.txt": "src/base/l.cc 450\n"})
    assert tree_rules.check(tmp_path) == []
    plant(tmp_path, {"src/base/l.cc": "//\n" * 451})
    assert "that list shrinks" in tree_rules.check(tmp_path)[0]


def test_a_todo_that_says_what_and_where_is_no_leftover(tmp_path: Path) -> None:
    plant(tmp_path, CLEAN | {"src/base/y.cc": "// TODO(box): stop here when rungs differ.\n"})
    assert tree_rules.check(tmp_path) == []


MAP = """Archive member included to satisfy reference by file (symbol)

src/libcasemate_jail.a(walls.cc.o)
                              apps/CMakeFiles/casemate-warden.dir/main.cc.o (casemate::jail::make())
/usr/lib/gcc/x86_64-linux-gnu/12/libstdc++.a(string.o)
                              src/libcasemate_jail.a(walls.cc.o) (std::string)
/usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/libc.a(printf.o)
                              src/libcasemate_base.a(check.cc.o) (fprintf)

LOAD /usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/crt1.o
LOAD /usr/lib/gcc/x86_64-linux-gnu/12/crtbeginT.o
LOAD apps/CMakeFiles/casemate-warden.dir/main.cc.o
LOAD src/libcasemate_jail.a
LOAD /usr/lib/gcc/x86_64-linux-gnu/12/libstdc++.a
LOAD /usr/lib/x86_64-linux-gnu/libm-2.36.a
START GROUP
LOAD /usr/lib/gcc/x86_64-linux-gnu/12/libgcc.a
LOAD /usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/libc.a
END GROUP
"""


def test_the_map_of_a_small_warden_passes() -> None:
    assert warden_link_map.check(MAP) == []


@pytest.mark.parametrize(
    "extra",
    [
        "LOAD src/libcasemate_json.a\n",
        "LOAD /usr/lib/x86_64-linux-gnu/libcrypto.a\n",
        "LOAD src/libcasemate_jail_testhooks.a\n",
        "LOAD apps/CMakeFiles/casemate.dir/main.cc.o\n",
        " .text 0x0000000000401000 0x10 src/libcasemate_http.a(client.cc.o)\n",
    ],
)
def test_a_map_with_more_in_it_fails(extra: str) -> None:
    wrong = warden_link_map.check(MAP + extra)
    assert len(wrong) == 1 and "may not contain" in wrong[0]


def test_an_empty_map_proves_nothing() -> None:
    assert "no link map" in warden_link_map.check("")[0]
