"""Revenue by region from /work/sales.csv: exact, as a table and as a chart. Runs in a box."""

from __future__ import annotations

import csv
import unicodedata
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import casemate
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SALES = Path("sales.csv")  # a run starts in /work
OUT = Path("out")
CENT = Decimal("0.01")


def read_sales() -> tuple[dict[str, Decimal], dict[str, int], dict[str, Decimal]]:
    """Revenue, order count and value of returns (not positive) of each region."""
    revenue: dict[str, Decimal] = defaultdict(Decimal)
    orders: dict[str, int] = defaultdict(int)
    returns: dict[str, Decimal] = defaultdict(Decimal)
    seen: set[str] = set()
    with SALES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):  # skips blank lines
            if row["order_id"] in seen:
                continue  # exported twice
            seen.add(row["order_id"])
            if row["currency"] != "EUR":
                raise ValueError(f"{row['order_id']}: {row['currency']} is not EUR")
            region = unicodedata.normalize("NFC", row["region"]).strip()
            amount = Decimal(row["unit_price"]) * int(row["quantity"])
            revenue[region] += amount
            orders[region] += 1
            if amount < 0:
                returns[region] += amount
    return revenue, orders, returns


def print_table(ranking: list[str], revenue: dict[str, Decimal], orders: dict[str, int]) -> None:
    """The table, largest region first, with its total."""
    total = sum(revenue.values(), Decimal())
    print(f"{'region':<28}{'orders':>8}{'revenue EUR':>16}{'share':>8}")
    for region in ranking:
        share = revenue[region] / total * 100
        print(f"{region:<28}{orders[region]:>8}{revenue[region]:>16,.2f}{share:>7.1f}%")
    print(f"{'total':<28}{sum(orders.values()):>8}{total:>16,.2f}{100:>7.1f}%")


def write_csv(
    path: Path,
    ranking: list[str],
    revenue: dict[str, Decimal],
    orders: dict[str, int],
    returns: dict[str, Decimal],
) -> None:
    """One row per region, largest first."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["region", "orders", "revenue_eur", "returns_eur"])
        for region in ranking:
            returned = returns.get(region, Decimal()).quantize(CENT)
            writer.writerow([region, orders[region], revenue[region].quantize(CENT), returned])


def draw(path: Path, ranking: list[str], revenue: dict[str, Decimal]) -> None:
    """A horizontal bar for each region, the largest on top."""
    ink, faint, bar, first = "#1f2933", "#9aa5b1", "#8fb8de", "#1f6fb2"
    values = [float(revenue[region]) for region in ranking]  # for the eye only; the sums are exact
    total = sum(revenue.values(), Decimal())
    figure, axes = plt.subplots(figsize=(10, 6.2), dpi=120)
    colours = [first] + [bar] * (len(values) - 1)
    bars = axes.barh(ranking, values, color=colours, height=0.72)
    axes.invert_yaxis()
    labels = [f"€ {value:,.0f}" for value in values]
    axes.bar_label(bars, labels=labels, padding=5, color=ink, fontsize=10)
    axes.set_xlim(0, max(values) * 1.14)
    axes.set_axisbelow(True)
    axes.xaxis.grid(True, color="#e4e7eb", linewidth=0.8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f} k")
    axes.tick_params(axis="x", colors=faint, length=0, labelsize=9)
    axes.tick_params(axis="y", colors=ink, length=0, labelsize=10.5)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.margins(y=0.01)
    figure.text(0.02, 0.93, "Revenue by region, 2024", fontsize=16, color=ink, weight="bold")
    figure.text(0.02, 0.885, f"EUR, returns subtracted; all regions € {total:,.2f}", fontsize=10.5, color="#616e7c")
    figure.tight_layout(rect=(0.01, 0.0, 0.99, 0.875))
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    """Reads, prints, draws, declares."""
    revenue, orders, returns = read_sales()
    ranking = sorted(revenue, key=lambda region: (-revenue[region], region))
    print_table(ranking, revenue, orders)
    OUT.mkdir(exist_ok=True)
    write_csv(OUT / "revenue.csv", ranking, revenue, orders, returns)
    draw(OUT / "revenue.png", ranking, revenue)
    casemate.artifact("out/revenue.csv", summary=f"revenue of {len(ranking)} regions in EUR, exact to the cent")
    casemate.artifact("out/revenue.png", summary=f"revenue by region; {ranking[0]} leads")


if __name__ == "__main__":
    main()
