import csv
from collections import defaultdict

totals = defaultdict(float)
with open("orders.csv", newline="") as handle:
    for row in csv.DictReader(handle):
        totals[row["customer"]] += float(row["amount"])
for customer, total in sorted(totals.items()):
    print(f"{customer}: {total:.2f}")
