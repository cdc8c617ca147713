"""Everything the report says of disturbances, interruptions, compactions and causes, gathered."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from seatrial.report.causes import ConditionLine, FailureLine, condition_lines, failure_lines
from seatrial.report.disturbance_figures import disturbance_figures
from seatrial.report.disturbances import (
    PLACEBO,
    DisturbedArm,
    StrengthLine,
    disturbed_arms,
    flat_arm,
    strength_lines,
)
from seatrial.report.interruptions import (
    CompactionLine,
    Contrast,
    InterruptionLine,
    compaction_lines,
    contrasts,
    interruption_lines,
)
from seatrial.report.tables import Cell
from seatrial.report.wording import counted, difference, each, interval, spoken


class DisturbanceSection(msgspec.Struct, frozen=True, kw_only=True):
    """Names are those of ``report.json``, all but ``figures``: SVG text by name."""

    disturbances: list[DisturbedArm]
    strengths: list[StrengthLine]
    interruptions: list[InterruptionLine]
    compactions: list[CompactionLine]
    contrasts: list[Contrast]
    failures: list[FailureLine]
    conditions: list[ConditionLine]
    figures: dict[str, str]

    @property
    def shown(self) -> bool:
        """Whether any trial was to be disturbed, so that the page has a section for it."""
        return bool(self.disturbances or self.interruptions or self.compactions)

    @property
    def pooled(self) -> bool:
        """Whether a line of strengths says more than the lines of its disturbances."""
        return any(len(line.arms) > 1 for line in self.strengths)

    def data(self) -> dict[str, Any]:
        """Its part of ``report.json``."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if name != "figures"}

    def tables(self) -> dict[str, list[Mapping[str, Any]]]:
        """Its CSV tables by name; those without a line are left out."""
        tables: dict[str, list[Mapping[str, Any]]] = {
            "disturbances": [flat_arm(arm) for arm in self.disturbances],
            "failures": [msgspec.to_builtins(line) for line in self.failures],
        }
        return {name: lines for name, lines in tables.items() if lines}

    def sentences(self) -> list[str]:
        """What the pairs of baseline and disturbed trials allow to be said, once where systems agree."""
        said: dict[tuple[str, str], list[str]] = {}
        for arm in self.disturbances:
            said.setdefault((disturbance_words(arm), drop_words(arm)), []).append(arm.system)
        return [
            f"{spoken(systems)} under {disturbance}{each(systems)}: {words}"
            for (disturbance, words), systems in said.items()
        ]


def disturbance_section(groups: Sequence[Cell], seed: int) -> DisturbanceSection:
    """Gather all of it.

    Args:
        groups: the cells of the main table.
        seed: of the experiment.
    """
    arms = disturbed_arms(groups, seed)
    return DisturbanceSection(
        disturbances=arms,
        strengths=strength_lines(groups, seed),
        interruptions=interruption_lines(groups, seed),
        compactions=compaction_lines(groups, seed),
        contrasts=contrasts(groups, seed),
        failures=failure_lines(groups),
        conditions=condition_lines(groups),
        figures=disturbance_figures(arms),
    )


def disturbance_words(arm: DisturbedArm) -> str:
    """A disturbance with its kind and, unless it is a placebo, its strength."""
    kind = arm.kind or "kind unknown"
    strength = "" if kind == PLACEBO else f", {arm.strength or 'strength unknown'}"
    return f"{arm.perturbation} ({kind}{strength})"


def drop_words(arm: DisturbedArm) -> str:
    """What one disturbance did to one system."""
    delivered = f"delivered in {arm.delivery.delivered} of {counted(arm.delivery.valid, 'valid trial')}"
    if arm.drop is None:
        return f"{delivered}; there is no baseline to compare with."
    told = {
        "A higher": "lower than the baseline",
        "B higher": "higher than the baseline",
    }.get(arm.drop.verdict, "cannot be told apart from the baseline yet")
    floor = " The baseline is near the floor, so a drop could hardly show." if arm.drop.floor else ""
    return (
        f"{delivered}; safe success {interval(arm.drop.after)}, {told}: drop "
        f"{difference(arm.drop.drop)}.{floor}"
    )
