def fetch(name, retries=3, timeout_seconds=10):
    return f"{name} {retries} {timeout_seconds}"


print(fetch("a", timeout_secs=5))
