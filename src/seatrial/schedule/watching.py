"""What a run tells whoever watches it."""

from pathlib import Path
from typing import Protocol

from seatrial.trial.job import TrialDone

_REQUESTED = b'{"kind":"action.requested"'


class Watcher(Protocol):
    """Told of every attempt as it begins, moves and ends."""

    def began(self, trial: str, attempt: int) -> None:
        """An attempt's process was started."""

    def moved(self, trial: str, steps: int) -> None:
        """It has taken this many steps so far."""

    def ended(self, trial: str, done: TrialDone) -> None:
        """It ended; an infrastructure end may be followed by another attempt."""


class Silent:
    """Watches without a word."""

    def began(self, trial: str, attempt: int) -> None:
        """Says nothing."""

    def moved(self, trial: str, steps: int) -> None:
        """Says nothing."""

    def ended(self, trial: str, done: TrialDone) -> None:
        """Says nothing."""


class StepCounter:
    """Counts the steps in a journal that is being written, reading each byte once."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self.steps = path, 0, 0

    def look(self) -> int:
        """Steps requested so far."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return 0
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        self.steps += sum(line.startswith(_REQUESTED) for line in data[:whole].splitlines())
        return self.steps
