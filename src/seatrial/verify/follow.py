"""Follows a state through its changes: what one declaration sees of it, and the folders made of that."""

import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seatrial.environment.confine.host import Host
from seatrial.journal.entries import Entry, State
from seatrial.journal.events import ActionFinished, ActionRequested, EffectRecorded
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, base_state, changes_of
from seatrial.verify.reads import Reads, Seen
from seatrial.verify.view import View

LEFT_OUT_SHOWN = 50


class _Folder:
    """A view and the paths it has not caught up with; null when all may differ."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.behind: set[str] | None = None

    def catch_up(self, entries: State) -> None:
        """Make the folder hold the entries."""
        if self.behind is None or self.behind:
            behind, self.behind = self.behind, None
            self.view.sync(entries, behind)
        self.behind = set()


class Follower:
    """One declaration's part of the state that is being judged; subgoals with the same reads share it.

    Views are made when first needed: the one for probes belongs to another uid, so that agent-made code finds
    its files its own.
    """

    _count = 0

    def __init__(self, host: Host, scratch: str, objects: ObjectStore, reads: Reads) -> None:
        Follower._count += 1
        self._host, self._scratch, self._objects = host, scratch, objects
        self.reads, self.seen = reads, Seen(reads, objects)
        self._number = Follower._count
        self._folders: dict[int, _Folder] = {}
        self._made = 0
        self._lock = threading.Lock()

    def apply(self, changes: Iterable[Entry]) -> bool:
        """Take in changes; whether anything visible moved."""
        return self._note(self.seen.apply(changes))

    def become(self, state: State) -> bool:
        """Take in a whole state; whether anything visible moved."""
        return self._note(self.seen.become(state))

    def _note(self, touched: set[str]) -> bool:
        for folder in self._folders.values():
            if folder.behind is not None:
                folder.behind |= touched
        return bool(touched)

    def layer(self, role: str) -> str:
        """The up-to-date view for a role (``verifier`` or ``probe``), relative to the scratch folder."""
        uid = self._host.uid(role)
        with self._lock:
            # Out of the table while it changes: a view that could not be finished is not used again.
            folder = self._folders.pop(uid, None) or self._new_folder(uid)
            folder.catch_up(self.seen.entries)
            self._folders[uid] = folder
            return os.path.relpath(folder.view.folder, self._scratch)

    def _new_folder(self, uid: int) -> _Folder:
        self._made += 1
        place = Path(self._scratch) / f"views/{self._number}-{self._made}"
        return _Folder(View(place, uid, self._objects, self.reads.roots))

    def left_out(self) -> dict[str, str]:
        """Visible paths that the verifier's view lacks, with reasons; the first few."""
        folder = self._folders.get(self._host.uid("verifier"))
        return dict(sorted(folder.view.left_out.items())[:LEFT_OUT_SHOWN]) if folder is not None else {}


@dataclass(frozen=True)
class Step:
    """What moved up to the next action: the state at step k is everything before step k + 1 is requested."""

    number: int
    goal_version: int
    changes: list[Entry]


def steps(journal: Journal, objects: ObjectStore) -> Iterator[Step]:
    """The journal's steps in order; step 0 brings the whole base."""
    number, version = 0, 1
    changes = list(base_state(journal, objects).values())
    for event in journal.events:
        if isinstance(event, ActionRequested):
            yield Step(number, version, changes)
            number, changes = event.step, []
        elif isinstance(event, ActionFinished | EffectRecorded):
            changes = changes + changes_of(event, objects)
        version = max(version, event.goal_version)
    yield Step(number, version, changes)
