names = ["Ada", "Grace"]
print("count:", names.length)
