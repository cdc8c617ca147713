"""Which trials the page shows in full: all of a small run, those picked by rule of a large one (G14)."""

from collections.abc import Iterable, Sequence

from seatrial.evidence.read import AttemptEvidence

# Above so many trials a page of all of them is no longer read, and takes minutes to draw.
ALL_SHOWN = 120
RULE = (
    "of each system and arm the success with the median number of actions (ordinary), the one with the most "
    "(expensive), the failure with the fewest (cheap), the first trial with a hard violation (safety), the "
    "first of unknown class and the first without a valid attempt"
)


def shown_attempts(attempts: Sequence[AttemptEvidence]) -> list[AttemptEvidence]:
    """The attempts that get a figure: all of a small run, otherwise those of the picked trials.

    Args:
        attempts: every ended attempt, in the plan's order.
    """
    counted = [attempt for attempt in attempts if attempt.counted]
    if len(counted) <= ALL_SHOWN:
        return list(attempts)
    return [attempt for attempt in counted if attempt.planned.trial in picked(counted)]


def picked(counted: Iterable[AttemptEvidence]) -> dict[str, list[str]]:
    """Trials by the rule, each with what it stands for."""
    by_cell: dict[tuple[str, str, bool | None], list[AttemptEvidence]] = {}
    for attempt in counted:
        # What a person had a part in is a case of its own, as everywhere.
        key = (attempt.planned.system, attempt.planned.arm, attempt.record.human_machine or None)
        by_cell.setdefault(key, []).append(attempt)
    found: dict[str, list[str]] = {}
    for attempts in by_cell.values():
        for word, attempt in cases(attempts):
            found.setdefault(attempt.planned.trial, []).append(word)
    return found


def cases(attempts: Sequence[AttemptEvidence]) -> list[tuple[str, AttemptEvidence]]:
    """The cases of one system and arm; ties go to the first in the plan."""
    by_class: dict[str, list[AttemptEvidence]] = {}
    for attempt in sorted(attempts, key=lambda attempt: attempt.record.actions or 0):
        by_class.setdefault(attempt.record.terminal_class, []).append(attempt)
    successes, found = by_class.get("success", []), list[tuple[str, AttemptEvidence]]()
    if successes:
        found.append(("ordinary success", successes[(len(successes) - 1) // 2]))
        most = successes[-1].record.actions
        found.append(("expensive success", next(a for a in successes if a.record.actions == most)))
    if "failure" in by_class:
        found.append(("cheap failure", by_class["failure"][0]))
    unsafe = (a for a in attempts if a.record.hard_violations or a.record.stop_reason == "safety_stop")
    wanted = [("safety", next(unsafe, None))]
    for name in ("unknown", "infrastructure"):
        wanted.append((name, next((a for a in attempts if a.record.terminal_class == name), None)))
    return found + [(word, attempt) for word, attempt in wanted if attempt is not None]
