"""What a call of a service costs, whole: policy, rows, fingerprint, journal; at growing numbers of rows."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.services.stock import build_stock
from seatrial.environment.state.base import index_base, lay_out
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter
from seatrial.gateway.policy import Policy
from seatrial.gateway.services import ServiceDoor
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.service_file import SqlTable, Stocked
from seatrial.spec.task import Environment, Goal, Subgoal, Task

SIZES = (10, 1_000, 100_000)
CALLS = 200
TASK = Task(
    schema="seatrial/task@1",
    id="bench/services",
    version="1.0.0",
    environment=Environment(services=["mail", "sql"]),
    goal=[Goal(instruction="instruction.md")],
    subgoal=[Subgoal(id="one", verifier="verifiers/one")],
)
Call = tuple[str, dict[str, Any]]
CALLED: dict[str, Callable[[int], Call]] = {
    "mail.send": lambda n: ("mail.send", {"to": "a@example.org", "subject": f"{n}", "body": "text"}),
    "mail.list": lambda n: ("mail.list", {"folder": "inbox"}),
    "sql.execute": lambda n: ("sql.execute", {"statement": f"UPDATE t SET b = b || '!' WHERE a = {n % 10}"}),
    "sql.query": lambda n: ("sql.query", {"statement": f"SELECT b FROM t WHERE a = {n % 10}"}),
}


def _ground(host: Host, folder: Path, size: int) -> Ground:
    """A base with so many messages, and as many rows in a table."""
    scratch, objects = folder / "scratch", ObjectStore(folder / "objects")
    place = scratch / "bases" / "one"
    lay_out(None, place, host.uid("world") if host.mode == "root" else None)
    text = {"folder": "inbox", "from": "b@example.org", "to": "", "body": "text"}
    messages = [{"id": n + 1, **text, "subject": f"{n}"} for n in range(size)]
    table = SqlTable(name="t", csv="t.csv", columns="a INTEGER PRIMARY KEY, b TEXT")
    stocked = {"mail": Stocked({}, {"messages": messages}), "sql": Stocked({}, {}, None, (table,))}
    csv = "a,b\n" + "".join(f"{n},text\n" for n in range(size))
    stock = build_stock(str(folder / "stock"), stocked, objects, lambda path: csv, TASK.id)
    base = index_base(str(place), objects, host.uid("world"), (), stock.rows, stock.digests)
    return Ground(host, str(scratch), base, objects, stock=stock)


def _measured(host: Host, folder: Path, size: int) -> dict[str, float]:
    """Milliseconds: building the base once, opening one world, and the median call of each kind."""
    begun = time.perf_counter()
    ground = _ground(host, folder, size)
    built = time.perf_counter()
    world = BubblewrapSandbox(ground)
    found = {"build": (built - begun) * 1e3, "open": (time.perf_counter() - built) * 1e3}
    meter = Meter(TASK.budget)
    journal = JournalWriter(folder / "journal.jsonl", meter.now_us)
    assert world.services is not None
    door = ServiceDoor(world.services, journal, ground.objects, 60.0, 1 << 16)
    offer = Offer(tools=dict(door.tools), handlers=door.handlers())
    gateway = Gateway(world, journal, ground.objects, Policy(TASK, world), meter, offer)
    door.attach(gateway)
    for name, call in CALLED.items():
        times = []
        for number in range(CALLS):
            tool, arguments = call(number)
            begun = time.perf_counter()
            outcome = gateway.act(tool, arguments).outcome
            times.append(time.perf_counter() - begun)
            if outcome != "ok":
                raise RuntimeError(f"{name} ended with {outcome}")
        found[name] = median(times) * 1e3
    journal.close()
    world.close()
    return found


def main() -> list[str]:
    """One line a number of rows, then how a call's cost grew from the fewest rows to the most.

    Raises:
        RuntimeError: a call failed.
    """
    host, lines, all_found = prepare_host(slot=250), [f"load {os.getloadavg()[0]:.1f}"], []
    try:
        for size in SIZES:
            folder = Path(tempfile.mkdtemp(prefix="seatrial-bench-"))
            try:
                found = _measured(host, folder, size)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            all_found.append(found)
            shown = ", ".join(f"{name} {ms:.2f} ms" for name, ms in found.items())
            lines.append(f"{size} messages and {size} SQL rows: {shown}")
    finally:
        release_host(host)
    first, last = all_found[0], all_found[-1]
    ratios = ", ".join(f"{name} {last[name] / first[name]:.2f}" for name in CALLED)
    return [*lines, f"cost of a call at {SIZES[-1]} rows over that at {SIZES[0]}: {ratios}"]
