"""The verdict table of one attempt, as a file of the run; and whether its verdicts hold on the full state."""

from dataclasses import dataclass

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.reader import Journal
from seatrial.journal.run import RunFolder, write_json
from seatrial.records.verdicts import TrialVerdicts, Verdict
from seatrial.verify.engine import Judge, Progress
from seatrial.verify.follow import steps
from seatrial.verify.reads import Reads


def write_verdicts(run: RunFolder, verdicts: TrialVerdicts) -> None:
    """Save the table, whole or not at all."""
    write_json(run.verdicts_path(verdicts.trial, verdicts.attempt), verdicts)


def read_verdicts(run: RunFolder, trial: str, attempt: int) -> TrialVerdicts:
    """Read a saved table.

    Raises:
        JournalError: there is none, or it is damaged.
    """
    path = run.verdicts_path(trial, attempt)
    try:
        return msgspec.json.decode(path.read_bytes(), type=TrialVerdicts)
    except OSError as fault:
        raise JournalError(
            f"{path}: cannot be read ({fault.strerror}). Run `seatrial verify {run.folder}`."
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise JournalError(f"{path}: damaged: {fault}. Run `seatrial verify {run.folder}`.") from fault


@dataclass(frozen=True)
class Mismatch:
    """A recorded verdict that a fresh run on the full state does not give.

    Either the declared reads are too narrow, or the record was changed, or the verifier is not steady.
    """

    step: int
    subgoal: str
    cached: Verdict
    fresh: Verdict


def fresh_check(
    judge: Judge, journal: Journal, verdicts: TrialVerdicts, progress: Progress | None = None
) -> list[Mismatch]:
    """Run every verifier again, without the cache and with the whole state visible, at every distinct state.

    Args:
        judge: with the verifiers that made the table.
        journal: of the same attempt.
        verdicts: as recorded, judged at every step.
        progress: called with (steps done, steps in all).

    Returns:
        Where the table is contradicted; empty when it holds.
    """
    rows: dict[int, dict[str, Verdict]] = {}
    for row in verdicts.rows:
        rows.setdefault(row.step, {})[row.subgoal] = row.verdict
    whole = judge.new_follower(Reads(()))
    standing: dict[str, Verdict] = {}
    known: dict[tuple[str, str], Verdict] = {}
    found = []
    total, last = max(rows, default=0), 0
    for step in steps(journal, judge.objects):
        whole.apply(step.changes)
        standing |= rows.get(step.number, {})
        for name, cached in standing.items():
            key = (name, whole.seen.digest())
            if key not in known:
                known[key] = judge.fresh(judge.subgoal(name), whole)[0].verdict
            if known[key] != cached:
                found.append(Mismatch(step.number, name, cached, known[key]))
        last = step.number
        if progress is not None:
            progress(step.number, max(total, step.number))
    for name, runs in verdicts.final.items():
        fresh = known.get((name, whole.seen.digest())) or judge.fresh(judge.subgoal(name), whole)[0].verdict
        differs = Mismatch(last, name, runs[0], fresh) if runs else None
        if differs is not None and len(set(runs)) == 1 and runs[0] != fresh and differs not in found:
            found.append(differs)
    return found
