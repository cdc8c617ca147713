"""The person at the terminal that a run was started from, asked while its trials wait."""

import os
import select
import termios
import time
from collections.abc import Callable

from rich.progress import Progress

from seatrial.cli.visible import visible
from seatrial.errors import UsageError
from seatrial.schedule.stopping import Stop
from seatrial.spec.loading import LoadedExperiment
from seatrial.trial.people.terminal import Prompt

TERMINAL = "/dev/tty"
LOOK_SECONDS = 0.25
LINE_BYTES = 1 << 16


class Terminal:
    """The controlling terminal, whatever this command's input and output are.

    What was typed before a question is thrown away: nobody allows what they have not seen.

    Attributes:
        bar: live display to be taken away while a question is open.
        stop: how often the run was asked to stop; the second time, an open question counts as unanswered.
    """

    def __init__(self) -> None:
        self._terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        self.bar: Progress | None = None
        self.stop = Stop()

    def answer(self, prompt: Prompt, gone: Callable[[], bool]) -> str | None:
        """Put a question; null when nobody answered in time or the trial is gone."""
        if self.bar is not None:
            self.bar.stop()
        try:
            termios.tcflush(self._terminal, termios.TCIFLUSH)
            told = self.stop.soon  # an interrupt from here on is told
            shown = f"{visible(prompt.show.rstrip())}\n" if prompt.show.strip() else ""
            self._write(f"\n[{visible(prompt.trial)}]\n{shown}{prompt.prompt}")
            return self._line(time.monotonic() + prompt.seconds, gone, told)
        finally:
            if self.bar is not None:
                self.bar.start()

    def _line(self, deadline: float, gone: Callable[[], bool], told: bool) -> str | None:
        while time.monotonic() < deadline and not gone() and not self.stop.now:
            if self.stop.soon and not told:
                told = True
                self._write("\n[interrupted: answer to let this trial end, or interrupt again] ")
            ready, _, _ = select.select([self._terminal], [], [], LOOK_SECONDS)
            if ready:
                data = os.read(self._terminal, LINE_BYTES)
                return data.decode("utf-8", "replace").rstrip("\r\n") if data else None
        self._write("\n[no longer asked]\n")
        return None

    def _write(self, text: str) -> None:
        view = memoryview(text.encode("utf-8", "replace"))
        while view:
            view = view[os.write(self._terminal, view) :]


def terminal_for(loaded: LoadedExperiment, workers: int) -> Terminal | None:
    """The terminal, for an experiment that asks a person there; null for others.

    Raises:
        UsageError: several attempts at once would ask one person, or there is no terminal.
    """
    human = loaded.spec.human
    if human.tier == "none" or human.by != "terminal":
        return None
    if workers != 1:
        raise UsageError(
            f'--workers {workers}: {loaded.path} asks a person at the terminal ([human] by = "terminal"), '
            "who can be asked by one trial at a time. Use --workers 1."
        )
    try:
        return Terminal()
    except OSError as fault:
        raise UsageError(
            f'{loaded.path}: [human] by = "terminal" asks a person at the terminal, and there is none '
            f'({fault.strerror}). Run it at a terminal, or write by = "scripted" with a script.'
        ) from fault
