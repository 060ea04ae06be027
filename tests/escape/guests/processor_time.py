# guest: computes without end
# source: ioi/isolate #72
# attacks: processor time
# walls: CpuTime
# observer: processor_time_used
# oracle: the processor time that the box used is above the grant
# status: limit
# credit: "name": "cpu_time"
# options: --cpu-time 300ms
import time

while time.process_time() < 1.0:
    pass
