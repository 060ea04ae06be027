# guest: fills the disk with files, none of them large
# source: tmpfs(5), size; judges that limit the size of a file and not of all
# attacks: the host's disk or memory
# walls: DiskLimit
# observer: disk_taken
# oracle: what the layer holds, asked from outside, is more than granted
# status: ok
# credit: ENOSPC
# options: --disk 4MiB
from attack import attempt, hold

for number in range(16):
    with open("/vol/work/file%d" % number, "wb", 0) as file:
        attempt("write", lambda: file.write(bytes(512 << 10)))
    with open("/tmp/file%d" % number, "wb", 0) as file:
        attempt("write", lambda: file.write(bytes(512 << 10)))
hold("full")
