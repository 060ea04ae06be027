report(["a", "b"])


def report(names):
    for name in names:
        print("-", name)
