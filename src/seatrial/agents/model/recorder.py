"""Where model calls are written and counted."""

from collections.abc import Callable
from dataclasses import dataclass

from seatrial.gateway.meter import Meter
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter


@dataclass(frozen=True)
class CallRecorder:
    """A trial's journal, objects and meter.

    Attributes:
        step: gives the step that a call made now leads to.
    """

    journal: JournalWriter
    objects: ObjectStore
    meter: Meter
    step: Callable[[], int]
