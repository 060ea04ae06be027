# guest: hides memory in anonymous files
# source: memfd_create(2): memory in no process's resident set
# attacks: the host's memory
# walls: MemoryLimit
# observer: memfd_taken
# oracle: what the file holds, asked from outside, is more memory than granted
# status: limit
# credit: "name": "memory"
# options: --memory 48MiB --file-size 128MiB
import os

from attack import hold

file = os.memfd_create("hidden")
for _ in range(64):
    os.write(file, bytes(1 << 20))
hold("full")
