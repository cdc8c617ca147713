"""A journal as what measures of disturbance look at: each action with what it read, wrote and called.

A path is a file of the state or a row of a service (``services/NAME/TABLE/KEY.json``); folders are the way to
a product and no product, so they are left out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from seatrial.journal.entries import Entry, is_row
from seatrial.journal.events import ActionFinished, ActionRequested, EffectRecorded, Event, ServiceCalled
from seatrial.measure.deeds import Deltas, changes_in
from seatrial.measure.violations import TALK
from seatrial.spec.conditions import compile_condition

# Payment required, not found, conflict: the service has looked at its rows and refused.
DECIDED_BY_ROWS = (402, 404, 409)
# Arguments of services' verbs whose value is the key of a row.
KEYS = ("id", "account", "charge", "service", "path", "message", "ticket")


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One action.

    Attributes:
        order: place of its last line in the journal, so that what came before and after a firing is told
            apart within a step.
        asked: tool and arguments in one canonical form.
        finished: null when it never finished: what it did is unknown.
        talk: runs nothing in the environment.
        writes: files and rows it left behind, ``absent`` where one is gone.
        reads: files it read; null where that could not be seen.
        calls: requests it made of services.
    """

    step: int
    order: int
    tool: str
    arguments: Mapping[str, Any]
    asked: bytes
    finished: ActionFinished | None
    talk: bool
    writes: Sequence[Entry] = ()
    reads: frozenset[str] | None = frozenset()
    calls: Sequence[ServiceCalled] = ()

    @property
    def ran_well(self) -> bool:
        """Whether it ran and its outcome is ok."""
        return self.finished is not None and self.finished.outcome == "ok"

    @property
    def went_wrong(self) -> bool:
        """Whether it failed, was cut short or was denied."""
        return self.finished is not None and self.finished.outcome in ("failed", "partial", "denied")

    def read_it(self, path: str) -> bool | None:
        """Whether it read a file or a row; null where the host could not see, or an answer only hints."""
        if is_row(path):
            if any(names_row(call, path) for call in self.calls):
                return True
            return None if any(hints_at_row(call, path) for call in self.calls) else False
        return None if self.reads is None else path in self.reads


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """A change beside actions: by a perturbation, a background process or the harness putting back.

    Attributes:
        own: the first part of an action that such a change came into; the action has it too.
        seq: number of its line.
    """

    step: int
    order: int
    actor: str
    note: str
    changes: Sequence[Entry]
    own: bool = False
    seq: int = 0


class Trail(msgspec.Struct, frozen=True, kw_only=True):
    """All of one journal.

    Attributes:
        moves: actions and changes between them, in order.
        base: the proven reset, by path.
    """

    moves: Sequence[Act | Shift]
    base: Mapping[str, Entry]

    @property
    def acts(self) -> list[Act]:
        """The actions alone."""
        return [move for move in self.moves if isinstance(move, Act)]

    @property
    def reads_seen(self) -> bool:
        """Whether the reads of every action that ran are known."""
        return all(act.reads is not None for act in self.acts)

    @property
    def finished(self) -> bool:
        """Whether every action that ran something ended, so that all changes are known."""
        return all(act.finished is not None or act.talk for act in self.acts)


def rest_of(act: Act, begun: Sequence[Shift]) -> Act:
    """What an action did after its first parts; which of its reads came then nobody knows.

    Args:
        begun: those parts, in order; one or more.
    """
    left = {entry.path: entry for part in begun for entry in part.changes}
    return msgspec.structs.replace(
        act,
        reads=None,
        writes=[entry for entry in act.writes if entry != left.get(entry.path)],
        calls=[call for call in act.calls if call.seq > begun[-1].seq],
    )


def trail_of(events: Sequence[Event], deltas: Deltas) -> Trail:
    """Gather each action's lines; one pass.

    Args:
        events: the whole journal, in order.
        deltas: what the journal only names.
    """
    finished = {e.step: (i, e) for i, e in enumerate(events) if isinstance(e, ActionFinished)}
    calls: dict[int, list[ServiceCalled]] = {}
    for event in events:
        if isinstance(event, ServiceCalled) and event.actor != "background":
            calls.setdefault(event.step, []).append(event)
    moves: list[Act | Shift] = []
    step = 0
    for order, event in enumerate(events):
        if isinstance(event, ActionRequested):
            step = event.step
            at, done = finished.get(step, (order, None))
            moves.append(_act(event, at, done, calls.get(step, []), deltas))
        elif isinstance(event, EffectRecorded):
            changes = products(changes_in(event, deltas))
            moves.append(
                Shift(
                    step=step, order=order, actor=event.actor, note=event.note, changes=changes,
                    own=event.is_told_again, seq=event.seq,
                )
            )  # fmt: skip
    return Trail(moves=_in_order(moves), base=deltas.base)


def _act(
    asked: ActionRequested,
    order: int,
    done: ActionFinished | None,
    calls: list[ServiceCalled],
    deltas: Deltas,
) -> Act:
    talk = asked.tool in TALK
    nothing_ran = talk or "." in asked.tool or done is None or done.outcome == "denied"
    reads = [] if done is None else done.reads
    return Act(
        step=asked.step,
        order=order,
        tool=asked.tool,
        arguments=asked.arguments,
        asked=msgspec.json.encode([asked.tool, asked.arguments], order="deterministic"),
        finished=done,
        talk=talk,
        writes=[] if done is None else products(changes_in(done, deltas)),
        reads=frozenset(reads or ()) if nothing_ran or reads is not None else None,
        calls=calls,
    )


def _in_order(moves: list[Act | Shift]) -> list[Act | Shift]:
    """By the place of their last lines: a change made before an action ran stands before that action."""
    return sorted(moves, key=lambda move: move.order)


def products(changes: Iterable[Entry]) -> list[Entry]:
    """Changes without those of folders."""
    return [entry for entry in changes if entry.kind != "dir"]


def names_row(call: ServiceCalled, path: str) -> bool:
    """Whether a request looks at one row of its service, and its answer came back.

    It looks at the rows that one of its arguments names by key, and at all rows of a table that its SQL
    names. A request without an effect that names no key (a list, a search) looks at all rows. Nobody looks at
    the ledger.
    """
    service, table, key = row_of(path)
    if service != call.service or table == "ledger" or not call.acknowledged or call.status >= 400:
        return False
    if "statement" in call.arguments:
        return re.search(rf"\b{re.escape(table)}\b", str(call.arguments["statement"])) is not None
    named = keys_named(call)
    return key in named or not (named or call.effect)


def hints_at_row(call: ServiceCalled, path: str) -> bool:
    """Whether a request was refused by what one row holds, so that its answer may give the row away."""
    service, table, key = row_of(path)
    decided = call.service == service and table != "ledger" and call.acknowledged and call.fault is None
    return decided and call.status in DECIDED_BY_ROWS and key in keys_named(call)


def keys_named(call: ServiceCalled) -> set[str]:
    """Keys of rows among the arguments of a request."""
    return {str(call.arguments[name]) for name in KEYS if call.arguments.get(name) is not None}


def row_of(path: str) -> tuple[str, str, str]:
    """Service, table and key of a row's path."""
    _, service, table, file = (*path.split("/", 3), "", "", "")[:4]
    key = re.sub("(?:=[0-9A-F]{2})+", _unescaped, file.removesuffix(".json"))
    return service, table, key


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("=", "")).decode("utf-8", "replace")


def matches_call(tool: str, arguments: Mapping[str, Any], pattern: Mapping[str, Any]) -> bool:
    """Whether a call is one that ``{ tool = …, where = {…} }`` describes; tools may be globs.

    Raises:
        ConditionError: a condition means nothing, which a loaded task cannot hold.
    """
    wanted = pattern.get("tool")
    if wanted is not None and not fnmatchcase(tool, str(wanted)):
        return False
    where = pattern.get("where", {})
    return all(n in arguments and compile_condition(c).matches(arguments[n]) for n, c in where.items())
