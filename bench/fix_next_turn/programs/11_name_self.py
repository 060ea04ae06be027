class Account:
    def __init__(self, balance):
        self.balance = balance

    def deposit(self, amount):
        self.balance = balance + amount
        return self.balance


print(Account(10).deposit(5))
