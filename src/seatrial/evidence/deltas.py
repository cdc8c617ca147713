"""What journals only name: the base states and the large deltas, fetched for the measures."""

from seatrial.journal.entries import State
from seatrial.journal.events import ActionFinished, EffectRecorded
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, base_state, changes_of
from seatrial.measure.deeds import Deltas


class DeltaReader:
    """Reads them for the journals of one run; trials of one task share a base, which is read once."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._bases: dict[str, State] = {}

    def read(self, journal: Journal) -> Deltas:
        """What one journal names.

        Raises:
            JournalError: an object is missing or damaged.
        """
        effects = [e for e in journal.events if isinstance(e, ActionFinished | EffectRecorded)]
        large = {e.changes_object: changes_of(e, self._objects) for e in effects if e.changes_object}
        if not large and not any(event.changes for event in effects):
            return Deltas({}, {})
        name = journal.started.base
        if name not in self._bases:
            self._bases[name] = base_state(journal, self._objects)
        return Deltas(self._bases[name], large)
