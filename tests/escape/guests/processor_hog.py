# guest: uses more of a processor than granted
# source: e2b-dev/E2B #339
# attacks: neighbours' processor time
# walls: CpuShare
# observer: processor_share
# oracle: its processor time in one second, read from outside, is above the grant
# status: ok
# credit: spun
# options: --cpus 0.1
# note: the observer gives it a high priority first, so that a busy host is not taken for a wall.
import time

from attack import hold, tell

hold("begin")
end = time.monotonic() + 1.0
while time.monotonic() < end:
    pass
hold("end")
tell("loop", "spun")
