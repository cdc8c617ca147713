"""Choices from a seed and a name. ``random`` is free to change its methods between releases; this is not."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of choices: SHA-256 of (seed, name, counter), the same on every machine and Python.

    Args:
        seed: the instance's seed.
        name: keeps streams of one seed apart, so that one part can change without moving the others.
    """

    def __init__(self, seed: int, name: str) -> None:
        self._key = f"{seed}:{name}"
        self._count = 0

    def below(self, bound: int) -> int:
        """An integer in [0, bound)."""
        self._count += 1
        digest = hashlib.sha256(f"{self._key}:{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % bound

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]

    def numbers(self, count: int, low: int = 0, high: int = 9) -> list[int]:
        """That many integers in [low, high]."""
        return [self.between(low, high) for _ in range(count)]
