"""Writes sales.csv: `python3 make_sales.py > sales.csv`. The same bytes on every machine.

Some 4,000 order lines of one year, with the blemishes that a real export has. Each of them has one
meaning, which README.md states and revenue.py and check.py follow.
"""

from __future__ import annotations

import random
import sys
import unicodedata
from datetime import date, timedelta

SEED = 20240229
ORDERS = 4000
FIRST_DAY = date(2024, 1, 1)

# Region and its share of the orders.
REGIONS = [
    ("Île-de-France", 17),
    ("Baden-Württemberg", 14),
    ("Auvergne-Rhône-Alpes", 11),
    ("Lombardia", 10),
    ("Cataluña", 9),
    ("Provence-Alpes-Côte d'Azur", 8),
    ("Thüringen", 7),
    ("Kärnten", 6),
    ("Castilla y León", 6),
    ("Região de Lisboa", 5),
    ("Pohjois-Pohjanmaa", 4),
    ("Åland", 2),
    ("Žilinský kraj", 1),
]
# Product and its list price in cents.
PRODUCTS = [
    ("Desk lamp, brass", 4990),
    ("Oak shelf", 12950),
    ("Wool blanket", 7905),
    ("Café table", 24900),
    ("Fjord chair", 18999),
    ("Linen cushion", 2495),
    ('Picture frame 12" × 8"', 1999),
    ("Ceramic vase", 3350),
    ("Brass hook", 710),
]


class Dice:
    """Draws from random.random() alone: the one method whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, end: int) -> int:
        """An integer from 0 to end - 1."""
        return int(self._random.random() * end)

    def one_in(self, count: int) -> bool:
        """True once in `count` times."""
        return self.below(count) == 0

    def region(self) -> str:
        """A region, by its share."""
        ticket = self.below(sum(share for _, share in REGIONS))
        for name, share in REGIONS:
            ticket -= share
            if ticket < 0:
                return name
        raise AssertionError("the shares do not add up")


def quoted(text: str) -> str:
    """A CSV field, in quotes where RFC 4180 asks for them."""
    if any(c in text for c in ',"\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def order_line(number: int, dice: Dice) -> str:
    """One order as a line of CSV."""
    day = FIRST_DAY + timedelta(days=number * 366 // ORDERS)
    region = dice.region()
    product, list_price = PRODUCTS[dice.below(len(PRODUCTS))]
    quantity = 1 + dice.below(12) * dice.below(2)
    cents = list_price * (100 - 5 * dice.below(4)) // 100
    if dice.one_in(25):  # a return
        quantity = -quantity
    if dice.one_in(60):  # a system that writes accents as characters of their own
        region = unicodedata.normalize("NFD", region)
    if dice.one_in(50):  # somebody's space bar
        region = f" {region} "
    fields = [
        f"SO-{number:06d}",
        day.isoformat(),
        region,
        product,
        str(quantity),
        f"{cents // 100}.{cents % 100:02d}",
        "EUR",
    ]
    return ",".join(quoted(field) for field in fields)


def sales() -> str:
    """The whole file."""
    dice = Dice(SEED)
    lines = ["order_id,date,region,product,quantity,unit_price,currency"]
    for number in range(1, ORDERS + 1):
        line = order_line(number, dice)
        lines.append(line)
        if dice.one_in(150):  # exported twice
            lines.append(line)
        if dice.one_in(120):
            lines.append("")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(sales().encode("utf-8"))
