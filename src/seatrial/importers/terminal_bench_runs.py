"""Which trials a Terminal-Bench run holds: from files of single trials, the run's list and its lock file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from seatrial.errors import SpecError
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row
from seatrial.spec.faults import shown

LOCK = "tb.lock"
_REQUIRED = ("trial_name", "task_id", "is_resolved", "failure_mode", "parser_results")
# What a trial's own file and its run's list must agree on.
_SAME = ("task_id", "is_resolved", "failure_mode", "parser_results")
_SHOWN = 5


@dataclass(frozen=True)
class Trial:
    """One trial; ``listed_only`` when only its run's list tells of it."""

    name: str
    row: Row
    listed_only: bool


@dataclass
class Run:
    """One folder of a run.

    Attributes:
        name: the folder's name; empty where a file stands alone.
        dataset: ``name==version``; null where no lock file says so.
        harness: version of Terminal-Bench that ran it.
        timeout_multiplier: of all time limits.
        planned: trials by task that the lock file asks for.
    """

    source: int
    name: str
    trials: list[Trial] = field(default_factory=list)
    dataset: str | None = None
    harness: str | None = None
    timeout_multiplier: float | None = None
    planned: dict[str, int] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """The limit that names trials which were planned and are in no file; none when there are none."""
        there = Counter(trial.row.text("task_id") for trial in self.trials)
        short = {task: count - there[task] for task, count in self.planned.items() if there[task] < count}
        if not short:
            return []
        named = ", ".join(sorted(short)[:_SHOWN]) + (" …" if len(short) > _SHOWN else "")
        return [
            f"{self.name}: {sum(short.values())} planned trials are in no file ({named}): they are in no row."
        ]


def runs_of(pieces: Sequence[tuple[Piece, dict[str, Any]]], expects: str) -> list[Run]:
    """The runs of one source, by folder.

    Args:
        pieces: files with what they hold.
        expects: what should be given in their place, for the remedy.

    Raises:
        SpecError: a file is no result, or two tell different things of one trial.
    """
    own: dict[str, dict[str, Trial]] = {}
    listed: dict[str, dict[str, Trial]] = {}
    locks: dict[str, Row] = {}
    sources = {}
    for piece, plain in pieces:
        path = PurePosixPath(piece.path)
        if path.name == LOCK:
            folder, row = str(path.parent), Row(piece.name, "", plain)
            locks[folder] = row
        elif isinstance(plain.get("results"), list):
            folder = str(path.parent)
            for index, values in enumerate(plain["results"]):
                if not isinstance(values, dict):
                    raise SpecError(
                        piece.name, f"results[{index}]", f"{shown(values)} is no trial", f"Give {expects}"
                    )
                _add(
                    listed.setdefault(folder, {}), Row(piece.name, f"results[{index}]", values), expects, True
                )
        else:
            # A trial's file lies in a folder of its own, within its task's, within its run's.
            folder = str(path.parents[2]) if len(path.parents) > 2 else str(path.parent)
            _add(own.setdefault(folder, {}), Row(piece.name, "", plain), expects, False)
        sources[folder] = piece.source
    return [
        _run(source, folder, own.get(folder, {}), listed.get(folder, {}), locks.get(folder))
        for folder, source in sources.items()
    ]


def _add(trials: dict[str, Trial], row: Row, expects: str, listed_only: bool) -> None:
    row.require(_REQUIRED, expects)
    name = row.text("trial_name")
    if name in trials:
        raise row.fault("trial_name", f"{shown(name)} is there twice in this run", "Leave each trial in once")
    trials[name] = Trial(name, row, listed_only)


def _run(source: int, folder: str, own: dict[str, Trial], listed: dict[str, Trial], lock: Row | None) -> Run:
    for name, trial in own.items():
        twin = listed.get(name)
        for column in _SAME if twin else ():
            assert twin is not None
            here, there = trial.row.get(column), twin.row.get(column)
            if here != there:
                problem = f"{shown(here)}, but the run's list says {shown(there)} of {name}"
                raise trial.row.fault(column, problem, "Give files of one and the same run")
    run = Run(source, PurePosixPath(folder).name)
    run.trials = [*own.values(), *(trial for name, trial in listed.items() if name not in own)]
    if lock is not None:
        _read_lock(run, lock)
    return run


def _read_lock(run: Run, lock: Row) -> None:
    dataset = _part(lock, "dataset")
    name, version = dataset.maybe_text("name"), dataset.maybe_text("version")
    run.dataset = f"{name}=={version}" if name and version else None
    run.harness = _part(lock, "harness").maybe_text("version")
    config = _part(lock, "run_config")
    run.timeout_multiplier = config.number("global_timeout_multiplier", 0)
    tasks, attempts = dataset.get("task_ids"), config.whole("n_attempts")
    if isinstance(tasks, list) and attempts is not None:
        run.planned = {task: attempts for task in tasks if isinstance(task, str)}


def _part(lock: Row, name: str) -> Row:
    part = lock.get(name)
    return Row(lock.file, name, part if isinstance(part, dict) else {})
