"""Whose result a trial is: its system's own, or that of the system and a person together (C6).

A trial in which a person edited a call or acted is no result of the system alone. It belongs to a population
of its own, named after the system, so that whoever sorts trials by system never pools the two.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from seatrial.records.trial import TrialRecord

JOINT = " (human-machine)"
# Of an experiment that says of other trials whether a person acted, and not of this one.
UNSAID = " (human-machine unknown)"
NO_HELP, TAKEOVER = "none", "takeover"


def stands_apart(system: str) -> bool:
    """Whether a system's name is that of such a population."""
    return system.endswith((JOINT, UNSAID))


def own_name(system: str) -> str:
    """The name of the system that a population is of; any other name as it is."""
    return system.removesuffix(JOINT).removesuffix(UNSAID)


def own_first(groups: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Systems and arms once each: as their systems came, what stands apart behind all others."""
    found = dict.fromkeys(groups)
    order = {group: n for n, group in enumerate(dict.fromkeys((own_name(s), arm) for s, arm in found))}
    return sorted(found, key=lambda group: (stands_apart(group[0]), order[own_name(group[0]), group[1]]))


def told_apart(
    counted: Sequence[TrialRecord], every: Iterable[TrialRecord], persons: Collection[str] = ()
) -> tuple[list[TrialRecord], list[TrialRecord]]:
    """The same records, with the trials that are not their system's alone under a name of their own.

    The attempt that stands for a trial decides for all its attempts, so that costs stay with outcomes. A
    valid trial of which it is unknown stands apart too, unless its experiment says it of no trial at all, as
    imports do: such a source knows nobody beside the systems. A trial without a valid attempt of which it is
    unknown, as of one that could not begin, stays among the losses of its system.

    Args:
        counted: one record a trial.
        every: those of all attempts.
        persons: systems that are people themselves, as in a session; their trials are theirs.
    """
    spoken = {record.experiment for record in counted if record.human_machine is not None}
    names: dict[tuple[str, str], str] = {}
    for record in counted:
        if record.system in persons:
            continue
        if record.human_machine:
            names[record.experiment, record.trial] = record.system + JOINT
        elif record.human_machine is None and record.experiment in spoken and is_valid(record):
            names[record.experiment, record.trial] = record.system + UNSAID
    named = [_named(record, names) for record in counted]
    return named, [_named(record, names) for record in every]


def _named(record: TrialRecord, names: dict[tuple[str, str], str]) -> TrialRecord:
    name = names.get((record.experiment, record.trial))
    return record if name is None else msgspec.structs.replace(record, system=name)


def is_valid(record: TrialRecord) -> bool:
    """Whether a trial says something of whoever ran it."""
    return record.terminal_class != "infrastructure"


def left_alone(record: TrialRecord) -> TrialRecord:
    """What the system by itself would have done in a trial that stands apart: nobody knows any of it."""
    return TrialRecord(
        experiment=record.experiment, trial=record.trial, attempt=record.attempt, task=record.task,
        task_version=record.task_version, family=record.family, system=own_name(record.system),
        arm=record.arm, seed=record.seed, batch=record.batch, repeat=record.repeat, weight=record.weight,
        terminal_class="unknown" if is_valid(record) else "infrastructure",
        human_minutes=record.human_minutes, human_source=record.human_source,
        dependency_depth=record.dependency_depth, verification_delay=record.verification_delay,
        horizon_group=record.horizon_group, variant_of=record.variant_of,
    )  # fmt: skip
