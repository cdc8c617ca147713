"""One digest for the whole project: BLAKE3, 256 bits, lower-case hex."""

import msgspec
from blake3 import blake3

_canonical = msgspec.json.Encoder(order="deterministic")


def digest_bytes(data: bytes) -> str:
    """Digest of raw bytes, 64 hex digits."""
    return blake3(data).hexdigest()


def canonical_json(value: object) -> bytes:
    """JSON with sorted keys and no spaces: equal values give equal bytes."""
    return _canonical.encode(value)


def digest_value(value: object) -> str:
    """Digest of a value's canonical JSON, 64 hex digits."""
    return digest_bytes(canonical_json(value))
