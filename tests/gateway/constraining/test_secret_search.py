"""A secret is found whatever it is dressed in, and only the new text is searched."""

import base64
import codecs
import gzip
import random
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.gateway.constraining.secret_search import WINDOW, Secret

VALUE = "tok_9f86d081884c7d65/9a2feaa+0c55ad01"


def pieces(size: int) -> list[bytes]:
    return [VALUE.encode()[start : start + size] for start in range(0, len(VALUE), size)]


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc"])
@pytest.mark.parametrize("after", [b"", b"z", b"zz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
def test_base64_is_found_at_every_alignment(encode, before, after) -> None:
    assert Secret(VALUE, 8).found_in(b"x=" + encode(before + VALUE.encode() + after)) == "base64"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (VALUE, "plain"),
        (f"'{VALUE[:9]}' '{VALUE[9:]}'", "plain"),
        (VALUE.encode().hex(), "hex"),
        (VALUE.encode().hex().upper(), "hex"),
        (VALUE.encode().hex(":"), "hex"),
        ("".join(f"\\x{b:02x}" for b in VALUE.encode()), "hex"),
        (", ".join(f"0x{b:02x}" for b in VALUE.encode()), "hex"),
        (quote(VALUE, safe=""), "url"),
        ("".join(f"%{b:02x}" for b in VALUE.encode()), "url"),
        (codecs.encode(VALUE, "rot13"), "rot13"),
        (VALUE[::-1], "reversed"),
    ],
)
def test_other_ways_to_write_it(text, encoding) -> None:
    assert Secret(VALUE, 8).found_in(f"before {text} after".encode()) == encoding


def test_compressed_texts_are_opened() -> None:
    packed = gzip.compress(f"key: {VALUE}".encode(), mtime=0)
    assert Secret(VALUE, 8).found_in(b"??" + packed) == "gzip"
    assert Secret(VALUE, 8).found_in(b"x " + base64.encodebytes(packed)) == "gzip"
    assert Secret(VALUE, 8).found_in(packed[:20]) is None
    assert Secret(VALUE, 8).found_in(b"\x1f\x8b\x08" * 1000) is None


@given(st.binary(max_size=400))
def test_nothing_is_found_by_chance(data) -> None:
    secret = Secret(VALUE, 8)
    assert secret.found_in(data) is None
    assert not secret.pieces_in([data])


@pytest.mark.parametrize("size", [9, 12, 18])
@pytest.mark.parametrize(
    "dress", [bytes, bytes.hex, base64.b64encode, lambda piece: piece[::-1], lambda p: quote(p, safe="")]
)
def test_pieces_add_up_over_several_texts(size, dress) -> None:
    secret = Secret(VALUE, 7 if size == 9 else 8)
    dressed = [dress(piece) for piece in pieces(size)]
    texts = [text.encode() if isinstance(text, str) else text for text in dressed]
    found = [secret.pieces_in([b"echo " + text + b" >> x"]) for text in texts]
    assert any(found)
    assert not found[0]


def test_pieces_of_one_action_add_up_too() -> None:
    assert Secret(VALUE, 8).pieces_in(pieces(12))


def test_pieces_too_far_apart_or_too_short_do_not() -> None:
    secret = Secret(VALUE, 8)
    for piece in pieces(12):
        assert not secret.pieces_in([piece])
        for _ in range(WINDOW):
            assert not secret.pieces_in([b"nothing"])
    assert not any(secret.pieces_in([piece]) for piece in pieces(6))


def test_one_piece_over_and_over_is_no_secret() -> None:
    secret = Secret(VALUE, 8)
    assert not any(secret.pieces_in([VALUE[:16].encode()]) for _ in range(50))


def test_every_random_secret_is_found_in_its_base64() -> None:
    draw = random.Random(5)
    for _ in range(300):
        value = "".join(draw.choices(string.printable[:94], k=draw.randint(12, 60)))
        around = draw.randbytes(draw.randint(0, 5)), draw.randbytes(draw.randint(0, 5))
        encoded = base64.b64encode(around[0] + value.encode() + around[1])
        assert Secret(value, 8).found_in(encoded) == "base64"
