"""docs/cases.md and the tests say the same."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import ROOT

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (B\d{3}) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def rows() -> dict[str, str]:
    """The last column of each case."""
    found = ROW.findall((ROOT / "docs" / "cases.md").read_text())
    assert len(found) == len({case for case, _ in found}), "each case once"
    return dict(found)


def cases_of(path: Path) -> set[str]:
    """The cases that the names of a file's tests begin with."""
    return {
        case
        for name in re.findall(r"^def test_((?:B\d{3}_)+)", path.read_text(), re.MULTILINE)
        for case in name.split("_")
        if case
    }


def test_each_case_that_names_a_file_has_a_test_there() -> None:
    by_name = {path.name: cases_of(path) for path in HERE.glob("test_*.py")}
    for case, where in rows().items():
        files = [name for name in re.findall(r"test_cases_\w+\.py", where)]
        for name in files:
            assert case in by_name[name], (case, name)
        for name in re.findall(r"tests/[\w/]+\.py|tests/\w+", where):
            assert (ROOT / name).exists(), name
        assert where.startswith(("test_", "tests/", "not yet: ", "does not apply: ")), (case, where)


def test_each_tested_case_is_on_the_page() -> None:
    tested = set().union(*(cases_of(path) for path in HERE.glob("test_*.py")))
    named = {case for case, where in rows().items() if "test_cases_" in where}
    assert tested == named
    assert len(rows()) == 120
