import json

people = json.load(open("people.json"))["people"]
for person in people:
    print(person["name"], person["mail"])
