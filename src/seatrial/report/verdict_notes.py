"""Why a verdict is not a plain pass: errors, doubts and verifiers that disagree with themselves."""

from collections.abc import Mapping
from typing import Any

import msgspec

from seatrial.evidence.read import AttemptEvidence
from seatrial.records.verdicts import VerdictRow

# Of one output or one piece of evidence; all of it is in the verdict table.
SHOWN = 600


class VerdictNote(msgspec.Struct, frozen=True, kw_only=True):
    """The last verdict on one subgoal, with its reasons.

    Attributes:
        step: from which on the verdict held.
        runs: verdicts of the fresh runs on the final state.
        flaky: its runs on one state disagree, so the verdict counts as unknown.
        product_triggered: the verifier errs because of the product, so the subgoal is not passed.
        evidence: what verifier and harness gave beside the verdict of that step; null for none.
    """

    subgoal: str
    step: int
    verdict: str
    runs: list[str]
    flaky: bool
    product_triggered: bool
    evidence: Any = None


def verdict_notes(attempt: AttemptEvidence) -> list[VerdictNote]:
    """Notes on the subgoals that do not plainly pass at the end, and on those that left evidence."""
    last: dict[str, VerdictRow] = {}
    for row in sorted(attempt.verdicts.rows, key=lambda row: row.step):
        last[row.subgoal] = row
    flaky = set(attempt.record.flaky_verifiers or [])
    notes = [
        VerdictNote(
            subgoal=name,
            step=row.step,
            verdict=row.verdict,
            runs=[str(run) for run in attempt.verdicts.final.get(name, [])],
            flaky=name in flaky,
            product_triggered=row.product_triggered,
            evidence=row.evidence,
        )
        for name, row in last.items()
    ]
    return [note for note in notes if note.flaky or note.verdict not in ("pass", "fail") or note.evidence]


def note_lines(note: VerdictNote) -> list[str]:
    """A note as lines of text; what verifiers printed is not made safe for a terminal."""
    lines = []
    if note.flaky:
        runs = f": {', '.join(note.runs)}" if note.runs else ""
        lines.append(
            f"flaky, so unknown: its runs on one state disagree{runs}; {note.verdict} from step {note.step}"
        )
    elif note.product_triggered:
        lines.append(f"error from step {note.step}, because of the product: taken as not passed")
    else:
        lines.append(f"{note.verdict} from step {note.step}")
    return lines + evidence_lines(note.evidence)


def evidence_lines(evidence: object) -> list[str]:
    """Evidence as lines, each part named; long parts are cut."""
    if evidence is None:
        return []
    if not isinstance(evidence, Mapping):
        return [cut(text_of(evidence))]
    return [f"{name}: {cut(text_of(value))}" for name, value in evidence.items()]


def text_of(value: object) -> str:
    """A piece of evidence as text."""
    return value.strip() if isinstance(value, str) else msgspec.json.encode(value).decode()


def cut(text: str) -> str:
    """The beginning of a long text, with how much is left out."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} … {len(text) - SHOWN} more characters"
