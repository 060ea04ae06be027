import json

with open("events.jsonl") as handle:
    events = json.loads(handle.read())
print(sum(1 for event in events if event["kind"] == "login"))
