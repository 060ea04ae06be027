# guest: asks to handle page faults itself
# source: userfaultfd(2), the standard help of kernel races since CVE-2016-6187
# attacks: stops the kernel in the middle of a copy
# walls: Seccomp
# observer: faults_taken
# oracle: a descriptor of the guest's, read from outside, is a userfaultfd
# status: ok
# credit: userfaultfd: ENOSYS
from attack import call, hold, tell

tell("userfaultfd", call("userfaultfd", 1)[1])  # UFFD_USER_MODE_ONLY, which needs no privilege.
hold("faults")
