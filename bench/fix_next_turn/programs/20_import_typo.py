import jsn

print(jsn.dumps({"a": 1}))
