# guest: stops itself, so that nothing it does comes to an end
# source: huggingface/smolagents #2197
# attacks: the slot that it occupies
# walls: WallClock
# observer: long_run
# oracle: the run lasted longer than granted
# status: limit
# credit: "name": "wall"
# options: --wall 500ms
import os
import signal
import time

pid = os.fork()
if pid == 0:  # Wakes it after a while, so that a run without limits ends too.
    time.sleep(2.5)
    os.kill(os.getppid(), signal.SIGCONT)
    os._exit(0)
os.kill(os.getpid(), signal.SIGSTOP)
