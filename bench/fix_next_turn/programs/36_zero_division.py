rows = [line for line in open("orders.csv") if ",GBP" in line]
print(sum(len(row) for row in rows) / len(rows))
