amounts = ["950", "1,250", "80"]
print(sum(int(amount) for amount in amounts))
