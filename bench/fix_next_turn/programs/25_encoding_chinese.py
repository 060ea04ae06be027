with open("cities.csv") as handle:
    rows = [line.strip().split(",") for line in handle]
print(rows[1][0], rows[2][1])
