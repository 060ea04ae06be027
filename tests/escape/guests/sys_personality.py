# guest: takes its address layout's randomness away, and makes every page executable
# source: personality(2); moby's default seccomp profile
# attacks: its own mitigations, and page zero
# walls: Seccomp
# observer: personality_changed
# oracle: the guest's personality, read from outside, is not the plain one
# status: ok
# credit: personality: EPERM
from attack import call, hold, tell

for value in (0x0040000, 0x0400000, 0x0100000, 0x0008):
    tell("personality", call("personality", value)[1])
hold("other")
