"""What journals only name: the base states and the large deltas, fetched for the measures."""

import msgspec

from seatrial.journal.entries import State
from seatrial.journal.events import ActionFinished, BeliefReported, EffectRecorded
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, base_state, changes_of
from seatrial.measure.deeds import Deltas
from seatrial.measure.scene import needed_texts
from seatrial.spec.task import Task


class DeltaReader:
    """Reads them for the journals of one run; trials of one task share a base, which is read once."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._bases: dict[str, State] = {}

    def read(self, journal: Journal, task: Task | None = None) -> Deltas:
        """What one journal names.

        Args:
            task: of the trial, for the contents that measures of disturbance and belief look into; without it
                there are none.

        Raises:
            JournalError: an object is missing or damaged.
        """
        effects = [e for e in journal.events if isinstance(e, ActionFinished | EffectRecorded)]
        large = {e.changes_object: changes_of(e, self._objects) for e in effects if e.changes_object}
        still = not large and not any(event.changes for event in effects)
        if still and not any(isinstance(event, BeliefReported) for event in journal.events):
            return Deltas({}, {})
        name = journal.started.base
        if name not in self._bases:
            self._bases[name] = base_state(journal, self._objects)
        deltas = Deltas(self._bases[name], large)
        wanted = set() if task is None else needed_texts(task, journal.events, deltas)
        return msgspec.structs.replace(deltas, texts={digest: self._objects.get(digest) for digest in wanted})
