"""One digest for the whole project: BLAKE3, 256 bits, lower-case hex."""

from typing import BinaryIO

import msgspec
from blake3 import blake3

PIECE = 1 << 20

_canonical = msgspec.json.Encoder(order="deterministic")


def digest_bytes(data: bytes) -> str:
    """Digest of raw bytes, 64 hex digits."""
    return blake3(data).hexdigest()


def digest_stream(file: BinaryIO) -> str:
    """Digest of what is left of an open file, read in pieces."""
    total = blake3()
    while piece := file.read(PIECE):
        total.update(piece)
    return total.hexdigest()


def canonical_json(value: object) -> bytes:
    """JSON with sorted keys and no spaces: equal values give equal bytes."""
    return _canonical.encode(value)


def digest_value(value: object) -> str:
    """Digest of a value's canonical JSON, 64 hex digits."""
    return digest_bytes(canonical_json(value))
