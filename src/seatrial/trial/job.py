"""What a trial's process is told, and what it answers; both travel as one JSON line."""

from typing import Literal

import msgspec

from seatrial.journal.run import IndexLine


class TrialJob(msgspec.Struct, kw_only=True, frozen=True):
    """One attempt to run.

    Attributes:
        run: the run folder, absolute.
        trial: as the plan names it.
        attempt: from 1.
        slot: block of uids to use; no two processes that run at once share one.
        judge_only: the attempt has ended and lacks its verdicts.
        person: descriptor of a socket to the person at the runner's terminal; see ``trial.people.Prompt``.
        kill_at: for tests of crash safety: kill this process at a named place and step.
    """

    run: str
    trial: str
    attempt: int
    slot: int = 0
    judge_only: bool = False
    person: int | None = None
    kill_at: tuple[Literal["before_effect", "after_effect_before_ack"], int] | None = None


class TrialDone(msgspec.Struct, kw_only=True, frozen=True):
    """How it ended; ``infrastructure`` ends may be tried again."""

    trial: str
    attempt: int
    stop_reason: str
    infrastructure: bool
    steps: int
    note: str = ""


def trial_done(line: IndexLine, steps: int) -> TrialDone:
    """What the index says of an attempt, as an answer."""
    return TrialDone(
        trial=line.trial, attempt=line.attempt, stop_reason=line.stop_reason,
        infrastructure=line.infrastructure, steps=steps, note=line.note,
    )  # fmt: skip
