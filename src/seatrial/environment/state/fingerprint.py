"""The fingerprint: a Merkle digest over the entries that differ from the base, cheap to keep up to date.

Entries fall into 4,096 leaves by the digest of their path; a leaf's digest covers its entries sorted by
path, 64 branches cover 64 leaves each, the root covers the base's digest and the branches. One changed path
costs one leaf, one branch and the root, whatever the size of the state; equal sets of entries give equal
fingerprints, in whatever order they came about.
"""

from blake3 import blake3

from seatrial.journal.digest import canonical_json
from seatrial.journal.entries import Entry

_FAN_OUT = 64
_EMPTY = bytes(32)


class Fingerprint:
    """Keeps the digest of a set of entries over a base.

    Args:
        base: digest of the base state.
    """

    def __init__(self, base: str) -> None:
        self._base = base.encode()
        self._leaves: dict[int, dict[str, bytes]] = {}
        self._leaf_digests: dict[int, bytes] = {}
        self._branch_digests: dict[int, bytes] = {}
        self._dirty: set[int] = set()
        self._own: set[int] = set()
        self._value: str | None = None

    def copy(self) -> "Fingerprint":
        """A fingerprint of the same set that changes on its own; leaves are shared until they change."""
        other = Fingerprint("")
        other._base, other._value = self._base, self.value()
        other._leaves = dict(self._leaves)
        other._leaf_digests, other._branch_digests = dict(self._leaf_digests), dict(self._branch_digests)
        self._own = set()
        return other

    def set(self, path: str, entry: Entry | None) -> None:
        """Say how a path differs from the base; null when it does not."""
        number = int.from_bytes(blake3(path.encode()).digest(2), "big") % (_FAN_OUT * _FAN_OUT)
        if number not in self._own:
            self._own.add(number)
            self._leaves[number] = dict(self._leaves.get(number, ()))
        leaf = self._leaves[number]
        if entry is None:
            leaf.pop(path, None)
        else:
            leaf[path] = blake3(canonical_json(entry.identity())).digest()
        self._dirty.add(number)
        self._value = None

    def value(self) -> str:
        """The fingerprint, 64 hex digits."""
        if self._value is not None:
            return self._value
        branches = set()
        for number in self._dirty:
            leaf = self._leaves.get(number)
            if leaf:
                self._leaf_digests[number] = blake3(b"".join(leaf[path] for path in sorted(leaf))).digest()
            else:
                self._leaf_digests.pop(number, None)
            branches.add(number // _FAN_OUT)
        for branch in branches:
            first = branch * _FAN_OUT
            leaves = [self._leaf_digests.get(first + i, _EMPTY) for i in range(_FAN_OUT)]
            if any(leaf is not _EMPTY for leaf in leaves):
                self._branch_digests[branch] = blake3(b"".join(leaves)).digest()
            else:
                self._branch_digests.pop(branch, None)
        self._dirty.clear()
        root = blake3(self._base)
        root.update(b"".join(self._branch_digests.get(i, _EMPTY) for i in range(_FAN_OUT)))
        self._value = root.hexdigest()
        return self._value
