calls = 0


def record():
    calls += 1


for _ in range(3):
    record()
print(calls)
