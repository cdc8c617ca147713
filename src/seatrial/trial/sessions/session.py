"""A person's session on a task: what the person's terminal and the process that holds the trial say.

The process is like any trial's (``trial.worker``), with private mounts that die with it; it serves requests
in place of starting an agent.
"""

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, Literal

import msgspec

from seatrial.errors import EnvironmentFault, SeatrialError
from seatrial.gateway.attend import Observation
from seatrial.journal.entries import Entry
from seatrial.journal.events import ConstraintViolated, StopReason
from seatrial.records.verdicts import VerdictRow
from seatrial.trial.job import TrialDone, TrialJob

MODULE = "seatrial.trial.sessions.process"
PROBLEMS = 1 << 20
TICK_SECONDS = 0.05
_MARK = struct.Struct(">Q")


class Ask(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One request, one JSON line.

    Attributes:
        what: ``act`` through the gateway; ``verify`` the state as it is; ``look`` at it; ``leave`` the trial.
        tool, arguments: for ``act``.
        subgoals: for ``verify``.
    """

    what: Literal["act", "verify", "look", "leave"]
    tool: str = ""
    arguments: dict[str, Any] = {}
    subgoals: list[str] = []


class Answer(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What came of it, one JSON line; the first one, unasked, says that the world is ready.

    Attributes:
        step: actions so far.
        fingerprint: of the state.
        stop_reason: why the trial has ended; no further request is answered then.
        observation: what an action showed.
        changed: whether the action changed the state.
        alive: processes it left behind.
        verdicts: in the order they were asked for.
        changes: how the state differs from the base, by path; ``absent`` for what is gone.
        used: what was spent, by the budget's resource.
        broken: violations of constraints since the answer before.
    """

    step: int
    fingerprint: str
    stop_reason: StopReason | None = None
    observation: Observation | None = None
    changed: bool = False
    alive: int = 0
    verdicts: list[VerdictRow] = []
    changes: list[Entry] = []
    used: dict[str, float] = {}
    broken: list[ConstraintViolated] = []


class Session:
    """The terminal's end of a session. Close it, or use it in a ``with`` block; it ends with this process.

    Args:
        job: the attempt.

    Raises:
        EnvironmentFault: the world could not be made.
    """

    def __init__(self, job: TrialJob) -> None:
        self.done: TrialDone | None = None
        self._problems = os.memfd_create("problems")
        self._marks = os.memfd_create("interrupts")
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, str(os.getpid()), str(self._marks)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._problems, process_group=0,
            pass_fds=[self._marks],
        )  # fmt: skip
        self._send(job)
        self.start = self._receive()
        if self.done is not None:
            self.close()
            raise EnvironmentFault(self.done.note or f"the session ended at once: {self.done.stop_reason}.")

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Ask, interruptible: bool = False) -> Answer:
        """Send a request and wait for what comes of it.

        When the trial ends with it, ``done`` is set and the trial has been judged.

        Args:
            interruptible: an interrupt meanwhile ends the request's action, from its very beginning on, and
                not this process.

        Raises:
            SeatrialError: the process ended without having said so.
        """
        self._number += 1
        with self._interrupts_marked() if interruptible else nullcontext():
            self._send(request)
            answer = self._receive()
            if answer.stop_reason is not None and self.done is None:
                self._receive()
        return answer

    @contextmanager
    def _interrupts_marked(self) -> Iterator[None]:
        """While in here, interrupts are for the request under way: its number is written down."""

        def mark(number: int, frame: FrameType | None) -> None:
            mark_interrupt(self._marks, self._number)

        before = signal.signal(signal.SIGINT, mark)
        try:
            with ticking(lambda: None):
                yield
        finally:
            signal.signal(signal.SIGINT, before)

    def close(self) -> None:
        """End the process, if need be at once: its mounts and its sandbox go with it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if self.done is None:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        os.close(self._problems)
        os.close(self._marks)

    def _send(self, message: TrialJob | Ask) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(message) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _receive(self) -> Answer:
        """The next answer; the last word of the process is how the trial ended, which goes to ``done``."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._died()
        said = msgspec.json.decode(line, type=Said)
        if said.done is not None:
            self.done = said.done
        return said.answer or Answer(step=0, fingerprint="")

    def _died(self) -> SeatrialError:
        self._process.kill()
        status = self._process.wait()
        said = os.pread(self._problems, PROBLEMS, 0).decode(errors="replace").strip().splitlines()
        return SeatrialError(said[-1] if said else f"the session's process ended with status {status}.")


class Said(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One line from the process: an answer, or at the very end how the trial ended."""

    answer: Answer | None = None
    done: TrialDone | None = None


@contextmanager
def ticking(look: Callable[[], None], restart: bool = False) -> Iterator[None]:
    """While in here, ``look`` is called some times a second by a signal handler.

    A signal that arrives just before a call that waits is not heard until that call is over. The next tick
    ends it, so that handlers run.

    Args:
        look: short, and fit for a signal handler.
        restart: only calls that cannot be taken up again are ended, such as polls.
    """
    before = signal.signal(signal.SIGALRM, lambda number, frame: look())
    signal.siginterrupt(signal.SIGALRM, not restart)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def mark_interrupt(marks: int, request: int) -> None:
    """Write down which request an interrupt is meant for; a signal could hit the one before or after.

    Args:
        marks: descriptor of a file that both processes hold.
        request: its number, from 1.
    """
    os.pwrite(marks, _MARK.pack(request), 0)


def marked_interrupt(marks: int) -> int:
    """The request that the last interrupt was meant for; 0 before any."""
    data = os.pread(marks, _MARK.size, 0)
    return int(_MARK.unpack(data)[0]) if data else 0
