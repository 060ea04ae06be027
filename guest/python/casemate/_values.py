"""Arguments and results of calls as JSON text, and back, with numbers that stay what they are."""

import json
import os
import re
from base64 import b64decode, b64encode
from decimal import Decimal
from math import isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn, Union

# Text in which a float could be too large for one: an exponent of three digits, or that many digits before
# the point.
_LARGE = re.compile(rb"[eE]\+?0*[1-9][0-9]{2}|[0-9]{300}")


def encode(arguments: "dict[str, Any]") -> bytes:
    """JSON of call arguments. A Decimal is a number of just its digits; bytes are base64 text.

    Raises TypeError for what JSON has no form for, ValueError for NaN, infinities and cycles.
    """
    mark = ""

    def other(value: "Any") -> "Any":
        nonlocal mark
        if isinstance(value, Decimal):
            if not value.is_finite():
                raise ValueError(f"{value} is not a number that can be sent")
            mark = mark or os.urandom(16).hex()  # So that no text of the program's can be taken for one.
            return f"{mark}{value}{mark}"
        if isinstance(value, (bytes, bytearray, memoryview)):
            return b64encode(value).decode()
        for name in ("isoformat", "__fspath__"):  # dates and times, paths
            if hasattr(type(value), name):
                return getattr(value, name)()
        if type(value).__module__ == "uuid":
            return str(value)
        if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError(
            f"a {type(value).__name__} cannot be sent: make it a str, number, list, dict, bytes, bool or None"
        )

    try:
        try:
            text = _COMPACT.encode(arguments)
        except TypeError:  # something that JSON alone has no form for
            text = json.dumps(arguments, default=other, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if mark:
        text = text.replace(f'"{mark}', "").replace(f'{mark}"', "")
    return text.encode()


def decode(text: bytes, typed: "list[str]") -> "Any":
    """The value of a result. `typed` says what is more than JSON knows: "decimal /rows/*/amount", "bytes /data",
    a kind and the place of such values, with * for every item of a list or object.

    Raises ValueError for a number that no float is near, and where a typed value is not of its kind.
    """
    large = _LARGE.search(text)
    if not typed and not large:
        return _PLAIN.decode(text.decode("utf-8", "surrogatepass"))
    decimals = any(entry.startswith("decimal ") for entry in typed)
    options: "dict[str, Any]" = {"parse_constant": _refuse}
    if decimals:
        options["parse_float"] = Decimal
    elif large:
        options["parse_float"] = _float
    try:
        value = json.loads(text, **options)
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError) or not str(error).startswith("Exceeds the limit"):
            raise
        # An integer of more digits than int() takes from text.
        value = json.loads(text, parse_int=lambda digits: int(Decimal(digits)), **options)
    if not typed:
        return value
    places = []
    for entry in typed:
        kind, _, place = entry.partition(" ")
        places.append((_KINDS[kind], [part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:]]))
    return _walk(value, places, _float_of if decimals else None)


def _refuse(name: str) -> "NoReturn":
    raise ValueError(f"{name} is not a number")


# Made once: json.dumps() and json.loads() make theirs anew for each text that has options, and a call waits for both.
_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_PLAIN = json.JSONDecoder(parse_constant=_refuse)


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text[:40]} is more than a float can hold")
    return value


def _float_of(value: Decimal) -> float:
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{str(value)[:40]} is more than a float can hold")
    return number


def _to_decimal(value: "Any") -> "Any":
    if value is None or isinstance(value, (dict, list, bool)):
        return value
    try:
        number = Decimal(value)
    except ArithmeticError:
        raise ValueError(f"{value[:40]!r} is not a decimal number") from None
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a decimal number")
    return number


def _to_bytes(value: "Any") -> "Any":
    return b64decode(value, validate=True) if isinstance(value, str) else value


_KINDS: "dict[str, Callable[[Any], Any]]" = {"decimal": _to_decimal, "bytes": _to_bytes}


def _walk(
    value: "Any",
    places: "list[tuple[Callable[[Any], Any], list[str]]]",
    plain: "Union[Callable[[Decimal], float], None]",
) -> "Any":
    for convert, rest in places:
        if not rest:
            return convert(value)
    if isinstance(value, Decimal):
        return plain(value) if plain else value
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _walk(item, _beneath(places, key), plain)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            value[index] = _walk(item, _beneath(places, str(index)), plain)
    return value


def _beneath(
    places: "list[tuple[Callable[[Any], Any], list[str]]]", key: str
) -> "list[tuple[Callable[[Any], Any], list[str]]]":
    return [(convert, rest[1:]) for convert, rest in places if rest[0] in (key, "*")] if places else places
