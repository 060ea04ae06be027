"""casemate.artifact: puts a file on the run's manifest."""

from __future__ import annotations

import os
import stat

from casemate import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Union

    PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# What a reader is likely to open by its type; the mimetypes module would cost a table of thousands.
_MEDIA_TYPES = {
    "bmp": "image/bmp",
    "csv": "text/csv",
    "db": "application/vnd.sqlite3",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "gz": "application/gzip",
    "htm": "text/html",
    "html": "text/html",
    "ipynb": "application/x-ipynb+json",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "log": "text/plain",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
    "png": "image/png",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "py": "text/x-python",
    "sqlite": "application/vnd.sqlite3",
    "svg": "image/svg+xml",
    "tar": "application/x-tar",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}
_OTHER = "application/octet-stream"

_sent = 0


def artifact(
    path: PathLike, summary: Optional[str] = None, media_type: Optional[str] = None
) -> None:
    """Declares the file `path` a product of this run, to be kept after the box is gone.

    `summary` is one line for whoever reads the result, at most 200 characters; `media_type` is
    guessed from the name when it is not given. The file is collected when the run has ended, with
    what it then holds.

    Raises FileNotFoundError, IsADirectoryError, ValueError (not a regular file, not beneath /work,
    a malformed media type) and RuntimeError (too many, a child process, no run to report to).
    """
    full = located(path)
    if summary is not None and not isinstance(summary, str):
        raise TypeError(
            f"casemate.artifact: summary must be a str, not {type(summary).__name__}"
        )
    if media_type is None:
        media_type = guess(full)
    elif not (
        isinstance(media_type, str)
        and media_type.isascii()
        and media_type.count("/") == 1
        and media_type.isprintable()
        and " " not in media_type
        and len(media_type) <= 100
    ):
        raise ValueError(
            f"casemate.artifact: {media_type!r} is not a media type such as 'text/csv'"
        )
    send(full, summary or "", media_type, "declared")


def located(path: PathLike) -> bytes:
    """The absolute path of a regular file beneath /work (or /vol). Raises as artifact() does."""
    given = os.fsencode(path)
    shown = os.fsdecode(given)
    if not given or b"\0" in given:
        raise ValueError("casemate.artifact: the path is empty or holds a NUL")
    full = os.path.abspath(given)
    if full == b"/work" or full.startswith(b"/work/"):
        full = b"/vol" + full
    try:
        mode = os.lstat(full).st_mode
    except FileNotFoundError:
        from errno import ENOENT

        raise FileNotFoundError(
            ENOENT,
            "casemate.artifact: there is no such file (write and close it first)",
            shown,
        ) from None
    if stat.S_ISDIR(mode):
        from errno import EISDIR

        raise IsADirectoryError(
            EISDIR,
            "casemate.artifact: this is a directory; declare its files, or one archive of it",
            shown,
        )
    if stat.S_ISLNK(mode):
        raise ValueError(
            f"casemate.artifact: {shown!r} is a symbolic link, which is never followed; declare the file"
            " itself"
        )
    if not stat.S_ISREG(mode):
        raise ValueError(f"casemate.artifact: {shown!r} is not a regular file")
    # The layer is what outlives the box; a file elsewhere could only be announced, never kept.
    layer = os.path.dirname(os.path.realpath(os.fsencode(_wire.work)))
    if not os.path.realpath(full).startswith(layer + b"/"):
        raise ValueError(
            f"casemate.artifact: {shown!r} is not beneath /work; write it to /work/out"
        )
    return full


def guess(path: bytes) -> str:
    """The media type by the name's last extension."""
    extension = os.path.splitext(os.path.basename(path))[1][1:].lower()
    return _MEDIA_TYPES.get(os.fsdecode(extension), _OTHER)


def one_line(text: str, size: int = _wire.SUMMARY_MAX) -> str:
    """At most `size` characters on one line; what is not printable becomes an escape."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: size + 1])
    return shown if len(shown) <= size else shown[: size - 1] + "\u2026"


def send(path: bytes, summary: str, media_type: str, origin: str) -> None:
    """Sends one ARTIFACT frame. Raises RuntimeError when the manifest cannot take it."""
    global _sent
    channel = _wire.current
    if channel is None:
        raise RuntimeError(
            "casemate.artifact: this program does not run in a casemate box"
        )
    if not channel.owned():
        raise RuntimeError(
            "casemate.artifact: only the program's first process can declare; hand the path to it"
        )
    if _sent >= _wire.ARTIFACTS_MAX:
        raise RuntimeError(
            f"casemate.artifact: a run can declare {_wire.ARTIFACTS_MAX} files; pack some into one archive"
        )
    sent = channel.send(
        _wire.ARTIFACT,
        _wire.field(_wire.TAG_PATH, path)
        + _wire.text_field(
            _wire.TAG_NAME, os.path.basename(path).decode("utf-8", "backslashreplace")
        )
        + _wire.text_field(_wire.TAG_TEXT, one_line(summary))
        + _wire.field(_wire.TAG_MEDIA_TYPE, media_type.encode("ascii"))
        + _wire.field(_wire.TAG_ORIGIN, origin.encode("ascii")),
    )
    if not sent:
        raise RuntimeError(
            "casemate.artifact: the control socket (descriptor 3) is closed"
        )
    _sent += 1
