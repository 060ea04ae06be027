names = ["Ada", "Grace", "Alan"]
scores = [10, 20, 30]
for i in range(4):
    print(names[i], scores[i])
