stack = []
for n in range(3):
    stack.push(n * n)
print(stack)
