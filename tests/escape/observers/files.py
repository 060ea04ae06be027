"""Observers of files: the host's, the image's and the layer's."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from guest_file import SLOW
from observers.base import Observer
from outer_box import DECOY

if TYPE_CHECKING:
    from watch import Run

IMAGE = DECOY / "image"  # the decoys inside the image, as the host sees them


class HostFileChanged(Observer):
    """A file of the host that anybody may write."""

    def prepare(self) -> None:
        (DECOY / "writable").write_text("bait\n")
        os.chmod(DECOY / "writable", 0o666)

    def verdict(self, run: Run) -> str | None:
        text = (DECOY / "writable").read_text()
        return f"the host's file says {text.strip()!r}" if text != "bait\n" else None


class SocketFileReached(Observer):
    """A daemon of the host that listens on a socket file."""

    def prepare(self) -> None:
        path = DECOY / "socket"
        path.unlink(missing_ok=True)
        self._daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._daemon.bind(str(path))
        os.chmod(path, 0o666)
        self._daemon.listen()
        self._daemon.setblocking(False)
        self.arguments = {"word": self.secret}

    def verdict(self, run: Run) -> str | None:
        try:
            connection, _ = self._daemon.accept()
        except BlockingIOError:
            return None
        with connection:
            return "the daemon was told" if connection.recv(100).decode() == self.secret else None

    def clean(self) -> None:
        self._daemon.close()
        super().clean()


class ConsoleWritten(Observer):
    """A FIFO below the host's /dev."""

    def prepare(self) -> None:
        self._reader = os.open("/dev/decoy-console", os.O_RDONLY | os.O_NONBLOCK)
        self.arguments = {"word": self.secret}

    def verdict(self, run: Run) -> str | None:
        return "the console got the word" if os.read(self._reader, 100).decode() == self.secret else None

    def clean(self) -> None:
        os.close(self._reader)
        super().clean()


class TerminalTyped(Observer):
    """A terminal of the host's, open to all, with nobody at its keyboard."""

    def prepare(self) -> None:
        self._keyboard, self._shell = os.openpty()
        name = os.ttyname(self._shell)
        os.chmod(name, 0o666)
        os.set_blocking(self._shell, False)
        self.arguments = {"terminal": name}

    def verdict(self, run: Run) -> str | None:
        try:
            return f"the terminal's shell reads {os.read(self._shell, 100)!r}"
        except OSError:
            return None

    def clean(self) -> None:
        os.close(self._keyboard)
        os.close(self._shell)
        super().clean()


class ImageChanged(Observer):
    """A file of the image that anybody may write, as every other box sees it."""

    def prepare(self) -> None:
        (IMAGE / "writable").write_text("bait\n")

    def verdict(self, run: Run) -> str | None:
        text = (IMAGE / "writable").read_text()
        return f"the image's file says {text.strip()!r}" if text != "bait\n" else None


class RootChanged(Observer):
    """A file of the box's root that the image does not have."""

    def held(self, pid: int, label: str) -> None:
        if Path(f"/proc/{pid}/root/decoy/owned").exists():
            self.seen.append("the box's root has a file more than the image")


class RootMoved(Observer):
    """The guest's root directory."""

    def held(self, pid: int, label: str) -> None:
        place = os.readlink(f"/proc/{pid}/root")
        if place.endswith("/jail"):
            self.seen.append(f"its root is {place}")


class ImageLocked(Observer):
    """The lock of a file of the image: can a neighbour still take it?"""

    place = IMAGE / "lock"

    def held(self, pid: int, label: str) -> None:
        with self.place.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.seen.append("a neighbour cannot take its lock")


class NullLocked(ImageLocked):
    """The lock of the host's /dev/null."""

    place = Path("/dev/null")


class LeaseHeld(Observer):
    """An open for writing of a file of the image, by its owner outside."""

    def held(self, pid: int, label: str) -> None:
        try:
            os.close(os.open(IMAGE / "lease", os.O_WRONLY | os.O_NONBLOCK))
        except BlockingIOError:
            self.seen.append("a neighbour's open has to wait for the lease")


class OpensKnown(Observer):
    """Eight files of the image, opened in an order that nobody inside can know."""

    def prepare(self) -> None:
        # Never the same one twice in a row: the kernel merges equal events.
        self._order: list[str] = []
        while len(self._order) < 8:
            name = f"door{random.randrange(4)}"
            if self._order[-1:] != [name]:
                self._order.append(name)

    def held(self, pid: int, label: str) -> None:
        for name in self._order:
            (IMAGE / name).read_bytes()

    def verdict(self, run: Run) -> str | None:
        wanted = "watched: " + " ".join(self._order)
        return "the order of a neighbour's opens came out" if wanted in run.text else None


class ReadsCounted(Observer):
    """Turns in which a neighbour reads a directory of the image, or does not."""

    def prepare(self) -> None:
        self._count = 0

    def held(self, pid: int, label: str) -> None:
        if random.random() < 0.5:
            os.listdir(IMAGE)
            self._count += 1

    def verdict(self, run: Run) -> str | None:
        if self._count and f"counted: {self._count}\\n" in run.text:
            return f"a neighbour's {self._count} reads were counted"
        return None


class NullOpensKnown(Observer):
    """Sixteen turns, in which a neighbour opens the host's /dev/null or does not."""

    place = Path("/dev/null")

    def prepare(self) -> None:
        self._turns = ""

    def held(self, pid: int, label: str) -> None:
        opens = random.random() < 0.5
        self._turns += "1" if opens else "0"
        if opens:
            os.close(os.open("/dev/null", os.O_RDONLY))

    def verdict(self, run: Run) -> str | None:
        return f"a neighbour's opens came out: {self._turns}" if f"turns: {self._turns}\\n" in run.text else None


class NullTouched(Observer):
    """The times of the host's /dev/null, which every box can read."""

    def prepare(self) -> None:
        os.utime("/dev/null", (1, 1))

    def verdict(self, run: Run) -> str | None:
        return "the host's /dev/null has another time" if os.stat("/dev/null").st_mtime != 1 else None


class SetidInLayer(Observer):
    """Set-id bits of files in the layer."""

    def held(self, pid: int, label: str) -> None:
        folder = f"/proc/{pid}/root/vol/work"
        for name in sorted(os.listdir(folder)):
            if os.lstat(f"{folder}/{name}").st_mode & (stat.S_ISUID | stat.S_ISGID):
                self.seen.append(name)

    def verdict(self, run: Run) -> str | None:
        return "set-id files made by " + ", ".join(self.seen) if self.seen else None


class DeviceInLayer(Observer):
    """Device nodes in the layer."""

    def held(self, pid: int, label: str) -> None:
        folder = f"/proc/{pid}/root/vol/work"
        for name in os.listdir(folder):
            mode = os.lstat(f"{folder}/{name}").st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                self.seen.append(f"a device node, {name}")


class CoreInLayer(Observer):
    """A core file in the layer."""

    def held(self, pid: int, label: str) -> None:
        self.seen += [f"a file {name}" for name in os.listdir(f"/proc/{pid}/root/vol/work") if name.startswith("core")]


class FileSizeAbove(Observer):
    """The apparent size of a file, above 1 MiB."""

    def held(self, pid: int, label: str) -> None:
        size = os.stat(f"/proc/{pid}/root/vol/work/big").st_size
        if size > 1 << 20:
            self.seen.append(f"a file of {size} bytes, granted {1 << 20}")


class Artifact(Observer):
    """A product of the box that leads to a secret of the host's: /vol/work/out/product.

    The control is a copier that opens the path as it stands.
    """

    path = "out/product"

    def prepare(self) -> None:
        (DECOY / "secret").write_text(self.secret + "\n")
        self.options = ["--artifact", self.path]

    def held(self, pid: int, label: str) -> None:
        try:
            text = Path(f"/proc/{pid}/root/vol/work/{self.path}").read_text()
        except OSError as error:
            text = str(error)
        if self.secret in text:
            self.control = "a copier that follows links reads the host's secret"

    def verdict(self, run: Run) -> str | None:
        copies = [path.read_text(errors="replace") for path in run.out.rglob("*") if path.is_file()]
        return "the secret was copied out" if any(self.secret in text for text in [*copies, run.text]) else None


class ArtifactBelow(Artifact):
    """The same through a directory."""

    path = "out/folder/secret"


class ArtifactForged(Artifact):
    """The same by paths that the guest declares; nothing may be written outside --out either."""

    def prepare(self) -> None:
        super().prepare()
        self.options = []

    def held(self, pid: int, label: str) -> None:
        # What a copier outside makes of the declared path when it takes it as it stands.
        if self.secret in Path(f"/proc/{pid}/root/vol/work/a/b", "/decoy/secret").read_text():
            self.control = "a copier that joins paths reads the host's secret"

    def verdict(self, run: Run) -> str | None:
        stray = [path for path in (DECOY, Path("/"), Path("/tmp")) if (path / "escaped").exists()]
        return f"a product was written to {stray[0]}" if stray else super().verdict(run)


class ArtifactPipe(Observer):
    """A product that is a pipe which nobody writes to. The control is an open of it, which waits."""

    def prepare(self) -> None:
        self.options = ["--artifact", "out/product"]

    def held(self, pid: int, label: str) -> None:
        path = f"/proc/{pid}/root/vol/work/out/product"
        reader = threading.Thread(target=lambda: os.close(os.open(path, os.O_RDONLY)))
        reader.start()
        reader.join(0.1)
        if reader.is_alive():
            self.control = "a copier that opens it waits for ever"
            os.close(os.open(path, os.O_WRONLY))
        reader.join()

    def verdict(self, run: Run) -> str | None:
        seconds = run.answer_seconds
        return f"the supervisor was held for {seconds:.1f} s" if seconds > 8 * SLOW else None
