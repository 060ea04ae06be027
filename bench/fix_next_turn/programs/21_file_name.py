with open("order.csv") as handle:
    print(len(handle.readlines()) - 1)
