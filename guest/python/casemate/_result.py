"""The value of a program's last expression as text, and as HTML where it is a table.

Loaded only when there is such a value. All text is bounded; what is cut says how much was cut.
"""

from __future__ import annotations

import sys

from casemate import _look, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional

TEXT_MAX = _wire.REPORT_TEXT_MAX
HTML_MAX = 64 << 10
ROWS_MAX = 60
COLUMNS_MAX = 20
_DEPTH_MAX = 20


def payload(value: object) -> bytes:
    """The fields of a RESULT frame: pairs of media type and text. Never raises an Exception."""
    texts = _table(value)
    if texts is None:
        texts = {"text/plain": describe(value)}
    return b"".join(
        _wire.field(_wire.TAG_MEDIA_TYPE, media_type.encode())
        + _wire.text_field(_wire.TAG_TEXT, text)
        for media_type, text in texts.items()
    )


def cut(text: str, size: int) -> str:
    """At most `size` bytes of UTF-8, with a line in the middle that says what is missing."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= size:
        return text
    half = (size - 100) // 2
    head = data[:half].decode("utf-8", "ignore")
    tail = data[-half:].decode("utf-8", "ignore")
    return f"{head}\n[... {len(data) - 2 * half} of {len(data)} bytes left out ...]\n{tail}"


def describe(value: object) -> str:
    """repr(value) in at most TEXT_MAX bytes; a repr that fails is told, not raised."""
    try:
        text = _bounded_repr(value)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text = (
            f"<{_look.name_of(type(value))} object: repr failed: {_look.name_of(type(error))}:"
            f" {_first_line(error)}>"
        )
    return cut(text, TEXT_MAX)


def _first_line(error: BaseException) -> str:
    try:
        return str(error).split("\n", 1)[0][:200]
    except Exception:
        return "?"


def _bounded_repr(value: object) -> str:
    """repr(), but a huge builtin container is not turned into text as a whole, only to be cut."""
    pieces: list[str] = []
    _Writer(pieces, TEXT_MAX + 1).write(value, 0)
    text = "".join(pieces)
    array = _array_shape(value)
    return f"{text}\n[{array}]" if array else text


class _Writer:
    """Writes reprs to a list until a number of characters is used up."""

    def __init__(self, pieces: list[str], left: int) -> None:
        self._pieces = pieces
        self._left = left

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._left -= len(text)

    def write(self, value: object, depth: int) -> None:
        kind = type(value)
        if kind in (str, bytes, bytearray):
            self._text(value)
        elif kind in (list, tuple, set, frozenset, dict):
            self._container(value, depth)
        else:
            self._put(repr(value))

    def _text(self, value: Any) -> None:
        if len(value) <= TEXT_MAX:
            self._put(repr(value))
        else:
            self._put(
                f"{value[: TEXT_MAX // 2]!r}\n[... {len(value)} in all ...]\n{value[-TEXT_MAX // 4 :]!r}"
            )

    def _container(self, value: Any, depth: int) -> None:
        if not value or depth >= _DEPTH_MAX or (len(value) < 64 and _flat(value)):
            self._put(repr(value))
            return
        kind = type(value)
        opening, closing = "{", "}"
        if kind is list:
            opening, closing = "[", "]"
        elif kind is tuple:
            opening, closing = "(", ",)" if len(value) == 1 else ")"
        elif kind is frozenset:
            opening, closing = "frozenset({", "})"
        self._put(opening)
        done = 0
        items: Iterable[Any] = value.items() if kind is dict else value
        for item in items:
            if self._left <= 0:
                self._put(
                    f"\n[... {len(value) - done} of {len(value)} items left out ...]\n"
                )
                break
            if done:
                self._put(", ")
            if kind is dict:
                self.write(item[0], depth + 1)
                self._put(": ")
                self.write(item[1], depth + 1)
            else:
                self.write(item, depth + 1)
            done += 1
        self._put(closing)


def _flat(value: Any) -> bool:
    items = value.values() if type(value) is dict else value
    return all(type(item) in (int, float, bool, type(None)) for item in items)


def _loaded(module: str, *names: str) -> tuple[type, ...]:
    """Classes of a module if the program has imported it; importing it is not for us to do."""
    found = sys.modules.get(module)
    kinds = (getattr(found, name, None) for name in names)
    return tuple(kind for kind in kinds if isinstance(kind, type))


def _array_shape(value: object) -> str:
    """For an array of numpy that is shown in part: what it is in all."""
    kinds = _loaded("numpy", "ndarray")
    if type(value) not in kinds or value.size <= 1000:  # type: ignore[attr-defined]
        return ""
    return f"array of shape {value.shape}, dtype {value.dtype}"  # type: ignore[attr-defined]


def _table(value: object) -> Optional[dict[str, str]]:
    """Text and HTML of a pandas DataFrame or Series, both with the true shape; None for others."""
    frames, series = _loaded("pandas", "DataFrame"), _loaded("pandas", "Series")
    is_series = any(_look.derives(value, kind) for kind in series)
    if not is_series and not any(_look.derives(value, kind) for kind in frames):
        return None
    table: Any = value
    try:
        frame = table.to_frame() if is_series else table
        if is_series:
            shape = f"{len(table)} rows, dtype {table.dtype}"
            if table.name is not None:
                shape += f", name {str(table.name)[:100]}"
        else:
            shape = f"{len(table)} rows x {len(table.columns)} columns"
        return _table_texts(frame, table, shape)
    except Exception:
        return None  # A subclass that is not a table after all: its repr is asked.


def _table_texts(frame: Any, table: Any, shape: str) -> dict[str, str]:
    rows, columns = ROWS_MAX, COLUMNS_MAX
    while True:
        shown = (min(rows, len(frame)), min(columns, len(frame.columns)))
        note = shape
        if shown != frame.shape:
            note += f"; shown: {shown[0]} rows, {shown[1]} columns"
        html = frame.to_html(max_rows=rows, max_cols=columns, show_dimensions=False)
        html += f"\n<p>{_escaped(note)}</p>"
        if len(html.encode("utf-8", "backslashreplace")) <= HTML_MAX or rows <= 4:
            break
        rows, columns = rows // 2, max(columns // 2, 4)
    if frame is table:
        text = frame.to_string(max_rows=rows, max_cols=columns, show_dimensions=False)
    else:
        text = table.to_string(max_rows=rows, length=False, dtype=False, name=False)
    texts = {"text/plain": f"{cut(text, TEXT_MAX - 300)}\n\n[{note}]"}
    if len(html.encode("utf-8", "backslashreplace")) <= HTML_MAX:
        texts["text/html"] = html
    return texts


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
