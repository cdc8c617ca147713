"""Whole trials of a chat agent on a small task, through the same path as ``seatrial run``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from seatrial.evidence.read import read_run
from seatrial.journal.calls import read_request
from seatrial.journal.events import ActionFinished, ActionRequested, Event, ModelCalled, TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import IndexLine, RunFolder
from seatrial.records.trial import TrialRecord
from seatrial.schedule.runner import run_plan
from seatrial.schedule.spending import Spent
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from tests.runs import open_run

E = TypeVar("E", bound=Event)
KEY = "sk-very/secret+4711=="
PRICE = {
    "name": "list", "date": "2026-11-01", "currency": "EUR", "input": 2.0, "output": 8.0, "cached": 0.5,
}  # fmt: skip
VERIFIER = "#!/bin/sh\ngrep -qx done notes.txt && echo pass >&3 || echo fail >&3\n"
INSTRUCTION = "Write the word done into notes.txt.\n"


@dataclass
class Chat:
    """A run with one trial, as it ended."""

    run: RunFolder
    given_up: dict[str, str]
    spent: Spent

    @property
    def lines(self) -> list[IndexLine]:
        """One for each attempt."""
        return self.run.index()

    def events(self, kind: type[E], attempt: int = 1) -> list[E]:
        """Events of one kind in an attempt."""
        (trial,) = {line.trial for line in self.lines}
        journal = read_journal(self.run.journal_path(trial, attempt))
        return [event for event in journal.events if isinstance(event, kind)]

    @property
    def calls(self) -> list[ModelCalled]:
        """Model calls of the first attempt."""
        return self.events(ModelCalled)

    @property
    def classes(self) -> list[str]:
        """Their classes."""
        return [call.call_class for call in self.calls]

    @property
    def tools(self) -> list[str]:
        """Tools that were asked for."""
        return [event.tool for event in self.events(ActionRequested)]

    @property
    def end(self) -> TrialEnded:
        """The last line of the first attempt."""
        (end,) = self.events(TrialEnded)
        return end

    @property
    def record(self) -> TrialRecord:
        """The record of the last attempt."""
        return read_run(self.run.folder).attempts[-1].record

    def shown(self) -> list[str]:
        """What the agent was shown after each action."""
        return [self.run.objects.get(event.observation).decode() for event in self.events(ActionFinished)]

    def request(self, number: int) -> dict[str, Any]:
        """The body of a call, from the object store."""
        return read_request(self.run.objects, self.calls[number - 1].request)


def write_experiment(
    folder: Path,
    endpoint: str,
    budget: dict[str, float] | None = None,
    more: str = "",
    attempts: int = 1,
    **options: Any,
) -> Path:
    """The task and an experiment with one chat system; returns the experiment file."""
    task = folder / "task"
    for name, text in {
        "environment/notes.txt": "open\n", "instruction.md": INSTRUCTION, "verifiers/notes.sh": VERIFIER,
    }.items():  # fmt: skip
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    (task / "verifiers" / "notes.sh").chmod(0o755)
    bounds = "".join(f"{key} = {value}\n" for key, value in (budget or {"actions": 20}).items())
    (task / "task.toml").write_text(
        'schema = "seatrial/task@1"\nid = "hidden/id-of-task"\nversion = "1.0.0"\n'
        f'[budget]\n{bounds}[[goal]]\nversion = 1\ninstruction = "instruction.md"\n'
        '[[subgoal]]\nid = "notes"\nverifier = "verifiers/notes.sh"\nreads = ["files:notes.txt"]\n'
    )
    chosen = {"endpoint": endpoint, "model": "small", **options}
    path = folder / "experiment.toml"
    path.write_text(
        f'schema = "seatrial/experiment@1"\nname = "chat"\ntasks = ["task"]\n{more}\n'
        f'retry = {{ infrastructure = {attempts - 1} }}\n[[system]]\nname = "chatty"\nagent = "chat"\n'
        f"options = {toml(chosen)}\n"
    )
    return path


def toml(value: Any) -> str:
    """A value as inline TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def run_chat(
    folder: Path,
    endpoint: str,
    budget: dict[str, float] | None = None,
    more: str = "",
    attempts: int = 1,
    unsafe: bool = False,
    **options: Any,
) -> Chat:
    """Run it to its end."""
    quick = {"backoff": {"first": 0.05, "longest": 0.2}}
    path = write_experiment(folder, endpoint, budget, more, attempts, **{**quick, **options})
    run = open_run(load_experiment(path), folder / "run", unsafe)
    tally = run_plan(run, run.manifest(), Silent())
    return Chat(run, tally.given_up, tally.spent)
