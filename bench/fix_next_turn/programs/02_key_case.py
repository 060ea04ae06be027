import csv

with open("orders.csv", newline="") as handle:
    rows = list(csv.DictReader(handle))
customers = {row["Customer"] for row in rows}
print(len(customers), sorted(customers))
