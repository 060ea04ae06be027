count = 4
label = "rows: " + count
print(label)
