# guest: takes memory that the kernel itself cannot read
# source: memfd_secret(2): pages that no tool can count
# attacks: inspection
# walls: Seccomp
# observer: secret_memory_made
# oracle: a descriptor of the guest's, read from outside, is secret memory
# status: ok
# credit: memfd_secret: ENOSYS
# needs: secret_memory
from attack import call, hold, tell

tell("memfd_secret", call("memfd_secret", 0)[1])
hold("secret")
