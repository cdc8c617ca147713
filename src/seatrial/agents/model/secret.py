"""The key of an endpoint, and how it is kept out of everything that is written or shown."""

import base64
import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from seatrial.errors import UsageError
from seatrial.gateway.asked import readable
from seatrial.spec.chat import ChatOptions

REDACTED = "[redacted]"
# Every occurrence of the key is replaced, so one as short as a word would take words out of the record.
SHORTEST = 8
# A piece of the key is taken out from half its length on, but from this many characters in any case.
LONGEST_PIECE = 16
# One character as texts may spell it, however often they were put into other texts: JSON, a URL, HTML.
_ESCAPE = re.compile(
    r"""\\+(?:u00|x)(?P<code>[0-9a-f]{2}) | %(?:25)*(?P<url>[0-9a-f]{2})
    | &(?:amp;)*(?:\#x0*(?P<hex>[0-9a-f]{2}) | \#0*(?P<number>[0-9]{2,3}) | (?P<name>quot|apos|lt|gt|amp));
    | \\+(?P<self>["'/\\])""",
    re.VERBOSE | re.IGNORECASE,
)
_NAMED = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&"}
# The beginning of such a spelling, where a text was cut.
_BEGUN = re.compile(r"(?:(?<!\\)\\+(?:[ux][0-9a-f]{0,3})?|%[0-9a-f]{0,2}|&[#a-z0-9;]{0,12})\Z", re.IGNORECASE)

# Bytes before the key, and how many characters of its base64 hold bits of them.
_ALIGNED = ((0, 0), (1, 2), (2, 3))


class _Plain:
    """A text with every escape resolved, which knows where each character stood."""

    def __init__(self, text: str) -> None:
        pieces = list[str]()
        self._reached, self._stood = [0], [0]
        done = length = 0
        for found in _ESCAPE.finditer(text):
            pieces += [text[done : found.start()], _resolved(found)]
            length += found.start() - done
            self._reached += [length, length + 1]
            self._stood += [found.start(), found.end()]
            done, length = found.end(), length + 1
        self.text = "".join([*pieces, text[done:]])

    def stood(self, index: int) -> int:
        """Where in the original the character of an index began; for the length, where the text ended."""
        last = bisect_right(self._reached, index) - 1
        return self._stood[last] + index - self._reached[last]


def _resolved(found: re.Match[str]) -> str:
    if (code := found["code"] or found["url"] or found["hex"]) is not None:
        return chr(int(code, 16))
    if found["number"] is not None:
        return chr(int(found["number"]))
    return found["self"] or _NAMED[found["name"].lower()]


class _Form:
    """One way to write the key.

    Attributes:
        text: with its escapes resolved, as in ``_Plain``.
    """

    def __init__(self, text: str, least: int) -> None:
        self.text = text
        self._least = min(least, len(text))
        # A piece of the least length holds one of these whole, wherever it begins.
        size = (self._least + 1) // 2
        self._blocks = [(at, text[at : at + size]) for at in range(0, len(text) - size + 1, size)]

    def pieces(self, plain: str) -> Iterator[tuple[int, int]]:
        """Begin and end of every piece of at least the least length."""
        for at, block in self._blocks:
            begin = plain.find(block)
            while begin >= 0:
                low, high = self._extent(plain, begin, at, len(block))
                if high - low >= self._least:
                    yield low, high
                    begin = plain.find(block, high)
                else:
                    begin = plain.find(block, begin + 1)

    def _extent(self, plain: str, begin: int, at: int, size: int) -> tuple[int, int]:
        """How far to both sides of a block the text goes on like the form."""
        before, low = at, begin
        while before > 0 and low > 0 and plain[low - 1] == self.text[before - 1]:
            before, low = before - 1, low - 1
        after, high = at + size, begin + size
        while after < len(self.text) and high < len(plain) and plain[high] == self.text[after]:
            after, high = after + 1, high + 1
        return low, high

    def begun(self, plain: str) -> int:
        """How many characters at the end of a text may be the form's beginning."""
        lengths = range(min(len(self.text), len(plain)), 0, -1)
        return next((length for length in lengths if plain.endswith(self.text[:length])), 0)


class Secret:
    """A key, or none. Its text is in no ``repr``.

    Taken out is the key, and every piece from half its length on (at least 8 characters, and from 16 in any
    case), plain or in base64, however its characters are escaped.
    """

    def __init__(self, key: str | None) -> None:
        self._key = key
        self._forms: list[_Form] = [] if key is None else _forms(key)

    def headers(self) -> dict[str, str]:
        """What a request carries."""
        return {} if self._key is None else {"Authorization": f"Bearer {self._key}"}

    def text(self, text: str) -> str:
        """The text without the key, and without halves of surrogate pairs, which no file could hold."""
        text = readable(text)
        if not self._forms:
            return text
        plain = _Plain(text)
        kept, done = list[str](), 0
        for low, high in sorted(piece for form in self._forms for piece in form.pieces(plain.text)):
            begin, end = plain.stood(low), plain.stood(high)
            if begin >= done:
                kept += [text[done:begin], REDACTED]
            done = max(done, end)
        return "".join([*kept, text[done:]])

    def value(self, value: Any) -> Any:
        """A decoded JSON value without the key in any of its strings, names and numbers."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and self.text(written := json.dumps(value)) != written:
            return REDACTED
        return value

    def bytes(self, data: bytes, whole: bool) -> bytes:
        """Bytes of any kind without the key; from the end of cut ones goes what may be its beginning."""
        text = data.decode("utf-8", "replace")
        if whole or not self._forms:
            text = self.text(text)
        else:
            text = self.text(_BEGUN.sub("", text))
            plain = _Plain(text)
            begun = max(form.begun(plain.text) for form in self._forms)
            text = text[: plain.stood(len(plain.text) - begun)]
        return text.encode()


def _forms(key: str) -> list[_Form]:
    """The key as it is, and what base64 makes of it at any place in a longer text."""
    least = max(SHORTEST, min(LONGEST_PIECE, (len(key) + 1) // 2))
    coded = [base64.b64encode(bytes(before) + key.encode()).decode()[skip:] for before, skip in _ALIGNED]
    coded += [text.replace("+", "-").replace("/", "_") for text in coded]
    texts = {key: least, **dict.fromkeys(coded, least * 4 // 3)}
    return [_Form(_Plain(text).text, long) for text, long in texts.items()]


def endpoint_key(options: ChatOptions) -> Secret:
    """The key as the environment of this process has it.

    Raises:
        UsageError: the variable is not set or holds no usable key; its value is not shown.
    """
    name = options.api_key_env
    if name is None:
        return Secret(None)
    key = os.environ.get(name, "")
    if not key:
        raise UsageError(f"the environment variable {name} is not set. Set it to the key of the endpoint.")
    usable = key.isascii() and key.isprintable() and " " not in key
    if not usable or len(_Plain(key).text) < SHORTEST:
        raise UsageError(
            f"the environment variable {name} holds no usable key: it must be at least {SHORTEST} plain "
            "characters. Set it again, or leave api_key_env out for an endpoint that wants none."
        )
    return Secret(key)
