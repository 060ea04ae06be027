# guest: hides memory in files of /dev/shm
# source: bytedance/SandboxFusion #43
# attacks: the host's memory
# walls: MemoryLimit
# observer: shm_taken
# oracle: what the file system holds, asked from outside, is more memory than granted
# status: limit
# credit: "name": "memory"
# options: --memory 48MiB --disk 128MiB
from attack import hold

with open("/dev/shm/hidden", "wb") as file:
    for _ in range(64):
        file.write(bytes(1 << 20))
hold("full")
