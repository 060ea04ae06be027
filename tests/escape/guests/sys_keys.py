# guest: uses the kernel's keyrings
# source: CVE-2016-0728
# attacks: keys of others, quotas of a user id
# walls: Seccomp
# observer: key_made
# oracle: the kernel counts keys of the guest's outside user id
# status: ok
# credit: add_key: ENOSYS
from attack import call, hold, table, tell

tell("add_key", call("add_key", b"user", b"casemate", b"x", 1, -2)[1])
table(
    [
        ("request_key", "ENOSYS", (b"user", b"none", None, 0)),
        ("keyctl", "ENOSYS", (0, -3, 1, 0, 0)),
    ]
)
hold("key")
