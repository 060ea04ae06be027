from datetime import datetime

stamp = "17/02/2024"
print(datetime.strptime(stamp, "%Y-%m-%d").strftime("%A"))
