# guest: asks for memory policies
# source: numa(7); moby's default seccomp profile
# attacks: the kernel's NUMA code; where neighbours' memory lies
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: mbind: EPERM
from attack import table

table(
    [
        ("mbind", "EPERM", (0, 0, 99, None, 0, 0)),
        ("set_mempolicy", "EPERM", (99, None, 0)),
        ("get_mempolicy", "EPERM", (None, None, 0, 0, 0)),
        ("set_mempolicy_home_node", "EPERM", (0, 0, 0, 99)),
    ]
)
