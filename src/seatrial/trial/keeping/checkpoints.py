"""What an agent has persisted, outside its process: one state, replaced only by a whole newer one."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from seatrial.gateway.asked import readable
from seatrial.journal.events import CheckpointTaken
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter

Listener = Callable[[int], None]


class BadCheckpoint(Exception):
    """A request to persist something that cannot be kept; what was kept before stays."""


@dataclass(frozen=True)
class Kept:
    """What is there for a new process: bytes of the agent's own, or UTF-8 text."""

    step: int
    data: bytes
    state: str


class Checkpoints:
    """The persisted state of one trial's agent.

    Args:
        memory: the form that is offered.
        limit: bytes of it that are kept.

    Attributes:
        kept: the last one; null before any.
        listeners: called with the step when one was taken.
    """

    def __init__(
        self, journal: JournalWriter, objects: ObjectStore, memory: Literal["structured", "prose"],
        limit: int,
    ) -> None:  # fmt: skip
        self._journal, self._objects = journal, objects
        self.memory, self.limit = memory, limit
        self.kept: Kept | None = None
        self.listeners: list[Listener] = []

    def take(self, params: dict[str, Any], step: int, fingerprint: str) -> dict[str, int]:
        """Persist what an agent sent: the object first, then the line, and only then it counts.

        Args:
            params: ``state`` in base64 or ``text``, and ``size`` where the sender has cut it already.
            step: the last one that has ended.
            fingerprint: of the state it was taken on.

        Returns:
            How many bytes were kept and how many did not fit.

        Raises:
            BadCheckpoint: it is none, or not in the form that is offered.
        """
        data, size = self._read(params)
        whole, data = len(data), _cut(data, self.limit, self.memory)
        cut = max(size, whole) - len(data)
        state = self._objects.put(data)
        self._journal.append(
            CheckpointTaken(
                step=step, memory=self.memory, state=state, size=len(data), cut=cut, fingerprint=fingerprint
            )
        )
        self.kept = Kept(step, data, state)
        for listener in self.listeners:
            listener(step)
        return {"kept": len(data), "cut": cut}

    def _read(self, params: dict[str, Any]) -> tuple[bytes, int]:
        name = "state" if self.memory == "structured" else "text"
        value, size = params.get(name), params.get("size", 0)
        if not isinstance(value, str):
            raise BadCheckpoint(f"a {self.memory} checkpoint needs {name!r}, a string")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 63:
            raise BadCheckpoint("'size' must be a number of bytes")
        if self.memory == "prose":
            return readable(value).encode(), size
        try:
            return base64.b64decode(value, validate=True), size
        except (binascii.Error, ValueError) as fault:
            raise BadCheckpoint(f"'state' is no base64: {fault}") from fault


def _cut(data: bytes, limit: int, memory: str) -> bytes:
    """The first so many bytes; of text, whole characters."""
    kept = data[:limit]
    return kept if memory == "structured" else kept.decode("utf-8", "ignore").encode()
