import json

with open("people.json") as handle:
    data = json.load(handle)
print("version", data["version"])
for person in data["people"]:
    print(person["name"])
