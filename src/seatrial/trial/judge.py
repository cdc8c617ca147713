"""Judges one attempt after it ended: every step, and the final state afresh."""

from seatrial.environment.host import Host
from seatrial.journal.events import TrialStarted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.records.verdicts import TrialVerdicts
from seatrial.verify.engine import Judge, write_verdicts

DEFAULT_FINAL_VERDICTS = 3


def judge_attempt(run: RunFolder, host: Host, trial: str, attempt: int) -> TrialVerdicts | None:
    """Judge a journal and write its verdict table; null when it has no state to judge.

    Raises:
        JournalError: the journal is damaged.
        VerifierFault: verifiers cannot be run here.
    """
    ended = run.ended(trial, attempt)
    journal = read_journal(run.journal_path(trial, attempt), ended.digest if ended else None)
    manifest = run.manifest()
    planned = next(p for p in manifest.plan if p.trial == trial)
    if not journal.events or not isinstance(journal.events[0], TrialStarted):
        return None
    fresh = int(manifest.experiment.get("final_verdicts", DEFAULT_FINAL_VERDICTS))
    judge = Judge(host, str(run.folder / "scratch"), run, manifest.task(planned.task), fresh)
    verdicts = judge.judge_trial(journal)
    write_verdicts(run, verdicts)
    return verdicts
