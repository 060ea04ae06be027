rows = [
    {"tenant": "a", "value": 3, "currency": "EUR"},
    {"tenant": "b", "value": 4, "currency": "EUR"},
]
print(sum(row["amount"] for row in rows))
