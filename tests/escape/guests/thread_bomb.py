# guest: starts threads without end
# source: beam-cloud/beta9 PR #1917
# attacks: the host's process table
# walls: PidsLimit
# observer: threads_made
# oracle: its threads, counted from outside, are more than granted
# status: ok
# credit: refused
# options: --pids 16
import threading

from attack import hold, tell

end = threading.Event()
try:
    for _ in range(40):
        threading.Thread(target=end.wait, daemon=True).start()
except RuntimeError:
    tell("thread", "refused")
hold("many")
end.set()
