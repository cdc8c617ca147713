"""Tasks that all tests of a run share, and a desk: a task's real services and a workspace to act in."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.services.http import Request, ServiceServer
from seatrial.environment.services.services import Services
from seatrial.environment.services.stock import build_stock
from seatrial.families.ledger import SOURCES, Knobs, generate
from seatrial.families.ledger.book import Book, book_of
from seatrial.families.ledger.judging import judge
from seatrial.families.ledger.sources import Archive, entries_of
from seatrial.families.sdist import archive_of
from seatrial.journal.objects import ObjectStore
from seatrial.spec.faults import Source
from seatrial.spec.loading import LoadedTask, load_task
from seatrial.spec.service_file import parse_service
from tests.house.files import ROOT

DOWNLOADS = ROOT / "build" / "downloads"
Made = Callable[..., Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Generates a task of a data set and knobs, once. Needs the index the first time."""
    base = tmp_path_factory.mktemp("ledger")

    def make(data: str = "weather", **knobs: Any) -> Path:
        wanted = Knobs(**knobs)
        folder = base / wanted.name(data)
        return folder if folder.exists() else generate(data, wanted, folder, DOWNLOADS)

    return make


def book(data: str = "weather", **knobs: Any) -> Book:
    """The instance that a task is written from."""
    source = SOURCES[data]
    return book_of(source, Knobs(**knobs), entries_of(source, archive_of(Archive(), DOWNLOADS)))


class Desk:
    """One task under way.

    Attributes:
        task: as it is loaded.
        services: the real ones.
        workspace: what the agent would have as its own.
    """

    def __init__(self, task: LoadedTask, folder: Path) -> None:
        self.task, self._folder = task, folder
        self.workspace, self._rows = folder / "workspace", folder / "rows"
        shutil.copytree(task.folder / "environment", self.workspace)
        self._objects = ObjectStore(folder / "objects")
        text = (task.folder / "services/sql.toml").read_text()
        stocked = {"sql": parse_service(Source("sql"), "sql", text)}
        stock = build_stock(
            str(folder / "stock"), stocked, self._objects, lambda path: (task.folder / path).read_text(),
            task.spec.id,
        )  # fmt: skip
        self.services = Services(stock, str(folder / "live"), self._objects)
        self._server = ServiceServer(("sql",), str(folder / "sockets"))
        self._server.responder = self._respond

    def _respond(self, request: Request) -> tuple[int, Any]:
        return self.services.call("sql", request.verb, request.arguments, via="http").shown()

    def play(self, step: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> str:
        """One step of a script or plan; what it shows."""
        step = {name: _filled(value, facts or {}) for name, value in step.items()}
        path = self.workspace / step.get("path", "")
        match step["tool"]:
            case "shell":
                done = subprocess.run(
                    ["bash", "-c", step["command"]], cwd=self.workspace, capture_output=True, text=True,
                    check=False, env={**os.environ, "SERVICE_SOCKETS": self._server.folder},
                )  # fmt: skip
                return done.stdout + done.stderr
            case "write_file":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step["content"])
            case "edit_file":
                assert path.read_text().count(step["old"]) == 1
                path.write_text(path.read_text().replace(step["old"], step["new"]))
            case "read_file":
                return path.read_text()
            case "sql.query" | "sql.execute":
                verb = step["tool"].removeprefix("sql.")
                answer = self.services.call("sql", verb, {"statement": step["statement"]})
                assert answer.status == 200, answer
                return str(answer.body)
        return ""

    def disturb(self, name: str) -> None:
        """What a perturbation of kind ``state`` changes."""
        spec = next(each for each in self.task.spec.perturbation if each.id == name)
        if "write" in spec.change:
            text = (self.task.folder / spec.change["write"]).read_text()
            (self.workspace / spec.change["to"].removeprefix("files:")).write_text(text)
        else:
            self.services.set_rows("sql", tomllib.loads((self.task.folder / spec.change["set"]).read_text()))

    def rows(self) -> Path:
        """The folder of all rows, as verifiers are shown it."""
        self.services.settle()
        shutil.rmtree(self._rows, ignore_errors=True)
        for path, entry in self.services.entries().items():
            target = self._rows / path.removeprefix("services/")
            target.parent.mkdir(parents=True, exist_ok=True)
            assert entry.digest is not None
            target.write_bytes(self._objects.get(entry.digest))
        return self._rows

    def failing(self, goal: int = 1) -> set[str]:
        """Subgoals of a version of the goal that fail, by the verifiers' own code."""
        with _placed(self.workspace, {"SERVICE_ROWS": str(self.rows())}):
            found = {
                each.id: judge.judged(str(self.task.folder / "verifiers"), each.id)["verdict"]
                for each in self.task.spec.subgoals_for(goal)
            }
        return {name for name, verdict in found.items() if verdict != "pass"}

    def close(self) -> None:
        self._server.close()
        self.services.close()


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        for name, fact in facts.items():
            value = value.replace(f"{{{{{name}}}}}", str(fact))
    return value


@contextmanager
def _placed(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    before, known = os.getcwd(), dict(os.environ)
    os.chdir(folder)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(known)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[[Path], Desk]]:
    """Opens desks on tasks; they are closed when the test has ended."""
    opened: list[Desk] = []

    def open_desk(task: Path) -> Desk:
        opened.append(Desk(load_task(task), tmp_path / f"desk{len(opened)}"))
        return opened[-1]

    yield open_desk
    for each in opened:
        each.close()
