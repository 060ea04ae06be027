# guest: watches the image through fanotify
# source: fanotify_init(2): without privilege since Linux 5.13
# attacks: knowledge of neighbours
# walls: Seccomp
# observer: fanotify_made
# oracle: a descriptor of the guest, read from outside, is a fanotify group
# status: ok
# credit: fanotify_init: EPERM
from attack import call, hold, tell

group, answer = call("fanotify_init", 0x200, 0)  # FAN_REPORT_FID, the form that needs no privilege.
tell("fanotify_init", answer)
tell("fanotify_mark", call("fanotify_mark", group, 1, 0x20, -100, b"/decoy")[1])
hold("group")
