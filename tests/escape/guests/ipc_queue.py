# guest: reads a message queue of the host
# source: ipc_namespaces(7); mq_overview(7)
# attacks: messages of other programs
# walls: IpcNs, Landlock
# observer: queue_read
# oracle: the secret in it comes out
# status: ok
# credit: mq_open: ENOENT
import ctypes

from attack import call, tell

queue, answer = call("mq_open", b"decoy", 0, 0, None)
tell("mq_open", answer)
if answer == "ok":
    text = ctypes.create_string_buffer(8192)
    answer = call("mq_timedreceive", queue, text, 8192, None, None)[1]
    tell("mq_timedreceive", text.value if answer == "ok" else answer)
