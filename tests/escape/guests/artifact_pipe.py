# guest: leaves a pipe as its product, which nobody writes to
# source: fifo(7): an open with O_NONBLOCK succeeds, one without waits
# attacks: the supervisor that waits for it
# walls: none
# observer: artifact_pipe
# oracle: the run does not come to an end; control: a copier that opens it waits
# status: ok
# credit: "state": "failed"
import os

from attack import hold

os.mkfifo("/vol/work/out/product")
hold("left")
