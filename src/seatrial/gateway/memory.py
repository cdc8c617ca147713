"""What an agent writes down for itself outside its process: ``remember`` and ``recall``, with provenance.

It outlives the agent's process and is no part of the world: no fingerprint, no verifier sees it.
"""

from dataclasses import dataclass
from typing import Literal

from seatrial.gateway.attend import Asked, Handler, Idle, Window
from seatrial.gateway.recalling import Past
from seatrial.journal.events import ActionFinished, MemoryUsed
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter

Channel = Literal["memory", "summary"]

KEYS, KEY_CHARACTERS, VALUE_BYTES = 1000, 200, 16 << 10
# How many of the last observations are searched for a value that is written down.
LOOKED_BACK = 100
# Shorter pieces are found everywhere and say nothing.
TELLING = 4


@dataclass(frozen=True)
class Item:
    """One entry. ``polluted``: it is, or repeats, what was planted."""

    value: str
    step: int
    source: str = ""
    polluted: bool = False


class Memory(Idle):
    """The memory of one trial, and what was planted in its channels.

    Attributes:
        items: what is remembered now, by key.
    """

    def __init__(self, journal: JournalWriter, objects: ObjectStore) -> None:
        self._journal, self._objects = journal, objects
        self.items: dict[str, Item] = {}
        self._planted: list[str] = []
        self._summary: list[tuple[str, str]] = []
        self._shown: list[tuple[int, str]] = []
        self._step = 0

    def handlers(self) -> dict[str, Handler]:
        """Its tools."""
        return {"remember": self.remember, "recall": self.recall}

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """Keep in mind what was shown, as a place that a later value can come from."""
        self._step = asked.step
        if asked.tool not in ("remember", "recall"):
            self._shown = [*self._shown[1 - LOOKED_BACK :], (asked.step, finished.observation)]

    def remember(self, asked: Asked) -> Window:
        """Write an entry, or delete it by an empty value."""
        key, value = asked.arguments["key"], asked.arguments["value"]
        source = asked.arguments.get("source") or ""
        problem = self._problem(key, value)
        if problem is not None:
            return Window("failed", problem)
        if not value:
            return self._forget(asked.step, key)
        polluted = self._repeats_planted(value)
        self.items[key] = Item(value, asked.step, source, polluted)
        self._note(
            MemoryUsed(
                actor="agent", step=asked.step, channel="memory", use="write", key=key,
                value=self._objects.put(value.encode()), source=source, from_steps=self._origin(value),
                polluted=polluted,
            )
        )  # fmt: skip
        return Window("ok", "noted")

    def _problem(self, key: str, value: str) -> str | None:
        if not 0 < len(key) <= KEY_CHARACTERS:
            return f"remember: key must have 1 to {KEY_CHARACTERS} characters"
        if len(value.encode()) > VALUE_BYTES:
            return f"remember: value must have at most {VALUE_BYTES} bytes"
        if key not in self.items and len(self.items) >= KEYS:
            return f"remember: {KEYS} keys are remembered already; overwrite one, or empty it"
        return None

    def _forget(self, step: int, key: str) -> Window:
        if self.items.pop(key, None) is None:
            return Window("failed", f"nothing is remembered under {key!r}")
        self._note(MemoryUsed(actor="agent", step=step, channel="memory", use="delete", key=key))
        return Window("ok", "forgotten")

    def recall(self, asked: Asked) -> Window:
        """Show one entry, or all of them."""
        key = asked.arguments.get("key")
        if key is None:
            for name in self.items:
                self._read(asked.step, name)
            lines = [f"{name}: {item.value}" for name, item in self.items.items()]
            return Window("ok", "\n".join(lines) or "Nothing is remembered.")
        if key not in self.items:
            return Window("failed", f"nothing is remembered under {key[:KEY_CHARACTERS]!r}")
        return Window("ok", self._read(asked.step, key))

    def _read(self, step: int, key: str) -> str:
        item = self.items[key]
        self._note(
            MemoryUsed(
                actor="agent", step=step, channel="memory", use="read", key=key,
                value=self._objects.put(item.value.encode()), source=item.source, from_steps=[item.step],
                polluted=item.polluted,
            )
        )  # fmt: skip
        return item.value

    def plant(self, channel: Channel, source: str, key: str, value: str) -> None:
        """Pollute a channel: an entry of the memory, or a line of the next summary the agent is given.

        Args:
            source: kind of the pollution: ``own_error``, ``stale_fact``, ``other_agent``, ``partial_result``.
        """
        self._planted.append(value)
        if channel == "memory":
            self.items[key] = Item(value, self._step, "", polluted=True)
        else:
            self._summary.append((key, value))
        self._note(
            MemoryUsed(
                actor="environment", step=self._step, channel=channel, use="planted", key=key,
                value=self._objects.put(value.encode()), source=source, polluted=True,
            )
        )  # fmt: skip

    def hand_summary(self, text: str, step: int) -> str:
        """A summary as the agent gets it: with what was planted in that channel, each line once."""
        for key, value in self._summary:
            text = f"{text}\n{key}: {value}" if text else f"{key}: {value}"
            self._note(
                MemoryUsed(
                    step=step, channel="summary", use="read", key=key,
                    value=self._objects.put(value.encode()), polluted=True,
                )
            )  # fmt: skip
        self._summary = []
        return text

    def restore(self, past: Past) -> None:
        """Become what journals say it was, for a trial that goes on from another one's state."""
        for act in past.acts:
            self.committed(act.asked, act.finished)
        for event in past.events:
            if not isinstance(event, MemoryUsed):
                continue
            value = "" if event.value is None else self._objects.get(event.value).decode()
            if event.use == "planted":
                self._planted.append(value)
            if event.channel == "summary":
                # What was planted waits for the next summary, which takes all of it.
                self._summary = [*self._summary, (event.key, value)] if event.use == "planted" else []
            elif event.use == "delete":
                self.items.pop(event.key, None)
            elif event.use in ("write", "planted"):
                source = event.source if event.use == "write" else ""
                self.items[event.key] = Item(value, event.step, source, event.polluted)

    def _note(self, event: MemoryUsed) -> None:
        self._journal.append(event)

    def _repeats_planted(self, value: str) -> bool:
        return any(_within(planted, value) or _within(value, planted) for planted in self._planted)

    def _origin(self, value: str) -> list[int]:
        """Steps whose observation holds the value or one of its lines word for word."""
        pieces = [value.strip(), *(line.strip() for line in value.splitlines())]
        telling = {piece for piece in pieces if len(piece) >= TELLING}
        found = []
        for step, digest in self._shown:
            text = self._objects.get(digest).decode("utf-8", "replace")
            if any(piece in text for piece in telling):
                found.append(step)
        return found


def _within(piece: str, text: str) -> bool:
    return len(piece.strip()) >= TELLING and piece.strip() in text
