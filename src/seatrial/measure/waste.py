"""Idle actions and wasted ones of two kinds, by rules over the journal alone (E3).

All three need a state that can be trusted and are null unless the trial's audit found the tracked state equal
to the live one. None is part of another, and they are never added up. Each takes one pass over the journal.
"""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.journal.events import ActionFinished, Event, TrialEnded
from seatrial.measure.deeds import Deed, Deltas, Drift, deeds
from seatrial.measure.undone import undone_steps

# Outcome, exit code, digest of the observation or null where it does not count.
Evidence = tuple[str, int | None, str | None]


class WastedSteps(msgspec.Struct, frozen=True, kw_only=True):
    """Which actions they are, by step, ascending; null is unknown.

    Attributes:
        idle: changed nothing and showed nothing new.
        unread: repeated work that stood already, without having looked.
        undone: work that the agent itself took back later.
    """

    idle: list[int] | None = None
    unread: list[int] | None = None
    undone: list[int] | None = None


class Waste(msgspec.Struct, frozen=True, kw_only=True):
    """How many there are. Names are the TrialRecord's columns; null is unknown."""

    idle_actions: int | None
    wasted_unread: int | None
    wasted_undone: int | None


def wasted_steps(events: Sequence[Event], deltas: Deltas | None) -> WastedSteps:
    """Find the idle and the wasted actions of one trial.

    Args:
        events: the whole journal, in order.
        deltas: what the journal only names; without it the wasted actions are unknown.
    """
    ended = next((event for event in reversed(events) if isinstance(event, TrialEnded)), None)
    if ended is None or ended.audit != "equal":
        return WastedSteps()
    course = list(deeds(events, deltas))
    if deltas is None:
        return WastedSteps(idle=idle_steps(course))
    return WastedSteps(
        idle=idle_steps(course), unread=unread_steps(course), undone=undone_steps(course, deltas.base)
    )


def count_waste(steps: WastedSteps) -> Waste:
    """The TrialRecord's columns."""
    return Waste(
        idle_actions=None if steps.idle is None else len(steps.idle),
        wasted_unread=None if steps.unread is None else len(steps.unread),
        wasted_undone=None if steps.undone is None else len(steps.undone),
    )


def idle_steps(course: Iterable[Deed | Drift]) -> list[int] | None:
    """Actions that left the state as it was and showed what the same request had shown in the same state.

    A request is the same when tool and arguments are; what it shows is compared as in ``evidence_of``.
    Where anything moved between actions, looking again is checking, so what was shown before is forgotten.
    Talk (``finish``, ``report_belief`` and the like) is never idle.

    Returns:
        Null when an action whose outcome is unknown may be one of them, or may have shown the same before.
    """
    shown: dict[tuple[bytes, str], set[Evidence | None]] = {}
    idle, doubtful = list[int](), False
    for move in course:
        if isinstance(move, Drift):
            if move.moved:
                shown.clear()
            continue
        if move.talk:
            continue
        before = shown.setdefault((move.asked, move.pre), set())
        seen = evidence_of(move.finished)
        if seen in before and seen is not None and move.changed_nothing:
            idle.append(move.step)
        elif before and (move.finished is None or move.changed_nothing) and (seen is None or None in before):
            doubtful = True
        before.add(seen)
    return None if doubtful else idle


def evidence_of(finished: ActionFinished | None) -> Evidence | None:
    """What of an action's answer must differ for a repeat of it to have shown something new.

    Of a command that failed or ran out of time it is outcome and exit code alone: the words may tell seconds
    and process numbers, and the command has failed just the same. Of all others it is the observation too.

    Returns:
        Outcome, exit code and, where it counts, digest of the observation; null where the outcome is unknown.
    """
    if finished is None or finished.outcome == "unknown":
        return None
    # Where a person cut a command short, its exit code is that person's doing and says nothing of it.
    own_failure = bool(finished.exit_code) and not finished.notes.get("interrupted")
    return finished.outcome, finished.exit_code, None if own_failure else finished.observation


class _Work:
    """What the latest of some equal requests left behind: whether it stands, and whether it was read."""

    def __init__(self, moment: int, asked: bytes) -> None:
        self.moment, self.asked = moment, asked
        self.intact, self.looked_at = True, False


def unread_steps(course: Iterable[Deed | Drift]) -> list[int] | None:
    """Requests equal to an earlier one that changed the state, made again although the effect stands unread.

    The repeat itself changes nothing; nobody has written any of the earlier one's paths since, and no action
    between the two read one of them. A repeat that reads what changed in between (a test run over an edited
    file) checks something new and does not count, nor do requests turned away or answered by their key.

    Returns:
        Null when such a repeat is there and reads between the two, or its own, could not be seen; or when an
        action that never finished may be one of the two. Empty without a candidate, whatever was not seen.
    """
    latest: dict[bytes, _Work] = {}
    writer: dict[str, _Work] = {}
    written: dict[str, int] = {}
    lost: set[bytes] = set()
    found, doubtful, blind = list[int](), False, 0
    for moment, move in enumerate(course, start=1):
        if isinstance(move, Deed) and not move.talk:
            work, done = latest.get(move.asked), move.finished
            if done is None:
                doubtful |= work is not None and work.intact and not work.looked_at
                lost.add(move.asked)
            elif move.changed_nothing and not turned_away(done):
                if move.asked in lost:
                    doubtful = True
                elif work is not None and work.intact and not work.looked_at:
                    unseen = done.reads is None or blind > work.moment
                    doubtful |= unseen
                    checks = any(written.get(path, 0) > work.moment for path in done.reads or [])
                    found += [] if unseen or checks else [move.step]
            if done is None or done.reads is None:
                blind = moment
            for path in [] if done is None else done.reads or []:
                if path in writer and writer[path].asked != move.asked:
                    writer[path].looked_at = True
        made = _Work(moment, move.asked if isinstance(move, Deed) else b"")
        for entry in move.changes:
            if entry.path in writer:
                writer[entry.path].intact = False
            writer[entry.path], written[entry.path] = made, moment
        if move.changes and isinstance(move, Deed):
            latest[move.asked] = made
            lost.discard(move.asked)
    return None if doubtful else found


def turned_away(done: ActionFinished) -> bool:
    """Whether the request ran nothing: denied, malformed, or the answer to a key given before."""
    return done.outcome == "denied" or bool(done.notes.get("malformed")) or "repeats" in done.notes
