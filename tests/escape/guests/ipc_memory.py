# guest: reads System V shared memory of the host
# source: ipc_namespaces(7); shmget(2)
# attacks: data of other programs
# walls: IpcNs
# observer: shared_memory_read
# oracle: the secret in it comes out
# status: ok
# credit: shmget: ENOENT
import ctypes

from attack import arg, call, tell

segment, answer = call("shmget", int(arg("key")), 0, 0o444)
tell("shmget", answer)
if answer == "ok":
    place, answer = call("shmat", segment, None, 0o10000)
    tell("shmat", ctypes.string_at(place, 64) if answer == "ok" else answer)
