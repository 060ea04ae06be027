def scale(value, factor, offset=0):
    return value * factor + offset


print(scale(3))
