"""Checks a revenue.csv against sales.csv: `python3 check.py [revenue.csv [sales.csv]]`.

Reckons in whole cents with code of its own: no Decimal, no float, no csv module, nothing shared with
revenue.py. Says what is wrong and exits 1 when anything is.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent


def split_line(line: str) -> list[str]:
    """The fields of one line of CSV (RFC 4180, no line breaks within fields)."""
    fields = [""]
    inside = False
    at = 0
    while at < len(line):
        char = line[at]
        if inside and line[at : at + 2] == '""':
            fields[-1] += '"'
            at += 1
        elif char == '"':
            inside = not inside
        elif char == "," and not inside:
            fields.append("")
        else:
            fields[-1] += char
        at += 1
    return fields


def cents(text: str) -> int:
    """An amount with two decimals as whole cents. Raises ValueError for any other form."""
    sign = -1 if text.startswith("-") else 1
    whole, point, part = text.lstrip("-").partition(".")
    if not (point and len(part) == 2 and whole.isdecimal() and part.isdecimal()):
        raise ValueError(f"{text!r} is not an amount with two decimals")
    return sign * (int(whole) * 100 + int(part))


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a file, by the names of its columns; blank lines left out."""
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
    names = split_line(lines[0])
    rows = [split_line(line) for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise ValueError(f"{path.name}: row {number} has {len(row)} fields, not {len(names)}")
    return [dict(zip(names, row)) for row in rows]


def expected(sales: Path) -> dict[str, tuple[int, int, int]]:
    """Orders, cents of revenue and cents of returns of each region."""
    orders = {row["order_id"]: row for row in table(sales)}  # a second copy says the same
    sums: dict[str, tuple[int, int, int]] = {}
    for row in orders.values():
        region = unicodedata.normalize("NFC", row["region"]).strip()
        amount = cents(row["unit_price"]) * int(row["quantity"])
        count, revenue, returned = sums.get(region, (0, 0, 0))
        sums[region] = (count + 1, revenue + amount, returned + min(amount, 0))
    return sums


def faults(revenue: Path, sales: Path) -> list[str]:
    """What is wrong with the file; empty when it is right."""
    wanted = expected(sales)
    wrong = []
    given: list[tuple[int, str]] = []
    for row in table(revenue):
        region = row["region"]
        found = (int(row["orders"]), cents(row["revenue_eur"]), cents(row["returns_eur"]))
        if region not in wanted:
            wrong.append(f"{region!r} is no region of the sales, or is there twice")
        elif found != wanted.pop(region):
            wrong.append(f"{region}: orders, revenue and returns in cents are not {found}")
        given.append((-found[1], region))
    wrong += [f"{region} is missing" for region in wanted]
    if given != sorted(given):
        wrong.append("the regions are not in the order of their revenue")
    return wrong


def main(arguments: list[str]) -> int:
    """Exit status: 0 right, 1 wrong or unreadable."""
    revenue = Path(arguments[0]) if arguments else Path("out/revenue.csv")
    sales = Path(arguments[1]) if len(arguments) > 1 else HERE / "sales.csv"
    try:
        wrong = faults(revenue, sales)
    except (OSError, ValueError, KeyError, IndexError) as error:
        wrong = [f"cannot be read: {error}"]
    for fault in wrong:
        print(f"{revenue}: {fault}", file=sys.stderr)
    if not wrong:
        print(f"{revenue}: every region is right to the cent")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
