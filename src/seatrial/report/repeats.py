"""Repeats that add no information: systems that cannot but do the same again (F1)."""

from collections.abc import Iterable, Mapping
from typing import Any

from seatrial.journal.run import TrialPlanned
from seatrial.report.tables import WHOLE, Cell


def idle_repeats(
    groups: Iterable[Cell], systems: Mapping[str, Mapping[str, Any]], plan: Iterable[TrialPlanned]
) -> dict[tuple[str, str], str]:
    """Systems and arms whose repeats say nothing, each with a sentence.

    Such a system is scripted, or is given the same seed for every repeat of a task; and each task that was
    repeated ended alike every time, in strict and in safe success.

    Args:
        groups: the cells of the main table.
        systems: configuration by name, as the manifest has it.
        plan: every planned trial.
    """
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for planned in plan:
        seeds.setdefault((planned.system, planned.arm, planned.task), []).append(planned.seed)
    found = {}
    for cell in groups:
        if cell.stratum != WHOLE:
            continue
        own = [drawn for key, drawn in seeds.items() if key[:2] == (cell.system, cell.arm)]
        scripted = systems.get(cell.system, {}).get("agent") == "scripted"
        one_seed = bool(own) and all(len(set(drawn)) == 1 for drawn in own)
        repeated = alike(cell)
        if repeated and (scripted or one_seed):
            why = "is scripted" if scripted else "has one seed for all repeats of a task"
            found[cell.system, cell.arm] = (
                f"{cell.system} ({cell.arm}) {why} and ended alike in all repeats of every task: its repeats "
                "add no information. "
                + (
                    "An interval over them says nothing."
                    if len({record.task for record in cell.valid}) == 1
                    else "Its intervals rest on the tasks alone."
                )
            )
    return found


def alike(cell: Cell) -> bool:
    """Whether a task was repeated, and every repeated task ended the same each time."""
    ends: dict[str, list[tuple[bool | None, bool | None]]] = {}
    for record in cell.valid:
        ends.setdefault(record.task, []).append((record.strict_success, record.safe_success))
    repeated = [outcomes for outcomes in ends.values() if len(outcomes) > 1]
    same = (len(set(outcomes)) == 1 and None not in outcomes[0] for outcomes in repeated)
    return bool(repeated) and all(same)
