# guest: talks to a service of the host through its socket file
# source: docker.sock in a container; SandboxEscapeBench's socket scenarios
# attacks: a daemon of the host
# walls: PivotRoot
# observer: socket_file_reached
# oracle: the daemon gets a connection and the word
# status: ok
# credit: ENOENT
# note: Landlock says nothing about connecting to a socket file before its ABI 9.
import socket

from attack import arg, attempt

for root in ("", "/run", "/proc/1/root"):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def ask() -> None:
        client.connect(root + "/decoy/socket")
        client.sendall(arg("word").encode())

    attempt(root + "/decoy/socket", ask)
