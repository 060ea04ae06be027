# guest: connects to a service outside
# source: judge0 CVE-2024-29021 (server-side requests to inner services)
# attacks: the network
# walls: NetNs
# observer: connection_arrived
# oracle: a sink outside gets the connection
# status: ok
# credit: ENETUNREACH
import socket

from attack import arg, attempt

attempt("connect", lambda: socket.create_connection((arg("host"), int(arg("port"))), 2).sendall(arg("word").encode()))
