# guest: leaves a process in a session of its own behind
# source: multikernel/sandlock #252
# attacks: time after the end of the run
# walls: KillTree
# observer: daemon_lived
# oracle: the process, watched from outside, outlives the program
# status: ok
# credit: "exit_code": 0
import os
import time

from attack import name_process

name_process("program")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        name_process("daemon")
        for number in range(4):
            try:
                os.close(number)
            except OSError:
                pass
        time.sleep(2.5)
    os._exit(0)
os.wait()
time.sleep(0.1)  # long enough to be seen
os._exit(0)
