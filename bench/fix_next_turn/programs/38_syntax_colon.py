for n in range(3)
    print(n)
