"""The cells of a run: its trials sorted by whose results they are (C6)."""

from collections.abc import Mapping
from typing import Any

from seatrial.evidence.read import RunEvidence
from seatrial.records.people import told_apart
from seatrial.report.tables import Cell, cells


def cells_of(evidence: RunEvidence) -> list[Cell]:
    """Every cell of the main table; trials in which a person acted are in cells of their own."""
    counted = [attempt.record for attempt in evidence.counted]
    every = [attempt.record for attempt in evidence.attempts]
    return cells(*told_apart(counted, every, persons_of(evidence.manifest.systems)))


def persons_of(systems: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The systems that are people themselves, by the manifest's configuration of systems."""
    return {name for name, system in systems.items() if system.get("agent") == "human"}
