"""Services of a small task, for tests: what each begins with, and how to open them without a world."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from seatrial.environment.services.services import Services
from seatrial.environment.services.stock import Stock, build_stock
from seatrial.journal.entries import Entry, State
from seatrial.journal.objects import ObjectStore
from seatrial.spec.faults import Source
from seatrial.spec.service_file import parse_service

FILES = {
    "mail": (
        '[settings]\naddress = "me@here.org"\n[[rows.messages]]\nfrom = "ann@here.org"\nsubject = "Hi"\n'
    ),
    "payments": (
        '[[rows.accounts]]\nid = "main"\nbalance = 100.5\n[[rows.accounts]]\nid = "empty"\nbalance = 0\n'
    ),
    "deploy": '[[rows.services]]\nid = "api"\nversions = ["1", "2", "3"]\nrunning = "1"\n',
    "tickets": '[[rows.tickets]]\ntitle = "Broken"\nbody = "It is."\n',
    "web": (
        "[settings]\nlines = 2\n"
        '[[rows.pages]]\nid = "/"\ntitle = "Home"\ntext = "1\\n2\\n3"\nlinks = ["/list"]\n'
        '[[rows.pages]]\nid = "/list"\ntitle = "List"\n'
        "[rows.pages.form]\n"
        'fields = [{ name = "what", choices = ["a", "b"] }, { name = "note", required = false }]\n'
        'adds_to = "/list"\n'
    ),
    "sql": (
        'script = "services/s.sql"\n[[table]]\nname = "t"\ncsv = "services/t.csv"\ncolumns = "a INTEGER, b"\n'
    ),
}
TEXTS = {
    "services/s.sql": (
        "CREATE TABLE u (id INTEGER PRIMARY KEY, name TEXT UNIQUE);\n"
        "INSERT INTO u VALUES (1, 'a'), (2, 'b'), (3, 'c');\n"
    ),
    "services/t.csv": "a,b\n1,x\n2,\n",
}


def make_stock(
    folder: Path, objects: ObjectStore, files: Mapping[str, str] = FILES, texts: Mapping[str, str] = TEXTS
) -> Stock:
    """The databases of these services, built below a folder."""
    stocked = {name: parse_service(Source(name), name, text) for name, text in files.items()}
    return build_stock(str(folder / "stock"), stocked, objects, texts.__getitem__, "example/test")


class Shop:
    """A folder with a stock, and the services opened on it."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        self.objects, self._folder, self._opened = ObjectStore(folder / "objects"), folder, 0
        self.stock = make_stock(folder, self.objects, files)

    @contextmanager
    def open(self, delta: State | None = None) -> Iterator[Services]:
        """Live services, in a state that differs from the stock."""
        self._opened += 1
        services = Services(self.stock, str(self._folder / f"live{self._opened}"), self.objects, delta)
        try:
            yield services
        finally:
            services.close()

    def delta(self, state: State) -> State:
        """How a state of all rows differs from the stock."""
        changed = {path: entry for path, entry in state.items() if self.stock.rows.get(path) != entry}
        gone = {p: Entry(path=p, kind="absent") for p in self.stock.rows if p not in state}
        return {**changed, **gone}
