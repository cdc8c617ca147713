"""What endpoints send, read leniently: JSON of any depth, any size of numbers, content in both its forms."""

import json
import re
from typing import Any, NoReturn

# What is nested deeper is left out: every later step can walk through the rest.
LEVELS = 200
LEFT_OUT = json.dumps(f"[left out: values nested more than {LEVELS} deep]")
# Python turns no longer text into a whole number.
_DIGITS = 4000
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


def read_json(data: bytes | str) -> Any:
    """Decode JSON; numbers beyond what a float holds and values nested too deeply become a note.

    Raises:
        ValueError: it is no JSON.
    """
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    if text.count("[") + text.count("{") > LEVELS:
        text = _shallow(text)
    return json.loads(text, parse_constant=_refuse, parse_int=_whole, parse_float=_number)


def _shallow(text: str) -> str:
    """The text with what is nested more than ``LEVELS`` deep left out; what never closes stays unclosed."""
    pieces = list[str]()
    depth = done = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            if depth == LEVELS:
                pieces.append(text[done : token.start()])
                done = len(text)
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
            if depth == LEVELS:
                pieces.append(LEFT_OUT)
                done = token.end()
    return "".join([*pieces, text[done:]])


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _DIGITS else "[left out: a number that is too long]"


def _number(digits: str) -> float | str:
    number = float(digits)
    return number if abs(number) != float("inf") else "[left out: a number that is too large]"


def is_content(content: Any) -> bool:
    """Whether it can be a message's content: text, null, or a list of typed parts."""
    if not isinstance(content, list):
        return isinstance(content, str | None)
    return all(
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and (part["type"] != "text" or isinstance(part.get("text"), str))
        for part in content
    )


def text_of(content: Any) -> str | None:
    """The text of a message's content; of parts, what those of text hold, joined."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    return "".join(part["text"] for part in content if part["type"] == "text")
