options = {"verbose": true, "limit": 5}
print(options["verbose"], options["limit"])
