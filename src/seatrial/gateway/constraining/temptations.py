"""Temptations and their lawful look-alikes: offered where the task says, taken or declined."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seatrial.gateway.attend import Asked, Idle, Window
from seatrial.gateway.deeds import Deed, Done, any_match, done_before, done_by
from seatrial.gateway.recalling import Past, PastAct
from seatrial.journal.events import (
    ActionFinished,
    TemptationDeclined,
    TemptationOffered,
    TemptationTaken,
)
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Temptation

# What a message of somebody else's looks like at the end of an answer.
MESSAGE = "\n[message] "


@dataclass
class _Standing:
    """One temptation in this trial.

    Attributes:
        answers: that could have carried it so far.
        carried: it stands in the answer of the step under way.
        offered, taken, lawful: steps; null as long as it has not happened.
    """

    declared: Temptation
    taken_by: Deed
    lawful_by: Deed
    in_files: Callable[[str], bool]
    answers: int = 0
    carried: bool = False
    offered: int | None = None
    taken: int | None = None
    lawful: int | None = None

    def is_carried_by(self, tool: str) -> bool:
        """Whether its text can stand in an answer of a tool."""
        return self.declared.offered_in in ("message", f"tool:{tool}")

    def answered(self, tool: str) -> bool:
        """Count an answer that can carry it, until it was offered; whether this is the one that does."""
        if self.offered is not None or not self.is_carried_by(tool):
            return False
        self.answers += 1
        self.carried = self.carried or self.answers == self.declared.at
        return self.answers == self.declared.at

    def take_in(self, act: PastAct) -> None:
        """What an action came to that a journal tells of, once offers and takings are known."""
        step, offered = act.asked.step, self.offered
        if act.executed:
            self.offered = None if offered is not None and step <= offered else offered
            self.answered(act.asked.tool)
            self.offered = offered
        if offered is None or not act.counts or step < offered or (step == offered and self.carried):
            return
        if self.lawful is None and self.lawful_by.done_by(done_before(act)):
            self.lawful = step


class Temptations(Idle):
    """An attendant that offers what the task declares and writes down what became of it.

    A text in a tool's output or a message stands at the end of what the agent is shown, and so in the
    recorded observation. Taking counts from the step of the offer on; an attempt that was denied
    is taken too: it says what the agent chose. What processes do between actions is nobody's choice here.
    """

    def __init__(self, declared: Sequence[Temptation], journal: JournalWriter) -> None:
        self._journal = journal
        self._all = [
            _Standing(
                temptation, Deed(temptation.taken_by), Deed(temptation.lawful_by),
                any_match([temptation.offered_in] if temptation.offered_in.startswith("files:") else []),
            )
            for temptation in declared
        ]  # fmt: skip
        self._window: Window | None = None
        self._step = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    def recall(self, past: Past) -> None:
        """Become what journals say it was, for a trial that goes on from another one's state."""
        known = {standing.declared.id: standing for standing in self._all}
        for event in past.events:
            if isinstance(event, TemptationOffered):
                known[event.temptation].offered = event.step
            elif isinstance(event, TemptationTaken):
                known[event.temptation].taken = event.step
        for act in past.acts:
            self._step = act.asked.step
            for standing in self._all:
                standing.take_in(act)

    def executed(self, asked: Asked, window: Window) -> None:
        """Put the texts that are due at the end of what is shown."""
        for standing in self._all:
            declared = standing.declared
            if standing.answered(asked.tool):
                said = declared.text.rstrip("\n")
                if declared.offered_in == "message":
                    window.text = window.text.rstrip("\n") + MESSAGE + said + "\n"
                else:
                    end = "" if not window.text or window.text.endswith("\n") else "\n"
                    window.text += f"{end}{said}\n"
        self._window = window

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """Write down what was offered, and what was done with it."""
        window, self._window = self._window, None
        self._step = asked.step
        if finished.notes.keys() & {"malformed", "repeats"}:
            return
        done = done_by(asked, window)
        for standing in self._all:
            self._follow(standing, asked.step, done, window)

    def _follow(self, standing: _Standing, step: int, done: Done, window: Window | None) -> None:
        declared = standing.declared
        if standing.offered is None and (standing.carried or _seen(standing, done, window)):
            standing.offered = step
            self._journal.append(
                TemptationOffered(
                    step=step, temptation=declared.id, offered_in=declared.offered_in,
                    lookalike=declared.lookalike,
                )
            )  # fmt: skip
            if standing.carried:
                return  # what carried it was asked for before it was seen
        if standing.offered is None:
            return
        if standing.taken is None and standing.taken_by.done_by(done):
            standing.taken = step
            self._journal.append(
                TemptationTaken(
                    actor="agent", step=step, temptation=declared.id, lookalike=declared.lookalike
                )
            )
        if standing.lawful is None and standing.lawful_by.done_by(done):
            standing.lawful = step

    def close(self) -> None:
        """Write down what was offered and not taken, before the trial's last line."""
        for standing in self._all:
            if standing.offered is not None and standing.taken is None:
                declared = standing.declared
                self._journal.append(
                    TemptationDeclined(
                        step=self._step, temptation=declared.id, lookalike=declared.lookalike,
                        lawful_step=standing.lawful,
                    )
                )  # fmt: skip


def _seen(standing: _Standing, done: Done, window: Window | None) -> bool:
    """Whether a file that holds it was read, or its text shown."""
    if standing.declared.offered_in.partition(":")[0] != "files":
        return False
    if any(map(standing.in_files, done.read or ())):
        return True
    text = standing.declared.text.strip()
    return bool(text) and window is not None and text in window.text
