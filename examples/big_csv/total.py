"""What was sold in each region, to the cent: of sales.csv where that was handed in, else of what the capability gives."""

import csv
import io
from decimal import Decimal
from pathlib import Path

from casemate import tools

text = Path("sales.csv").read_text() if Path("sales.csv").exists() else tools.sales.export()
totals: "dict[str, Decimal]" = {}
for row in csv.DictReader(io.StringIO(text)):
    totals[row["region"]] = totals.get(row["region"], Decimal(0)) + Decimal(row["amount"])
for region, total in sorted(totals.items()):
    print(f"{region}: {total}")
