with open("menu.csv", encoding="utf-8") as handle:
    for line in list(handle)[1:]:
        dish, price = line.strip().split(",")
        print(dish, price)
