prices = ["0.10", "0.20", "0.30"]
total = sum((Decimal(price) for price in prices), Decimal("0"))
print(total)
