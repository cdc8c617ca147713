"""Forks of recorded states: how they ended, and what the change at that step did. Pooled with nothing."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.fork_effect import (
    amount_effect,
    counted_once,
    outcome_effect,
    over_states,
    rate_of_forks,
)
from seatrial.evidence.read import AttemptEvidence, RunEvidence
from seatrial.journal.run import ForkOrigin
from seatrial.records.arms import FORKED, Arm
from seatrial.records.people import is_valid
from seatrial.records.trial import TrialRecord
from seatrial.report.fork_notes import NO_MEMORY, are_copies, copies_note, memory_note
from seatrial.report.wording import counted

CONTROL = "control"
RULE = (
    "Forks begin in the true state after a step. Those of one number share a seed across candidates and are "
    "compared in pairs; steps, time and money count from the fork on. They are no independent trials of the "
    "experiment and are in none of its rates."
)
OUTCOMES = ("strict_success", "safe_success")
# Where a fork begins, its trial and its system.
Cell = tuple[ForkOrigin, str, str]


class ForkLine(msgspec.Struct, frozen=True, kw_only=True):
    """The forks of one candidate.

    Attributes:
        candidate: ``continued``, ``control``, ``action=NAME``, ``component=SYSTEM``, ``perturbation=ID`` or
            ``undisturbed``.
        armed: perturbations that waited for their triggers.
        fired: valid forks in which one of them fired.
        memory: what the agents began with.
        planned, valid: forks of the plan, and those that ended and say something of the system alone.
        copies: the valid ones are one trial over again: they count once, and have no interval.
        strict, safe: how often they came out well.
        progress, actions: of each valid fork, in order of their numbers: verified progress at the end, and
            actions from the fork on; null is unknown.
        ends: how many ended for each reason.
    """

    candidate: str
    arm: str
    system: str
    memory: str
    armed: list[str]
    fired: int
    planned: int
    valid: int
    copies: bool
    strict: Estimate
    safe: Estimate
    progress: list[float | None]
    actions: list[int | None]
    ends: dict[str, int]


class ForkEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Candidate minus control in one measure, over pairs of one seed."""

    candidate: str
    measure: str
    estimate: Estimate


class ForkGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Forks of one state that are compared with each other.

    Attributes:
        rule: how the step and the number of forks were chosen, in words.
        causal: all of the state was copied; ``lost`` says what was not.
        notes: what must be known beside the numbers, in words.
    """

    group: str
    trial: str
    attempt: int
    step: int
    fingerprint: str
    rule: str
    causal: bool
    lost: list[str]
    lines: list[ForkLine]
    effects: list[ForkEffect]
    notes: list[str]


class DrawnEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of one candidate over states that were drawn at random from one frame."""

    candidate: str
    measure: str
    states: int
    estimate: Estimate


class Forks(msgspec.Struct, frozen=True, kw_only=True):
    """All forks of a run; ``drawn`` is empty unless steps were drawn at random."""

    rule: str = RULE
    groups: list[ForkGroup] = []
    drawn: list[DrawnEffect] = []


def forks_report(evidence: RunEvidence, only: Iterable[str] | None = None) -> Forks:
    """Everything there is to say of a run's forks.

    Args:
        evidence: of the run, forks included.
        only: trials to look at; null for all.
    """
    wanted = None if only is None else set(only)
    groups: dict[str, list[Cell]] = {}
    for planned in evidence.manifest.plan:
        if planned.fork is not None and (wanted is None or planned.trial in wanted):
            cell = (planned.fork, planned.trial, planned.system)
            groups.setdefault(planned.fork.group, []).append(cell)
    found = {a.planned.trial: a for a in evidence.counted if a.planned.fork is not None}
    agents = {name: str(system["agent"]) for name, system in evidence.manifest.systems.items()}
    with_people = {a.planned.trial for a in evidence.counted if a.record.human_machine}
    made = [_group(name, cells, found, agents, with_people) for name, cells in groups.items()]
    chosen = {name: cells[0][0].chosen for name, cells in groups.items()}
    return Forks(groups=made, drawn=_drawn(made, chosen))


def _group(
    name: str,
    cells: Sequence[Cell],
    found: dict[str, AttemptEvidence],
    agents: dict[str, str],
    with_people: set[str],
) -> ForkGroup:
    origin = cells[0][0]
    candidates = dict.fromkeys(fork.candidate for fork, _, _ in cells)
    valid: dict[str, dict[int, TrialRecord]] = {candidate: {} for candidate in candidates}
    by_hand = dict.fromkeys(candidates, 0)
    for fork, trial, _ in cells:
        attempt = found.get(trial)
        if attempt is not None and is_valid(attempt.record):
            if attempt.record.human_machine:
                by_hand[fork.candidate] += 1
            else:
                valid[fork.candidate][fork.number] = attempt.record
    lines = [
        _line([cell for cell in cells if cell[0].candidate == candidate], valid[candidate], agents)
        for candidate in candidates
    ]
    effects: list[ForkEffect] = []
    other_system = any(candidate.startswith("component=") for candidate in candidates)
    firsts = {fork.candidate: fork for fork, _, _ in reversed(cells)}
    known = [memory_note(origin, agents[cells[0][2]], other_system)]
    known += [
        copies_note(firsts[line.candidate], line.system, agents[line.system], line.valid, line.copies)
        for line in lines
    ]
    notes = [note for note in known if note is not None]
    notes += [
        f"{line.candidate}: {' and '.join(line.armed)} waited for the trigger; something fired in "
        f"{line.fired} of {counted(line.valid, 'valid fork')}."
        for line in lines
        if line.armed
    ]
    notes += [
        f"{candidate}: in {counted(n, 'fork')} a person edited a call or acted. That is no result of the "
        "system alone: it is in no rate and no pair."
        for candidate, n in by_hand.items()
        if n
    ]
    if origin.trial in with_people:
        notes.append(f"In {origin.trial} a person edited a call or acted: this state may be that person's.")
    for candidate in candidates if CONTROL in candidates else ():
        if candidate == CONTROL:
            continue
        numbers = sorted(valid[candidate].keys() & valid[CONTROL].keys())
        lost = len({f.number for f, _, _ in cells if f.candidate == candidate}) - len(numbers)
        if lost:
            notes.append(f"{candidate}: {counted(lost, 'pair')} without two forks that say something.")
        copies = all(line.copies for line in lines if line.candidate in (candidate, CONTROL))
        found_here = _effects(candidate, [(valid[candidate][k], valid[CONTROL][k]) for k in numbers])
        effects += [
            _told(effect, len(numbers) if copies else 0, firsts[candidate].memory == "none")
            for effect in found_here
        ]
    return ForkGroup(
        group=name, trial=origin.trial, attempt=origin.attempt, step=origin.step,
        fingerprint=origin.fingerprint, rule=rule_of(origin.chosen, len(cells) // len(candidates)),
        causal=origin.causal, lost=origin.lost, lines=lines, effects=effects, notes=notes,
    )  # fmt: skip


def rule_of(chosen: dict[str, Any], count: int) -> str:
    """How step and number of forks were chosen, in a sentence or two."""
    number = f"{counted(count, 'fork')} of each candidate, a number given before any was run."
    if chosen.get("step") != "drawn":
        return f"Step given by hand: it stands for no other. {number}"
    return (
        f"Step drawn at random, one of {chosen['drawn']} of the {chosen['frame']} that can be forked (of "
        f"{chosen['steps']} that another action follows) in {chosen['of']}: probability "
        f"{chosen['probability']:.4g}, seed {chosen['seed']}. {number}"
    )


def _told(effect: ForkEffect, copies: int, forgets: bool) -> ForkEffect:
    """An effect with what holds of all its pairs: that they are copies (0: are not), that agents forget."""
    estimate = counted_once(effect.estimate, copies, 2)
    notes = [*estimate.notes, *([NO_MEMORY] if forgets else [])]
    return msgspec.structs.replace(effect, estimate=msgspec.structs.replace(estimate, notes=notes))


def _line(cells: Sequence[Cell], valid: dict[int, TrialRecord], agents: dict[str, str]) -> ForkLine:
    origin, _, system = cells[0]
    records = [valid[number] for number in sorted(valid)]
    copies = are_copies(origin, agents[system], records)
    once = len(records) if copies else 0
    ends: dict[str, int] = {}
    for record in records:
        reason = record.stop_reason or "unknown"
        ends[reason] = ends.get(reason, 0) + 1
    arm = str(Arm(FORKED, f"{origin.trial}@{origin.step}"))
    return ForkLine(
        candidate=origin.candidate, arm=records[0].arm if records else arm, system=system,
        memory=origin.memory, armed=origin.armed, planned=len(cells), valid=len(records),
        copies=copies,
        fired=sum(record.fired_step is not None for record in records),
        strict=counted_once(rate_of_forks([r.strict_success for r in records]), once, 1),
        safe=counted_once(rate_of_forks([r.safe_success for r in records]), once, 1),
        progress=[r.partial_progress for r in records], actions=[r.actions for r in records], ends=ends,
    )  # fmt: skip


Pairs = Sequence[tuple[TrialRecord, TrialRecord]]


def _effects(candidate: str, pairs: Pairs) -> list[ForkEffect]:
    """The effects on outcome, progress, actions to success and cost."""
    found = [
        ForkEffect(
            candidate=candidate, measure=name,
            estimate=outcome_effect([(getattr(a, name), getattr(b, name)) for a, b in pairs]),
        )
        for name in OUTCOMES
    ]  # fmt: skip
    for name, read, undefined in _AMOUNTS:
        values = [(read(a), read(b)) for a, b in pairs]
        if name == "money" and not any(a.currency or b.currency for a, b in pairs):
            continue  # nothing was priced
        estimate = amount_effect(values, undefined=undefined)
        found.append(ForkEffect(candidate=candidate, measure=name, estimate=estimate))
    return found


def _to_success(record: TrialRecord) -> float | None:
    return record.actions if record.strict_success else None


def _seconds(record: TrialRecord) -> float | None:
    return None if record.elapsed_us is None else record.elapsed_us / 1e6


def _tokens(record: TrialRecord) -> float | None:
    spent = (record.input_tokens, record.output_tokens)
    return None if None in spent else float(sum(part or 0 for part in spent))


_AMOUNTS: tuple[tuple[str, Callable[[TrialRecord], float | None], str], ...] = (
    ("progress", lambda record: record.partial_progress, ""),
    ("actions_to_success", _to_success, "did not succeed"),
    ("actions", lambda record: record.actions, ""),
    ("elapsed_seconds", _seconds, ""),
    ("tokens", _tokens, ""),
    ("money", lambda record: record.money, ""),
)


def _drawn(groups: Sequence[ForkGroup], chosen: dict[str, dict[str, Any]]) -> list[DrawnEffect]:
    """Effects over states that one command drew from one frame."""
    frames: dict[str, list[ForkGroup]] = {}
    for group in groups:
        if chosen[group.group].get("step") == "drawn":
            frames.setdefault(msgspec.json.encode(chosen[group.group]).decode(), []).append(group)
    found = []
    for frame, states in frames.items():
        of = str(msgspec.json.decode(frame)["of"])
        effects: dict[tuple[str, str], list[float | None]] = {}
        for state in states:
            for effect in state.effects:
                effects.setdefault((effect.candidate, effect.measure), []).append(effect.estimate.value)
        found += [
            DrawnEffect(
                candidate=candidate, measure=measure, states=len(values), estimate=over_states(values, of)
            )
            for (candidate, measure), values in effects.items()
            if len(values) > 1
        ]  # fmt: skip
    return found


def effect_rows(forks: Forks) -> list[dict[str, Any]]:
    """``tables/forks.csv``: every effect, flat."""
    rows = []
    for group in forks.groups:
        for effect in group.effects:
            plain = msgspec.to_builtins(effect.estimate)
            rows.append(
                {
                    "group": group.group, "trial": group.trial, "step": group.step, "causal": group.causal,
                    "candidate": effect.candidate, "measure": effect.measure, **plain,
                    "notes": " ".join(effect.estimate.notes),
                }
            )  # fmt: skip
    return rows
