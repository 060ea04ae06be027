"""How often is a broken program fixed on the next turn, given a bare traceback or casemate's report?

    /usr/bin/python3 bench/fix_next_turn/fix_next_turn.py [--json] [--show NAME]

Each of programs/*.py fails. It is run twice: by plain Python, whose stderr is the first text, and by
casemate's runner, whose report as a model gets it is the second. repair.py makes at most one edit
from each text, and the edited program runs once more, by plain Python. It is fixed if it exits 0 and
prints exactly what programs/*.expected holds, which repair.py never sees.

The programs make mistakes that models make, one each, and a few of them cannot be repaired from any
report. They and the rules were chosen by people who knew the hints: the table says what one text
makes possible and the other does not, and is no estimate of what a model would do.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, List

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "guest/python/tests"))

import engine  # noqa: E402
from repair import repair  # noqa: E402

PYTHON = "/usr/bin/python3"
FILES = HERE / "programs/files"
ARMS = ("bare", "report")


def run_plainly(source: str) -> "tuple[int, str, str]":
    """(exit code, stdout, stderr) of `python3 program.py` beside the input files."""
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory) / "work"
        shutil.copytree(FILES, work)
        (work / "program.py").write_text(source, encoding="utf-8")
        done = subprocess.run(
            [PYTHON, "-B", "program.py"],
            cwd=work,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
    return (
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


def report_of(runner: engine.Engine, source: str) -> str:
    """What a model gets of the exception: the short form, the hints, then the full text."""
    files = {
        bytes(path.relative_to(FILES)): path.read_bytes()
        for path in sorted(FILES.rglob("*"))
        if path.is_file()
    }
    report = runner.run(source, files=files).report
    head = [f"{report.type}: {report.message}"]
    if report.line:
        head.append(f"at line {report.line}: {(report.source or '').strip()}")
    return "\n".join([*head, *report.hints, "", report.rendered])


def measure() -> List[Dict[str, object]]:
    """One row per program: whether each arm fixed it, and the texts and edits for --show."""
    rows: List[Dict[str, object]] = []
    runner = engine.Engine(PYTHON)
    try:
        for path in sorted((HERE / "programs").glob("*.py")):
            source = path.read_text(encoding="utf-8")
            expected = path.with_suffix(".expected").read_text(encoding="utf-8")
            code, _, stderr = run_plainly(source)
            if code == 0:
                raise SystemExit(f"{path.name} does not fail")
            row: Dict[str, object] = {"program": path.stem}
            for arm, text in zip(ARMS, (stderr, report_of(runner, source))):
                edited = repair(source, text)
                fixed = False
                if edited is not None:
                    code, stdout, _ = run_plainly(edited)
                    fixed = code == 0 and stdout == expected
                row[arm] = (
                    "fixed" if fixed else "no edit" if edited is None else "wrong edit"
                )
                row[f"{arm}_text"], row[f"{arm}_edit"] = text, edited
            rows.append(row)
    finally:
        runner.close()
    return rows


def main() -> None:
    """Prints the table, or one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--json", action="store_true", help="one JSON document instead of the table"
    )
    parser.add_argument(
        "--show",
        metavar="NAME",
        help="print texts and edits of the programs with NAME in their names",
    )
    arguments = parser.parse_args()
    rows = measure()
    fixed = {arm: sum(row[arm] == "fixed" for row in rows) for arm in ARMS}
    if arguments.show:
        for row in rows:
            if arguments.show in str(row["program"]):
                for arm in ARMS:
                    print(
                        f"=== {row['program']} {arm}: {row[arm]}\n{row[arm + '_text']}\n---"
                        f" edited\n{row[arm + '_edit']}"
                    )
        return
    if arguments.json:
        outcome = {
            "programs": len(rows),
            "fixed": fixed,
            "rate": {arm: round(fixed[arm] / len(rows), 4) for arm in ARMS},
            "rows": [{name: row[name] for name in ("program", *ARMS)} for row in rows],
        }
        print(json.dumps(outcome, indent=2))
        return
    print(f"{'program':34}{'bare traceback':18}report")
    for row in rows:
        print(f"{row['program']:34}{row['bare']:18}{row['report']}")
    print(
        f"{'fixed on the next turn':34}"
        + "".join(
            f"{f'{fixed[arm]} of {len(rows)} ({100 * fixed[arm] / len(rows):.0f} %)':18}"
            for arm in ARMS
        )
    )


if __name__ == "__main__":
    main()
