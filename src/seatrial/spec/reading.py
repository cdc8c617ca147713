"""Reads an input file into a struct; whatever is wrong with it becomes one clear ``SpecError``."""

import math
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import msgspec.inspect

from seatrial.errors import SpecError
from seatrial.spec.faults import Source, choose, shown

T = TypeVar("T")
Plain = dict[str, Any]

_AT = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<place>[^`]*)`)?", re.DOTALL)
_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_QUOTED = re.compile(r"`([^`]*)`")
_WORDS = {"object": "a table", "array": "an array", "int": "a whole number", "float": "a number",
          "str": "a string", "bool": "true or false"}  # fmt: skip


def read_bytes(path: Path) -> bytes:
    """The file's bytes.

    Raises:
        SpecError: it is absent, is a folder or cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as fault:
        raise SpecError(
            str(path), "", f"cannot be read: {fault.strerror or fault}", "Check the path and its permissions"
        ) from fault
    except ValueError as fault:
        raise SpecError(str(path), "", f"is no path: {fault}", "Give the path of a file") from fault


def read_text(path: Path, source: Source | None = None, place: str = "") -> str:
    """The file's text.

    Args:
        path: the file.
        source: the file that names it, when the error should point there.
        place: where it is named.

    Raises:
        SpecError: it cannot be read, or is not UTF-8; says at which byte.
    """
    data = read_bytes(path)
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        problem = f"byte {fault.start} (0x{data[fault.start]:02x}) is not UTF-8"
        if source is None:
            line = data.count(b"\n", 0, fault.start) + 1
            raise SpecError(str(path), f"line {line}", problem, "Save the file as UTF-8") from fault
        raise source.fault(place, f"{path.name}: {problem}", "Save that file as UTF-8") from fault


def read_toml(path: Path) -> Plain:
    """The file as plain data.

    Raises:
        SpecError: it cannot be read or is not TOML; names line and column.
    """
    return parse_toml(str(path), read_text(path))


def parse_toml(file: str, text: str) -> Plain:
    """Text as plain data.

    Args:
        file: what messages call it.
        text: its content.

    Raises:
        SpecError: it is not TOML; names line and column.
    """
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        place, problem = _toml_position(text, str(fault))
        raise SpecError(file, place, f"not TOML: {problem}", "Correct the syntax there") from fault
    except RecursionError:
        raise SpecError(file, "", "not readable: nested too deeply", "Flatten the arrays or tables") from None
    _refuse_odd_numbers(Source(file), "", plain)
    return plain


def _toml_position(text: str, message: str) -> tuple[str, str]:
    found = _POSITION.search(message)
    if found is None:
        return "", message
    problem = message[: found.start()]
    if found[1] is not None:
        line, column = int(found[1]), int(found[2])
    else:
        lines = text.rstrip("\n").split("\n")
        line, column = len(lines), len(lines[-1]) + 1
    written = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
    return f"line {line}, column {column}", f"{problem} in {shown(written)}" if written else problem


def _refuse_odd_numbers(source: Source, place: str, value: object) -> None:
    """TOML allows ``nan``, ``inf`` and integers that JSON readers round; none of them means anything here."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_odd_numbers(source, f"{place}.{key}" if place else str(key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_odd_numbers(source, f"{place}[{index}]", inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise source.fault(
            place, f"{value} is no usable number", "Write a finite number, or leave the key out"
        )
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise source.fault(place, f"{shown(value)} is too large", "Write a number that fits in 64 bits")


def check_schema(source: Source, plain: Plain, schema: str) -> None:
    """Refuse a file that is not of this schema, before anything else is said about it.

    Raises:
        SpecError: the key is missing or says something else.
    """
    if "schema" not in plain:
        raise source.fault("schema", "the key is missing", f"Begin the file with schema = {shown(schema)}")
    if plain["schema"] != schema:
        raise source.fault(
            "schema", f"{shown(plain['schema'])} is not known here", f"Write schema = {shown(schema)}"
        )


def convert(source: Source, plain: object, kind: type[T]) -> T:
    """Plain data as a struct.

    Raises:
        SpecError: an unknown or missing key, or a value of the wrong type, with its key path.
    """
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as fault:
        raise _explain(source, plain, kind, str(fault)) from fault


def _explain(source: Source, plain: object, kind: type, message: str) -> SpecError:
    found = _AT.fullmatch(message)
    problem, place = (found["problem"], found["place"] or "") if found else (message, "")
    key = (_QUOTED.findall(problem) or [""])[0]
    inside = f"{place}.{key}" if place else key
    if "unknown field" in problem:
        known = _known(kind, place)
        return source.fault(inside, f"unknown key {shown(key)}", choose(key, known, "a known key"))
    if "missing required field" in problem:
        return source.fault(inside, "the key is missing", f"Add {key} = … there")
    value = _value_at(plain, place)
    allowed = _known(kind, place)
    if "enum value" in problem:
        return source.fault(place, f"unknown value {shown(value)}", choose(value, allowed, "one of these"))
    wanted = " or ".join(_WORDS.get(word, word) for word in key.split(" | ") if word != "null")
    return source.fault(place, f"{shown(value)} has the wrong type", f"Write {wanted or problem}")


def _steps(place: str) -> list[str | int]:
    return (
        [int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place)]
        if (place)
        else []
    )


def _value_at(plain: Any, place: str) -> object:
    for step in _steps(place):
        try:
            plain = plain[step]
        except (KeyError, IndexError, TypeError):
            return None
    return plain


def _known(kind: type, place: str) -> list[str]:
    """Keys of the struct, or values of the literal, that a key path leads to."""
    node: msgspec.inspect.Type = msgspec.inspect.type_info(kind)
    for step in _steps(place):
        node = _into(node, step)
    node = _plain_type(node)
    if isinstance(node, msgspec.inspect.StructType):
        return [field.encode_name for field in node.fields]
    return [str(value) for value in node.values] if isinstance(node, msgspec.inspect.LiteralType) else []


def _plain_type(node: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """An optional type without its null."""
    if isinstance(node, msgspec.inspect.UnionType):
        return next(t for t in node.types if not isinstance(t, msgspec.inspect.NoneType))
    return node


def _into(node: msgspec.inspect.Type, step: str | int) -> msgspec.inspect.Type:
    node = _plain_type(node)
    if isinstance(node, msgspec.inspect.ListType):
        return node.item_type
    if isinstance(node, msgspec.inspect.StructType):
        return next((f.type for f in node.fields if f.encode_name == step), node)
    return node.value_type if isinstance(node, msgspec.inspect.DictType) else node
