# guest: sends a packet to the outside
# source: langgenius/dify #36637
# attacks: the network
# walls: NetNs
# observer: datagram_arrived
# oracle: a sink outside gets the packet
# status: ok
# credit: ENETUNREACH
import socket

from attack import arg, attempt

sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("send", lambda: sink.sendto(arg("word").encode(), (arg("host"), int(arg("port")))))
