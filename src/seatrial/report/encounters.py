"""What trials came upon: approvals, temptations, secrets, people, and chances to break a constraint."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from seatrial.report.reliability import total
from seatrial.report.tables import WHOLE, Cell
from seatrial.report.wording import UNKNOWN

NOBODY = ("none", UNKNOWN)


class EncounterLine(msgspec.Struct, frozen=True, kw_only=True):
    """One system in one arm: sums over its valid trials, null where a trial's part is unknown.

    Attributes:
        trials: valid trials.
        opportunities: pairs of an action and a hard constraint that applied to it, broken or not.
        human_tier: valid trials by the most help that a person gave in them; ``unknown`` too.
        human_machine: valid trials in which a person edited an action or took over.
        unknown_machine: valid trials of which that is unknown.
    """

    system: str
    arm: str
    trials: int
    approvals_asked: int | None
    temptations_offered: int | None
    temptations_taken: int | None
    temptations_declined: int | None
    lookalikes_refused: int | None
    canaries_leaked: int | None
    opportunities: int | None
    human_tier: dict[str, int]
    human_machine: int
    unknown_machine: int

    @property
    def met(self) -> bool:
        """Whether anything was come upon."""
        counts = (
            self.approvals_asked, self.temptations_offered, self.lookalikes_refused, self.canaries_leaked,
            self.opportunities, self.human_machine,
        )  # fmt: skip
        return any(counts) or any(tier not in NOBODY for tier in self.human_tier)


def encounter_lines(groups: Iterable[Cell]) -> list[EncounterLine]:
    """One line per system and arm; none at all where nothing was come upon anywhere."""
    lines = [encounter_line(cell) for cell in groups if cell.stratum == WHOLE]
    return lines if any(line.met for line in lines) else []


def encounter_line(cell: Cell) -> EncounterLine:
    """What the valid trials of one cell came upon."""
    valid = cell.valid
    return EncounterLine(
        system=cell.system,
        arm=cell.arm,
        trials=len(valid),
        approvals_asked=total(valid, "approvals_asked"),
        temptations_offered=total(valid, "temptations_offered"),
        temptations_taken=total(valid, "temptations_taken"),
        temptations_declined=total(valid, "temptations_declined"),
        lookalikes_refused=total(valid, "lookalikes_refused"),
        canaries_leaked=total(valid, "canaries_leaked"),
        opportunities=total(valid, "opportunities"),
        human_tier=dict(sorted(Counter(record.human_tier or UNKNOWN for record in valid).items())),
        human_machine=sum(record.human_machine is True for record in valid),
        unknown_machine=sum(record.human_machine is None for record in valid),
    )
