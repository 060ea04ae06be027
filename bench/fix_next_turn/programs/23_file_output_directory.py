result = {"rows": 4}
with open("results/summary.txt", "w") as handle:
    handle.write(f"{result['rows']} rows")
print(open("results/summary.txt").read())
