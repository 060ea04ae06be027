import datetime

moment = datetime.strptime("2024-03-01", "%Y-%m-%d")
print(moment.year, moment.month)
