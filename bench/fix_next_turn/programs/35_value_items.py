stock = {"apples": 3, "pears": 5}
for name, count in stock:
    print(name, count)
