# guest: connects to a service outside by IPv6
# source: filters that know IPv4 alone
# attacks: the network
# walls: NetNs
# observer: connection_arrived6
# oracle: a sink outside gets the connection
# status: ok
# credit: ENETUNREACH|EADDRNOTAVAIL
import socket

from attack import arg, attempt

attempt("connect", lambda: socket.create_connection((arg("host"), int(arg("port"))), 2).sendall(arg("word").encode()))
