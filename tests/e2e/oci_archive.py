"""OCI image archives for tests: made of tar files that may be wrong in any way."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
_TYPE = "application/vnd.oci.image."


def digest_of(data: bytes) -> str:
    """As descriptors spell it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layer:
    """One layer's tar file, entry by entry."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115

    def add(self, name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, target: str = "",
            mode: int = 0o644, pax: dict[str, str] | None = None) -> Layer:  # fmt: skip
        """One entry, with its name as it is given."""
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname, entry.mode, entry.size = kind, target, mode, len(content)
        entry.uid = entry.gid = 1000
        entry.pax_headers = pax or {}
        self._tar.addfile(entry, io.BytesIO(content))
        return self

    def add_tree(self, root: Path, paths: list[str]) -> Layer:
        """What stands below `root` at these paths, and the directories that hold it."""
        for path in paths:
            self._tar.add(root / path, arcname=path)
        return self

    @property
    def data(self) -> bytes:
        """The whole tar file."""
        self._tar.close()
        return self._bytes.getvalue()


@dataclass
class Archive:
    """An OCI image layout in a tar file. `files` come in place of what is made of the layers, or beside it."""

    layers: list[Layer]
    packed: bool = False
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Writes the archive and returns its path."""
        unpacked = [layer.data for layer in self.layers]
        blobs = [gzip.compress(data, 1, mtime=0) if self.packed else data for data in unpacked]
        rootfs = {"type": "layers", "diff_ids": [digest_of(data) for data in unpacked]}
        config = json.dumps({"os": "linux", "architecture": ARCHITECTURE, "rootfs": rootfs}).encode()
        kind = "layer.v1.tar+gzip" if self.packed else "layer.v1.tar"
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "config": _descriptor("config.v1+json", config),
                "layers": [_descriptor(kind, blob) for blob in blobs],
            }
        ).encode()
        index = {"schemaVersion": 2, "manifests": [_descriptor("manifest.v1+json", manifest)]}
        files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode()}
        files |= {"blobs/sha256/" + digest_of(blob)[7:]: blob for blob in [config, manifest, *blobs]}
        with tarfile.open(path, "w") as tar:
            for name, data in (files | self.files).items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        return path


def _descriptor(kind: str, data: bytes) -> dict[str, object]:
    return {"mediaType": _TYPE + kind, "digest": digest_of(data), "size": len(data)}
