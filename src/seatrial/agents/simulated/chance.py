"""Chance has names: what a decision draws depends on the seed and its own name, never on its turn."""

import hashlib
from typing import Protocol

_FRACTION_BITS = 53
_FRACTIONS = 1 << _FRACTION_BITS


class Draw(Protocol):
    """A number in [0, 1) for a decision's name."""

    def __call__(self, *decision: str | int) -> float: ...


def uniform(seed: int, *decision: str | int) -> float:
    """A number in [0, 1) that seed and decision determine; independent for different decisions."""
    name = "\0".join(map(str, (seed, *decision))).encode()
    digest = hashlib.blake2b(name, digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> (64 - _FRACTION_BITS)) / _FRACTIONS
