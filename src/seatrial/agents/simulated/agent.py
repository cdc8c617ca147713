"""The simulated agent as the runtime starts it, and all it would do if it were shown nothing."""

from collections.abc import Generator
from typing import Any

from .actions import Move
from .course import Course
from .heeding import come_back, heed
from .prose import restore, told
from .state import read_state, write_state

# Moves after which there is no other.
LAST = ("finish", "give_up", "surface")
NOTHING = {"text": "", "outcome": "ok", "exit_code": None, "done": False}


def moves(config: dict[str, Any], seed: int) -> Generator[Move, None, None]:
    """All that the agent does, in order, its last word included, where no observation says anything.

    Args:
        config: the knobs, and ``steps``: subgoal, skill and actions of each; see ``spec.simulated``.
        seed: of the trial.
    """
    course = Course(config, seed)
    while True:
        move = course.next()
        yield move
        if move.kind in LAST:
            return
        heed(course, NOTHING)


class SimulatedAgent:
    """Plays its course one action at a time."""

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self._course = Course(config, seed)

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The next action, given how the last one ended."""
        return self.move(observation).action

    def move(self, observation: dict[str, Any]) -> Move:
        """The next action and why it is taken."""
        if "resumed" in observation and not self._course.state.resumed:
            # There was no state, or it was damaged.
            restore(self._course, observation["resumed"].get("text") or "")
        heed(self._course, observation)
        return self._course.next()

    def wants_checkpoint(self) -> bool:
        """Whether what it has in mind is to be kept before its action is carried out."""
        return self._course.state.careful

    def save(self) -> bytes:
        """All it has in mind, the action it has just chosen included."""
        return write_state(self._course.state).encode()

    def load(self, state: bytes) -> None:
        """Go on from what was saved; what is damaged is of no use, and the work begins anew."""
        saved = read_state(state.decode("utf-8", "replace"))
        if saved is not None:
            self._course.state = saved
            come_back(self._course)

    def summary(self) -> str:
        """Where it is, in words: without the action under way, keys, and what is half repaired."""
        return told(self._course)

    def compact(self, how: dict[str, Any]) -> dict[str, Any]:
        """Its context is what it was shown, and none of what it has in mind: nothing is lost with it."""
        return {"kept": ["goal", "facts", "progress"]}
