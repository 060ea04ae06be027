scores = {}
for line in ["1 10", "2 7", "1 5"]:
    player, points = line.split()
    scores.setdefault(int(player), []).append(int(points))
print(sum(scores["1"]))
