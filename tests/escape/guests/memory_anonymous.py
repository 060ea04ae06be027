# guest: takes more memory than granted
# source: bytedance/SandboxFusion #43; criyle/go-judge #186
# attacks: the host's memory
# walls: MemoryLimit
# observer: memory_taken
# oracle: its resident memory, read from outside, is above the grant
# status: limit
# credit: "name": "memory"
# options: --memory 48MiB
from attack import hold

block = bytearray()
for _ in range(64):
    block += b"x" * (1 << 20)
hold("full")
