# guest: leaves a process behind that holds the output open
# source: bytedance/deer-flow PR #3864
# attacks: whoever waits for the end of the output
# walls: KillTree
# observer: late_answer
# oracle: the answer came seconds after the program's end
# status: ok
# credit: "exit_code": 0
import os
import signal
import time

from attack import arg

if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    time.sleep(float(arg("patience")) - 0.5)
    os._exit(0)
os._exit(0)
