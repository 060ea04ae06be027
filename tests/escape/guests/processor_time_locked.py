# guest: computes in one step of the interpreter that nothing inside can interrupt
# source: pydantic/monty PR #813; huggingface/smolagents #2197
# attacks: processor time; timers inside the interpreter
# walls: CpuTime
# observer: processor_time_used
# oracle: the processor time that the box used is above the grant
# status: limit
# credit: "name": "cpu_time"
# options: --cpu-time 300ms
import signal
import sys

signal.setitimer(signal.ITIMER_REAL, 0.1)
signal.signal(signal.SIGALRM, lambda *_: sys.exit("interrupted"))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
number = 7 ** 3_000_000 // 3 ** 1_000_000
