rows = [{"id": 7, "name": "Ada"}]
print(rows["name"])
