total = 0
with open("sales.csv") as handle:
    next(handle)
    for line in handle:
        total += int(line.split(",")[1])
print(total)
