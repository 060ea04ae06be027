def area(radius):
    return math.pi * radius**2


print(round(area(2), 3))
