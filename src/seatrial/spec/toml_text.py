"""Writes the little TOML that a task needs: the standard library reads it but does not write it."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def value_text(value: Any) -> str:
    """A value as TOML. Strings of several lines keep their lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return lines_text(value) if "\n" in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text(key)} = {value_text(each)}" for key, each in value.items()) + " }"
    return "[" + ", ".join(value_text(each) for each in value) + "]"


def key_text(key: str) -> str:
    return (
        key
        if key.isascii() and key.replace("_", "").replace("-", "").isalnum()
        else json.dumps(key, ensure_ascii=False)
    )


def lines_text(text: str) -> str:
    """A basic string over several lines. Every quote is escaped where it could end the string."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').replace("\r", "\\r")
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return f'"""\n{escaped}"""'


def read_toml(path: Path) -> dict[str, Any]:
    """A file of ours, read back."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def table_text(name: str, values: Mapping[str, Any]) -> str:
    """A table; named ``[step]``, one of an array of tables; without a name, top-level keys."""
    lines = [f"{key_text(key)} = {value_text(value)}" for key, value in values.items()]
    return "\n".join(([f"[{name}]"] if name else []) + lines) + "\n"
