"""Answers by idempotency key: the same request under the same key is answered again and not done again."""

from dataclasses import dataclass
from typing import Any

from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.recalling import Past
from seatrial.journal.digest import digest_value
from seatrial.journal.events import Outcome
from seatrial.journal.objects import ObjectStore

# Characters of a name an agent made up that are said back to it.
SHOWN_NAME = 80
# Notes of an action whose answer is not the last word: its agent died, it was kept from running, or a service
# failed, which knows by its own ledger what it has done.
UNTOLD = frozenset({"killed", "kept_from_running", "fault"})
# The object with the whole answer, in the notes of an action of which less or more was shown.
ORIGINAL = "original"


@dataclass(frozen=True)
class _Answer:
    """What is kept of an answer under its key: the text lies in the object store."""

    asked: str
    step: int
    shown: str
    outcome: Outcome
    exit_code: int | None


class Answers:
    """The answers of one trial.

    Args:
        objects: where their texts lie.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._known: dict[str, _Answer] = {}

    def again(self, asked: Asked) -> Window | None:
        """The first answer to a repeated key; null for a new one."""
        answer = self._known.get(asked.key) if asked.key is not None else None
        if answer is None or asked.key is None:
            return None
        if answer.asked != _digest(asked.tool, asked.arguments):
            problem = f"the key {asked.key[:SHOWN_NAME]!r} was given to another request before"
            return Window("failed", problem, notes={"malformed": True})
        text = self._objects.get(answer.shown).decode("utf-8", "surrogatepass")
        return Window(answer.outcome, text, answer.exit_code, notes={"repeats": answer.step})

    def keep(self, asked: Asked, window: Window, shown: str) -> None:
        """Keep a first answer. Asked again after an outcome that tells nothing, the world must answer."""
        if asked.key is not None and _tells(window.outcome, window.notes):
            asked_for = _digest(asked.tool, asked.arguments)
            whole = window.notes.get(ORIGINAL, shown)
            answer = _Answer(asked_for, asked.step, whole, window.outcome, window.exit_code)
            self._known.setdefault(asked.key, answer)

    def recall(self, past: Past) -> None:
        """Know the answers that were given before, for a trial that goes on from another one's state."""
        for act in past.acts:
            asked, done = act.asked, act.finished
            if asked.key is not None and _tells(done.outcome, done.notes):
                whole = done.notes.get(ORIGINAL, done.observation)
                asked_for = _digest(asked.tool, asked.arguments)
                answer = _Answer(asked_for, asked.step, whole, done.outcome, done.exit_code)
                self._known.setdefault(asked.key, answer)


def _tells(outcome: Outcome, notes: dict[str, Any]) -> bool:
    return outcome != "unknown" and not notes.keys() & UNTOLD


def _digest(tool: str, arguments: dict[str, Any]) -> str:
    return digest_value([tool, arguments])
