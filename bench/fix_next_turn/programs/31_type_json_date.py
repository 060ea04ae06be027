import datetime
import json

event = {"name": "launch", "when": datetime.date(2024, 3, 1)}
print(json.dumps(event))
