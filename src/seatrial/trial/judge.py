"""Judges one attempt after it ended: every step, and the final state afresh."""

from seatrial.environment.confine.host import Host
from seatrial.journal.events import TrialStarted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import Manifest, RunFolder
from seatrial.records.verdicts import TrialVerdicts
from seatrial.verify.engine import Judge
from seatrial.verify.table import write_verdicts

DEFAULT_FINAL_VERDICTS = 3


def judge_attempt(
    run: RunFolder, manifest: Manifest, host: Host, trial: str, attempt: int
) -> TrialVerdicts | None:
    """Judge a journal and write its verdict table; null when it has no state to judge.

    Raises:
        JournalError: the journal is damaged.
        VerifierFault: verifiers cannot be run here.
    """
    ended = run.ended(trial, attempt)
    journal = read_journal(run.journal_path(trial, attempt), ended.digest if ended else None)
    planned = next(p for p in manifest.plan if p.trial == trial)
    first = journal.events[0] if journal.events else None
    if not isinstance(first, TrialStarted) or not first.base:
        return None
    fresh = int(manifest.experiment.get("final_verdicts", DEFAULT_FINAL_VERDICTS))
    with Judge(host, str(run.folder / "scratch"), run, manifest.task(planned.task), fresh) as judge:
        verdicts = judge.judge_trial(journal)
    write_verdicts(run, verdicts)
    return verdicts
