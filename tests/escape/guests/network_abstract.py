# guest: talks to a service of the host through an abstract socket
# source: containerd CVE-2020-15257 (the shim's socket)
# attacks: a daemon of the host
# walls: NetNs, Landlock@6
# observer: abstract_reached
# oracle: the daemon gets a connection
# status: ok
# credit: ECONNREFUSED
import socket

from attack import arg, attempt

client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
attempt("connect", lambda: (client.connect("\0" + arg("name")), client.sendall(arg("word").encode()))[1])
