# guest: makes message queues, which take kernel memory
# source: mq_overview(7), RLIMIT_MSGQUEUE
# attacks: the kernel's memory
# walls: MessageQueueLimit, Landlock
# observer: queue_made
# oracle: a descriptor of the guest's, read from outside, is a queue
# status: ok
# credit: mq_open: (EMFILE|EACCES)
import os

from attack import call, hold, tell

tell("mq_open", call("mq_open", b"flood", os.O_CREAT | os.O_RDWR, 0o600, None)[1])
hold("queue")
