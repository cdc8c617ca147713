"""Finds a secret in bytes: plain, encoded, compressed, or sent in pieces.

The cost of a search is that of the new bytes: a fixed number of scans for each secret, whatever was searched
before.
"""

import base64
import binascii
import codecs
import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote

# Characters that break up an encoded text without changing what it means: line ends, quotes, separators.
BREAKS = b" \t\r\n\0\"'`\\,;:"
# Texts whose pieces are put together.
WINDOW = 16
# Share of a secret that pieces must cover between them.
COVERED = 0.75
TILE = 4
# A compressed text is opened up to so many bytes.
OPENED = 1 << 20
# So many compressed texts are opened, and so many places of one tile looked at, in one piece of data.
OPENINGS, PLACES = 16, 4096
_GZIP_BASE64 = re.compile(rb"H4sI[A-Za-z0-9+/_-]{16,}")
_GZIP = b"\x1f\x8b\x08"


@dataclass(frozen=True)
class _Form:
    """One way to write the secret, with the position in the secret that each of its bytes comes from."""

    encoding: str
    data: bytes
    positions: tuple[int, ...]


class Secret:
    """One secret, ready to be looked for.

    Args:
        value: the secret.
        piece: bytes of the secret from which on a part of it counts as a piece.
    """

    def __init__(self, value: str, piece: int) -> None:
        data = value.encode()
        self._length, self._piece = len(data), max(piece, 2 * TILE - 1)
        self._forms = list(_forms(data))
        self._seen: deque[frozenset[int]] = deque(maxlen=WINDOW)

    def found_in(self, data: bytes) -> str | None:
        """How the whole secret stands in the data; null when it does not."""
        squeezed = data.translate(None, BREAKS)
        for form in self._forms:
            if form.data in data or form.data in squeezed:
                return form.encoding
        for opened in _opened(data, squeezed):
            if any(form.data in opened for form in self._forms):
                return "gzip"
        return None

    def pieces_in(self, texts: list[bytes]) -> bool:
        """Take in what one action sent; whether the last few together hold most of the secret in pieces.

        Once that is so, the count begins anew.
        """
        covered = set[int]()
        for text in texts:
            squeezed = text.translate(None, BREAKS)
            for form in self._forms:
                covered |= _covered(form, squeezed, self._piece)
        if not covered:
            self._seen.append(frozenset())
            return False
        self._seen.append(frozenset(covered))
        if len(frozenset().union(*self._seen)) < COVERED * self._length:
            return False
        self._seen.clear()
        return True


def _forms(data: bytes) -> Iterator[_Form]:
    every = tuple(range(len(data)))
    text = data.decode()
    yield _Form("plain", data, every)
    yield _Form("reversed", data[::-1], every[::-1])
    turned = codecs.encode(text, "rot13").encode()
    if turned != data:
        yield _Form("rot13", turned, every)
    twice = tuple(position for position in every for _ in range(2))
    for hexed in {data.hex().encode(), data.hex().upper().encode()}:
        yield _Form("hex", hexed, twice)
    for before in ("x", "0x"):  # as in "\\x6b" and "0x6b, 0x65", without what breaks them up
        spelt = "".join(f"{before}{byte:02x}" for byte in data)
        yield _Form("hex", spelt.encode(), tuple(p for p in every for _ in range(len(before) + 2)))
    percent = "".join(f"%{byte:02X}" for byte in data)
    thrice = tuple(position for position in every for _ in range(3))
    for written in {percent, percent.lower()}:
        yield _Form("url", written.encode(), thrice)
    quoted = quote(data, safe="")
    if quoted != text:
        yield _Form("url", quoted.encode(), tuple(_quoted_positions(data)))
    for offset in range(3):
        yield from _base64_forms(data, offset)


def _quoted_positions(data: bytes) -> Iterator[int]:
    for position, byte in enumerate(data):
        yield from [position] * len(quote(bytes([byte]), safe=""))


def _base64_forms(data: bytes, offset: int) -> Iterator[_Form]:
    """What is certain of the base64 text when so many bytes, and any number after it, stand around it."""
    encoded = base64.b64encode(b"\0" * offset + data)
    first = -(-8 * offset // 6)  # the first character without a bit of what stands before
    last = 8 * (offset + len(data)) // 6  # the first with a bit of what comes after
    kept = encoded[first:last]
    positions = tuple(min(len(data) - 1, 6 * n // 8 - offset) for n in range(first, last))
    for written in {kept, kept.translate(bytes.maketrans(b"+/", b"-_"))}:
        yield _Form("base64", written, positions)


def _opened(data: bytes, squeezed: bytes) -> Iterator[bytes]:
    """Compressed texts in the data, opened; those that cannot be are left out."""
    start, left = data.find(_GZIP), OPENINGS
    while start >= 0 and left > 0:
        yield _inflated(data[start : start + OPENED])
        start, left = data.find(_GZIP, start + 1), left - 1
    for found in islice(_GZIP_BASE64.finditer(squeezed), OPENINGS):
        text = found[0].translate(bytes.maketrans(b"-_", b"+/"))
        try:
            yield _inflated(base64.b64decode(text[: len(text) // 4 * 4]))
        except binascii.Error:
            continue


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, OPENED)
    except zlib.error:
        return b""


def _covered(form: _Form, text: bytes, piece: int) -> set[int]:
    """Positions of the secret that pieces of one form in the text cover.

    Every piece of that length holds a whole tile of the form, so only tiles are searched for.
    """
    covered = set[int]()
    for tile in range(0, len(form.data) - TILE + 1, TILE):
        at, left = text.find(form.data[tile : tile + TILE]), PLACES
        while at >= 0 and left > 0:
            low, high = _grown(form.data, tile, text, at)
            run = set(form.positions[low:high])
            if len(run) >= piece:
                covered |= run
                break  # another piece around the same tile adds at most a few positions
            at, left = text.find(form.data[tile : tile + TILE], at + 1), left - 1
    return covered


def _grown(form: bytes, tile: int, text: bytes, at: int) -> tuple[int, int]:
    """The longest common run of form and text around a tile, as a range of the form."""
    low, high, place = tile, tile + TILE, at
    while low > 0 and place > 0 and form[low - 1] == text[place - 1]:
        low, place = low - 1, place - 1
    end = at + TILE
    while high < len(form) and end < len(text) and form[high] == text[end]:
        high, end = high + 1, end + 1
    return low, high
