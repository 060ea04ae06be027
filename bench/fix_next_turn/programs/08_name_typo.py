def mean(values):
    total = sum(values)
    return totl / len(values)


print(mean([1, 2, 3, 6]))
