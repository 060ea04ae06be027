import json

text = open("settings.txt").read()
settings = json.loads(text)
print(settings["retries"], settings["verbose"])
