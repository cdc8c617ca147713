"""The services of one trial: every call goes through here, one at a time, and every row is known here.

A call is looked up, its key compared with the ledger, a fault taken if one waits for it, the verb carried out
with all its rows or none, and the effect entered into the ledger. Reads of ``settle`` see whole effects only.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from seatrial.environment.services import faults
from seatrial.environment.services.call import PARTLY_DONE, Answer, Call, Via, refused
from seatrial.environment.services.faults import Armed, Kind
from seatrial.environment.services.kinds import KINDS
from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Row, row_bytes, row_entry, row_path
from seatrial.environment.services.service import Service
from seatrial.environment.services.sql_tables import SqlTables
from seatrial.environment.services.stock import Stock
from seatrial.environment.services.stop import StoppedPartway
from seatrial.environment.services.store import PathIndex, RowStore
from seatrial.errors import EnvironmentFault
from seatrial.journal.entries import Entry, State
from seatrial.journal.objects import ObjectStore
from seatrial.spec.services import VERBS

# Paths of an effect that its ledger row names; the number of all of them stands beside.
_PATHS_IN_LEDGER = 100
# How long the trial waits for a statement of somebody else before it has it ended.
_MOMENT_SECONDS = 1.0


class Services:
    """The live services of one trial, as a whole.

    Args:
        stock: what the task gives them.
        folder: new folder for the databases.
        objects: where rows go before the line that names them.
        delta: rows to begin with, as a difference from the stock (after a fork or restore).

    Attributes:
        names: of the services.
    """

    def __init__(self, stock: Stock, folder: str, objects: ObjectStore, delta: State | None = None) -> None:
        self.names, self._objects = tuple(stock.settings), objects
        self._lock = threading.RLock()
        self._armed: list[Armed] = []
        os.makedirs(folder, mode=0o700)
        stock.copy_to(folder)
        self._store = RowStore(f"{folder}/{RowStore.FILE}")
        self._tables = SqlTables(folder) if "sql" in self.names else None
        self._services: dict[str, Service] = {}
        for name, settings in stock.settings.items():
            self._services[name] = KINDS[name](self._store, settings, self._tables)
        if delta:
            self._restore(stock, delta)

    def _restore(self, stock: Stock, delta: State) -> None:
        inside = [entry for entry in delta.values() if entry.path.split("/")[1] in self._services]
        tables = [entry for entry in inside if self._in_tables(entry.path)]
        rest = [entry for entry in inside if not self._in_tables(entry.path)]
        self._store.restore(rest, self._objects, PathIndex(stock.rows, self._objects))
        if self._tables is not None:
            self._tables.restore(tables, self._objects)

    def _in_tables(self, path: str) -> bool:
        """Whether a row lies in the database of ``sql`` itself."""
        _, service, table, _ = path.split("/", 3)
        return self._tables is not None and service == "sql" and table in self._tables.names

    @contextmanager
    def turn(self, hurry: bool = False) -> Iterator[None]:
        """Have the services to oneself; may be nested.

        Args:
            hurry: for the trial itself: it waits for a moment; then the statement under way is ended.
        """
        if not self._lock.acquire(timeout=_MOMENT_SECONDS if hurry else -1):
            if self._tables is not None:
                self._tables.hurried = True
            self._lock.acquire()
            if self._tables is not None:
                self._tables.hurried = False
        try:
            yield
        finally:
            self._lock.release()

    # -- calls ----------------------------------------------------------------------------------------
    def call(
        self, service: str, verb: str, arguments: dict[str, Any], key: str = "", via: Via = "tool",
        step: int = 0,
    ) -> Answer:  # fmt: skip
        """Carry out one request, whole or not at all.

        Args:
            service: one of ``names``.
            verb: one that it has.
            arguments: checked against the verb.
            key: idempotency key. The same request under it again gets the first answer and has no second
                effect; another request under it is refused with 409.
            via: how it came.
            step: the step under way, for the ledger.

        Raises:
            EnvironmentFault: the database cannot be written.
        """
        call = Call(service, verb, arguments, key, via, step)
        try:
            with self.turn(hurry=via == "tool"):
                return self._answer(call)
        except sqlite3.Error as fault:
            raise EnvironmentFault(f"the rows of {service} cannot be kept: {fault}. Free space.") from fault

    def _answer(self, call: Call) -> Answer:
        if (expired := self._expired(call)) is not None:
            return expired
        fault = next((armed.take() for armed in self._armed if armed.meets(call)), None)
        if fault is not None and (answer := self._refused_by(fault, call)) is not None:
            return answer
        before = None
        if call.key and VERBS[call.service][call.verb].writes:
            before = self._store.under_key(call.service, call.key)
        service = self._services[call.service]
        answer = _again(before, call) if before else self._carry_out(service, call, fault)
        return answer if fault is None else _altered(answer, fault)

    def _expired(self, call: Call) -> Answer | None:
        known = self._store.get(call.service, "credential", "agent")
        if call.verb == "renew" or known is None or known["valid"]:
            return None
        return _no(
            Refusal(401, f"the credential has expired; call {call.service}.renew"), "expired_credential"
        )

    def _refused_by(self, fault: Armed, call: Call) -> Answer | None:
        """What a fault answers in place of the service; null where the service does its work."""
        if fault.fault == "rate_limit":
            problem = f"too many requests; try again in {fault.seconds:g} seconds"
            return _no(Refusal(429, problem), fault.fault)
        if fault.fault == "transient":
            return _no(Refusal(503, "temporarily out of service; try again"), fault.fault)
        if fault.fault == "expired_credential":
            known = self._store.get(call.service, "credential", "agent") or {"id": "agent", "renewals": 0}
            self._store.put(call.service, "credential", {**known, "valid": False})
            return self._expired(call)
        return None

    def _carry_out(self, service: Service, call: Call, fault: Armed | None) -> Answer:
        """Run a verb with all its rows or none, and enter its effect into the ledger."""
        service.begin(stop_partway=fault is not None and fault.fault == "partly")
        with self._whole(service) as undo:
            try:
                status, body = 200, service.verb(call.verb)(call.arguments)
                if service.stop_partway:
                    raise StoppedPartway
            except StoppedPartway:
                said = "the service failed while it worked; a part may have been done"
                status, body = PARTLY_DONE, refused(PARTLY_DONE, said)
            except (Refusal, OverflowError, sqlite3.DataError) as refusal:
                undo()
                return _no(refusal if isinstance(refusal, Refusal) else Refusal(400, "a number is too large"))
            if not service.effect:
                return Answer(status, body)
            self._enter(service, call, status, body)
        return Answer(status, body, True, service.number, compensates=service.compensates)

    @contextmanager
    def _whole(self, service: Service) -> Iterator[Callable[[], None]]:
        with self._store.whole() as undo_rows, service.whole() as undo_tables:
            yield lambda: (undo_rows(), undo_tables(), None)[-1]

    def _enter(self, service: Service, call: Call, status: int, body: Any) -> None:
        row = {
            "id": service.number, "verb": call.verb, "arguments": call.arguments, "key": call.key,
            "effect": service.effect[:_PATHS_IN_LEDGER], "effects": len(service.effect),
            "compensates": service.compensates, "step": call.step, "status": status, "answer": body,
        }  # fmt: skip
        self._store.put(call.service, "ledger", row)

    # -- for whoever disturbs the trial -----------------------------------------------------------------
    def arm(
        self, fault: Kind, service: str, verb: str = "*", times: int = 1,
        where: Mapping[str, Any] | None = None, seconds: float = 5.0,
    ) -> Armed:  # fmt: skip
        """Let a fault happen to the next calls that match; see ``faults.arm``.

        Returns:
            The fault: ``fired`` counts the calls it has met, ``left`` those to come; set ``left`` to 0 to
            disarm it. An ``Answer`` and ``service.called`` name the fault they met.

        Raises:
            ValueError: no such fault, or the trial has no such service.
            ConditionError: a condition means nothing.
        """
        if service not in self._services:
            raise ValueError(
                f"this trial has no service {service!r}; it has {', '.join(self.names) or 'none'}."
            )
        armed = faults.arm(fault, service, verb, times, where, seconds)
        with self._lock:
            self._armed.append(armed)
        return armed

    def set_rows(self, service: str, tables: Mapping[str, Sequence[Row]]) -> list[str]:
        """Change rows from outside, without a call; nothing is entered into the ledger.

        Args:
            service: whose.
            tables: table to rows. A row whose ``id`` (in ``sql``: ``rowid``) is there already has the given
                columns replaced; one that is not is added; ``_delete = true`` removes it. A row of a numbered
                table without an ``id`` is added under the next number.

        Returns:
            State paths that were written, to be settled like any effect.

        Raises:
            ValueError: no such service, table or column, or a row that cannot be written.
        """
        if service not in self._services:
            raise ValueError(f"this trial has no service {service!r}.")
        with self._lock, self._store.whole() as undo, self._services[service].whole() as undo_tables:
            try:
                return [
                    self._services[service].set_row(table, row)
                    for table, rows in tables.items()
                    for row in rows
                ]
            except (Refusal, ValueError, OverflowError, sqlite3.Error) as fault:
                undo()
                undo_tables()
                problem = fault.problem if isinstance(fault, Refusal) else fault
                raise ValueError(f"rows of {service}: {problem}") from fault

    # -- the truth ------------------------------------------------------------------------------------
    def rows(self, service: str, table: str) -> list[Row]:
        """All rows of a table, as the server has them, in the order of their keys."""
        with self._lock:
            return list(self._services[service].truth(table))

    def entries(self) -> State:
        """Every row as an entry, read anew from the databases: what an audit compares with."""
        with self._lock:
            return {path: row_entry(path, data) for path, data in self._every()}

    def _every(self) -> Iterable[tuple[str, bytes]]:
        yield from self._store.every()
        if self._tables is not None:
            yield from self._tables.every()

    @property
    def unsettled(self) -> bool:
        """Whether rows were touched since the last ``settle``."""
        return bool(self._store.dirty) or (self._tables is not None and bool(self._tables.dirty))

    def settle(self) -> list[Entry]:
        """Entries of all rows touched since the last call, their bytes stored; ``absent`` for those gone.

        Raises:
            JournalError: the disk is full.
        """
        with self.turn(hurry=True):
            changed = [self._entry(row_path(*row), self._store.data(row)) for row in self._store.dirty]
            self._store.dirty.clear()
            if self._tables is not None:
                changed += [self._entry(path, data) for path, data in self._tables.take_dirty()]
        return changed

    def _entry(self, path: str, data: bytes | None) -> Entry:
        if data is None:
            return Entry(path=path, kind="absent")
        entry = row_entry(path, data)
        self._objects.put(data, entry.digest)
        return entry

    def close(self) -> None:
        """Close the databases."""
        with self._lock:
            self._store.close()
            if self._tables is not None:
                self._tables.close()


def _no(refusal: Refusal, fault: str | None = None) -> Answer:
    return Answer(refusal.status, refused(refusal.status, refusal.problem), fault=fault)


def _again(before: Row, call: Call) -> Answer:
    """The answer to a key that was used before."""
    if before["verb"] != call.verb or row_bytes(before["arguments"]) != row_bytes(call.arguments):
        return _no(Refusal(409, f"the key {call.key[:80]!r} was given to another request before"))
    return Answer(before["status"], before["answer"], repeats=before["id"], first_step=before["step"])


def _altered(answer: Answer, fault: Armed) -> Answer:
    """An answer as a fault lets the caller see it."""
    if fault.fault == "lost_ack":
        return replace(answer, fault=fault.fault, acknowledged=False)
    if fault.fault == "delay":
        return replace(answer, fault=fault.fault, delay=fault.seconds)
    if fault.fault == "partial" and answer.status == 200:
        return replace(answer, fault=fault.fault, status=206, body=faults.first_half(answer.body))
    return replace(answer, fault=fault.fault)
