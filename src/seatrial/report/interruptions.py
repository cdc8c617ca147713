"""What came of kills and of compactions, and how the arms that share a point differ (D8, D10, D15)."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.estimate.detection_latency import Latency
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.paired import Verdict
from seatrial.estimate.paired_drop import Drop, paired_drop
from seatrial.records.arms import COMPACTED, Arm, read_arm
from seatrial.records.trial import TrialRecord
from seatrial.report.comparisons import own_results
from seatrial.report.disturbances import (
    Mean,
    baselines_of,
    by_task,
    drop_from,
    generator,
    latency_of,
    means,
    waits,
)
from seatrial.report.tables import WHOLE, Cell
from seatrial.spec.interrupting import Form, InterruptionArm, interruption_arm

# By the sources: what compaction costs at least, what the summariser adds, what the form of state does.
CONTRASTS = (
    ("raw", "gold", "what compaction costs even with the best summary"),
    ("gold", "automatic", "what the summariser costs"),
    ("structured", "automatic", "structured state against prose"),
)


AFTER_A_KILL = (
    "redone_actions", "resume_divergence", "repeated_effects", "queried_first", "retried_blindly",
)  # fmt: skip


class InterruptionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``interruptions`` in ``report.json``: one system killed at one point.

    Attributes:
        memory: what the new process was given, as the arm says.
        planned, valid, killed, resumed: trials; each of the one before.
        repeated, duplicated: effects on services that repeat an earlier one, after the kill and in all;
            null where the tasks have no service.
        old_goal: resumed trials that worked on for a goal that had changed: failed recoveries.
        first_correct: steps from the new start to the first correct action; trials without one are censored.
        means: redone actions, divergence and others, over resumed trials.
        drop: safe success against the baseline; null without one.
    """

    system: str
    arm: str
    point: str
    memory: str
    planned: int
    valid: int
    killed: int
    resumed: int
    repeated: int | None
    duplicated: int | None
    old_goal: int
    first_correct: Latency | None
    means: list[Mean]
    drop: Drop | None


class CompactionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``compactions`` in ``report.json``: one system under one way of compaction.

    Attributes:
        planned, valid, compacted: trials; each of the one before.
        means: compactions, tokens taken away and look-ups, over compacted trials.
        needs_missed: by kind of thing from early on, compacted trials that missed it.
        needs_met: likewise, that did not.
        drop: safe success against the baseline; null without one.
    """

    system: str
    arm: str
    planned: int
    valid: int
    compacted: int
    means: list[Mean]
    needs_missed: dict[str, int]
    needs_met: dict[str, int]
    drop: Drop | None


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``contrasts`` in ``report.json``: safe success of arm a minus that of arm b, same tasks."""

    system: str
    about: str
    a: str
    b: str
    difference: Estimate
    verdict: Verdict
    p: float | None
    test: str


def interruption_lines(groups: Iterable[Cell], seed: int) -> list[InterruptionLine]:
    """Every system at every point it was to be killed at."""
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    baselines = baselines_of(whole)
    found = []
    for cell in whole:
        parts = interruption_arm(cell.arm)
        if parts is None:
            continue
        killed = [record for record in cell.valid if record.killed_step is not None]
        resumed = [record for record in killed if record.resumed_step is not None]
        rng = generator(seed)
        found.append(
            InterruptionLine(
                system=cell.system,
                arm=cell.arm,
                point=parts.point,
                memory=parts.form,
                planned=len(cell.records),
                valid=len(cell.valid),
                killed=len(killed),
                resumed=len(resumed),
                repeated=total(killed, "repeated_effects"),
                duplicated=total(killed, "duplicate_effects"),
                old_goal=sum(record.resumed_from_old_goal is True for record in resumed),
                first_correct=first_correct(resumed, seed) if resumed else None,
                means=means(resumed, AFTER_A_KILL),
                drop=drop_from(baselines.get(cell.system), cell.valid, rng),
            )
        )
    return found


def total(records: Sequence[TrialRecord], name: str) -> int | None:
    """Sum of a column; null where one is unknown, or there is none."""
    values = [getattr(record, name) for record in records]
    return sum(values) if values and None not in values else None


def first_correct(resumed: Sequence[TrialRecord], seed: int) -> Latency:
    """Steps from a new start to the first correct action."""
    since = [msgspec.structs.replace(record, fired_step=record.resumed_step) for record in resumed]

    def found(record: TrialRecord) -> tuple[bool | None, int | None]:
        # A step that is null although the state was trusted means that there was none.
        known = record.redone_actions is not None
        return (record.resume_correct_step is not None) if known else None, record.resume_correct_step

    return latency_of(waits(since, found), generator(seed))


def compaction_lines(groups: Iterable[Cell], seed: int) -> list[CompactionLine]:
    """Every system under every way of compaction."""
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    baselines = baselines_of(whole)
    found = []
    for cell in whole:
        if read_arm(cell.arm).kind != COMPACTED:
            continue
        done = [record for record in cell.valid if record.compactions]
        found.append(
            CompactionLine(
                system=cell.system,
                arm=cell.arm,
                planned=len(cell.records),
                valid=len(cell.valid),
                compacted=len(done),
                means=means(done, ("compactions", "compacted_tokens", "history_lookups")),
                needs_missed=dict(sorted(Counter(k for r in done for k in r.needs_missed or []).items())),
                needs_met=dict(sorted(Counter(k for r in done for k in r.needs_met or []).items())),
                drop=drop_from(baselines.get(cell.system), cell.valid, generator(seed)),
            )
        )
    return found


def contrasts(groups: Iterable[Cell], seed: int) -> list[Contrast]:
    """The arms that differ in one thing only: prose and structured state at one point, ways of compaction."""
    table = {(cell.system, cell.arm): cell for cell in own_results(groups) if cell.stratum == WHOLE}
    found = []
    for system in dict.fromkeys(system for system, _ in table):
        arms = [arm for other, arm in table if other == system]
        pairs = [(str(Arm(COMPACTED, a)), str(Arm(COMPACTED, b)), about) for a, b, about in CONTRASTS]
        killing = {interruption_arm(arm): arm for arm in arms}
        for point in dict.fromkeys(parts.point for parts in killing if parts is not None):
            forms: tuple[Form, Form] = ("structured", "prose")
            structured, prose = (killing.get(InterruptionArm(point, form)) for form in forms)
            if structured is not None and prose is not None:
                pairs.append((structured, prose, f"structured checkpoint against prose, killed at {point}"))
        for a, b, about in pairs:
            if (system, a) in table and (system, b) in table:
                found.append(contrast((table[(system, a)], table[(system, b)]), about, seed))
    return found


def contrast(pair: tuple[Cell, Cell], about: str, seed: int) -> Contrast:
    """Safe success of two arms of one system on the same tasks."""
    a, b = (by_task(cell.valid, lambda record: record.safe_success) for cell in pair)
    drop = paired_drop(a, b, generator(seed))
    return Contrast(
        system=pair[0].system,
        about=about,
        a=pair[0].arm,
        b=pair[1].arm,
        difference=msgspec.structs.replace(
            drop.drop, notes=[note for note in drop.drop.notes if not note.startswith("Floor:")]
        ),
        verdict=drop.verdict,
        p=drop.p,
        test=drop.test,
    )
