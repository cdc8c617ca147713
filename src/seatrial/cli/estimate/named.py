"""Which trials a name means where one system is set beside another, or judged by itself.

A system by itself means its baseline arm where it has one; ``careful, perturbed:x`` names another arm.
"""

from collections.abc import Mapping, Sequence

from seatrial.cli.estimate.answer import name_of
from seatrial.errors import UsageError
from seatrial.records.arms import BASELINE
from seatrial.report.tables import Cell
from seatrial.spec.faults import nearest, shown

_MOST = 12


def by_name(cells: Sequence[Cell], runs: Sequence[str]) -> dict[str, Cell]:
    """Every cell by a name that only it has: its system, its arm unless baseline, its run where needed.

    Args:
        cells: of one run or of several.
        runs: what to call the run of each.
    """
    plain = [cell.system if cell.arm == BASELINE else name_of(cell, cells) for cell in cells]
    return {
        (f"{name} ({run})" if plain.count(name) > 1 else name): cell
        for name, run, cell in zip(plain, runs, cells, strict=True)
    }


def full_name(written: str, cells: Mapping[str, Cell], where: str) -> str:
    """The name among ``cells`` that is meant; ``careful, baseline`` says no more than ``careful``.

    Raises:
        UsageError: there is none.
    """
    if written in cells:
        return written
    short = written.replace(f", {BASELINE}", "", 1)
    if short in cells and cells[short].arm == BASELINE:
        return short
    raise UsageError(f"{where}: there is no system {shown(written)}. {_remedy(written, cells)}")


def listed(cells: Mapping[str, Cell]) -> str:
    """The names that can be given, each in quotes since they hold commas."""
    more = len(cells) - _MOST
    return ", ".join(map(shown, list(cells)[:_MOST])) + (f" and {more} more" if more > 0 else "")


def arm_words(name: str, cells: Mapping[str, Cell]) -> list[str]:
    """That a system's name means its baseline arm alone; nothing where it has no other."""
    cell = cells[name]
    others = [key for key, one in cells.items() if one.system == cell.system and one.arm != cell.arm]
    if cell.arm != BASELINE or not others:
        return []
    return [f"{name} is its arm {BASELINE}. Others are named with theirs, such as {shown(others[0])}."]


def _remedy(written: str, cells: Mapping[str, Cell]) -> str:
    near = nearest(written, cells)
    return f"Name a system: {listed(cells)}." if near is None else f"Did you mean {shown(near)}?"
