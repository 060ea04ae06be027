# guest: listens at an abstract socket where a neighbouring slot looks for a service of its own
# source: unix(7): abstract names have no permissions and belong to the network namespace
# attacks: what a neighbour says
# walls: NetNs, Landlock@6
# first: hostile
# observer: pair
# oracle: a secret comes out that the neighbour sent to the name
# status: ok
# credit: listens: ok
import socket

from attack import arg, attempt, hold, tell

with socket.socket(socket.AF_UNIX) as end:
    if arg("role") == "innocent":
        try:
            end.connect("\0service")
            end.sendall(arg("secret").encode())
        except OSError:
            pass  # Nobody serves it.
    else:
        attempt("listens", lambda: end.bind("\0service") or end.listen())
        hold("listening")
        end.setblocking(False)
        try:
            tell("heard", end.accept()[0].recv(100).decode())
        except BlockingIOError:
            tell("heard", "nothing")
