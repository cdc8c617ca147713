"""The process of a session: ``process PARENT MARKS``, a module to be run, JSON lines in and out."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from seatrial.environment.confine.host import prepare_host, release_host
from seatrial.environment.confine.syscalls import die_with_parent
from seatrial.errors import SeatrialError
from seatrial.gateway.gateway import Gateway
from seatrial.gateway.meter import Meter
from seatrial.journal.events import AgentExited, AgentStarted, StopReason, SubgoalJudged
from seatrial.journal.run import RunFolder
from seatrial.journal.writer import JournalWriter
from seatrial.records.verdicts import VerdictRow
from seatrial.spec.person import PERSON
from seatrial.trial.job import TrialJob
from seatrial.trial.judge import judge_attempt
from seatrial.trial.lifecycle import run_trial
from seatrial.trial.sessions.session import Answer, Ask, Said, marked_interrupt, ticking
from seatrial.verify.engine import Judge

USAGE_STATUS = 2
IN, OUT = 0, 1
CHUNK = 1 << 16


class Lines:
    """Lines from a descriptor, waited for with a time limit."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._data = descriptor, b""

    def next(self, seconds: float | None = None) -> bytes | None:
        """The next line; null when the time is up.

        Raises:
            EOFError: the other side has gone.
        """
        while b"\n" not in self._data:
            ready, _, _ = select.select([self._descriptor], [], [], seconds)
            if not ready:
                return None
            part = os.read(self._descriptor, CHUNK)
            if not part:
                raise EOFError
            self._data += part
        line, _, self._data = self._data.partition(b"\n")
        return line


class Served:
    """A person's session from the trial's side: what ``run_trial`` has act in place of an agent."""

    def __init__(self, judge: Judge, lines: Lines, marks: int) -> None:
        self._judge, self._lines, self._marks = judge, lines, marks
        self._number = 0  # of the request served last, as the terminal counts them
        self._violations_told = 0

    def converse(
        self, gateway: Gateway, journal: JournalWriter, meter: Meter
    ) -> tuple[StopReason, dict[str, Any]]:
        """Serve requests until the trial has ended or the person has left."""
        # The person may know the task's files and asks for verdicts: nothing keeps them from it.
        details = {"files": [], "privileged": True, "help": "takeover", "from_step": 1}
        journal.append(AgentStarted(actor="human", agent=PERSON, confined=False, details=details))
        say(Said(answer=self._answer(gateway, meter)))
        meter.agent_thinks()
        note: dict[str, Any] = {}
        for ask in self._asked(gateway, meter):
            if ask.what == "leave":
                break
            if ask.what == "act":
                answer = self._act(gateway, meter, ask)
            else:
                with meter.aside():
                    answer = self._look(gateway, journal, meter, ask)
            say(Said(answer=answer))
        gateway.agent_ends()
        reason = gateway.stop_reason
        if reason is None:
            reason, note = "killed", {"problem": "the person left without having finished"}
        journal.append(AgentExited(actor="human", status=None, note=note.get("problem", "")))
        return reason, note

    def _asked(self, gateway: Gateway, meter: Meter) -> Iterator[Ask]:
        """Requests while the trial goes on; the first one after the time ran out finds it ended."""
        while gateway.stop_reason is None:
            left = meter.seconds_left()
            try:
                line = self._lines.next(None if left is None else max(0.0, left))
                if line is None:
                    gateway.out_of_time()
                    line = self._lines.next()
            except EOFError:
                return
            assert line is not None
            self._number += 1
            yield msgspec.json.decode(line, type=Ask)

    def _act(self, gateway: Gateway, meter: Meter, ask: Ask) -> Answer:
        with meter.aside():
            before = gateway.settle()

        def heed() -> None:
            # Again and again: before the command runs there is nothing to end.
            if marked_interrupt(self._marks) == self._number:
                gateway.interrupt()

        with ticking(heed, restart=True):
            observation = gateway.act(ask.tool, ask.arguments)
        with meter.aside():
            answer = self._answer(gateway, meter)
        changed = answer.fingerprint != before
        return msgspec.structs.replace(answer, observation=observation, changed=changed)

    def _look(self, gateway: Gateway, journal: JournalWriter, meter: Meter, ask: Ask) -> Answer:
        answer = self._answer(gateway, meter)
        state, delta = gateway.look()
        rows: list[VerdictRow] = []
        for name in ask.subgoals:
            row = self._judge.judge(state, name, gateway.step)
            rows.append(row)
            journal.append(
                SubgoalJudged(step=gateway.step, subgoal=name, verdict=row.verdict, reads=row.reads)
            )
        changes = [delta[path] for path in sorted(delta)] if ask.what == "look" else []
        return msgspec.structs.replace(answer, verdicts=rows, changes=changes)

    def _answer(self, gateway: Gateway, meter: Meter) -> Answer:
        fingerprint = gateway.settle()
        broken = gateway.violations[self._violations_told :]
        self._violations_told += len(broken)
        used = {"actions": float(meter.actions), "seconds": meter.now_us() / 1e6}
        return Answer(
            step=gateway.step, fingerprint=fingerprint, stop_reason=gateway.stop_reason, used=used,
            alive=gateway.alive, broken=broken,
        )  # fmt: skip


def say(message: Said) -> None:
    """Write one line."""
    view = memoryview(msgspec.json.encode(message) + b"\n")
    while view:
        view = view[os.write(OUT, view) :]


def main() -> int:
    """Serve one session; exit status 0 when it was written down, whatever became of it."""
    die_with_parent(signal.SIGKILL)
    parent, marks = map(int, sys.argv[1:])
    if os.getppid() != parent:
        return USAGE_STATUS  # the terminal's process died before we could ask to die with it
    # A person's impatience must not end a session: interrupts for the action under way come as marks.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    lines = Lines(IN)
    try:
        job = msgspec.json.decode(lines.next() or b"", type=TrialJob)
        run = RunFolder(Path(job.run))
        manifest = run.manifest()
        host = prepare_host(job.slot, manifest.unsafe)
        try:
            scratch = run.folder / "scratch"
            scratch.mkdir(exist_ok=True)
            with Judge(host, str(scratch), run, manifest.tasks[0]) as judge:
                served = Served(judge, lines, marks)
                done = run_trial(job, run, manifest, host, served.converse)
            judge_attempt(run, manifest, host, job.trial, job.attempt)
        finally:
            release_host(host)
    except (SeatrialError, OSError) as fault:
        print(fault, file=sys.stderr)
        return USAGE_STATUS
    say(Said(done=done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
