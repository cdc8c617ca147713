"""Trials on a small task whose agent is killed: what the tests of interruption share."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from seatrial.journal.events import Event, TrialEnded
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import RunFolder
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from tests.runs import open_run

E = TypeVar("E", bound=Event)
VERIFIER = "#!/bin/sh\ngrep -qx {word} notes.txt && echo pass >&3 || echo fail >&3\n"
# Each step adds a line, so that what is done twice shows.
SCRIPT = [
    {"tool": "shell", "command": f"echo {word} >> notes.txt; echo did {word}"}
    for word in ("one", "two", "three")
]


@dataclass
class Ended:
    """A run with one trial, as it ended."""

    run: RunFolder
    journal: Journal

    def events(self, kind: type[E]) -> list[E]:
        """Of one kind."""
        return [event for event in self.journal.events if isinstance(event, kind)]

    def one(self, kind: type[E]) -> E:
        """The only one of its kind."""
        (event,) = self.events(kind)
        return event

    @property
    def end(self) -> TrialEnded:
        """The last line."""
        return self.one(TrialEnded)

    def notes(self) -> list[str]:
        """Lines of the agent's file at the end."""
        from seatrial.journal.reader import state_at

        steps = max(getattr(event, "step", 0) for event in self.journal.events)
        entry = state_at(self.journal, self.run.objects, steps)["workspace/notes.txt"]
        return self.run.objects.get(entry.digest).decode().split()


def write_task(folder: Path, script: Sequence[dict[str, Any]], retry: str | None, more: str = "") -> None:
    """The task ``task`` with a subgoal for each word, and its script."""
    task = folder / "task"
    files = {"environment/notes.txt": "", "instruction.md": "Write one, two and three into notes.txt.\n"}
    files |= {f"verifiers/{word}.sh": VERIFIER.format(word=word) for word in ("one", "two", "three")}
    head = [] if retry is None else [f'retry = "{retry}"']
    files["solutions/reference.toml"] = "\n".join([*head, *map(step_toml, script)])
    files["compaction/gold.md"] = "You have written one already.\n"
    for name, text in files.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    subgoals = ""
    for word in ("one", "two", "three"):
        (task / "verifiers" / f"{word}.sh").chmod(0o755)
        subgoals += (
            f'[[subgoal]]\nid = "{word}"\nverifier = "verifiers/{word}.sh"\nreads = ["files:notes.txt"]\n'
        )
    (task / "task.toml").write_text(
        'schema = "seatrial/task@1"\nid = "hidden/task"\nversion = "1.0.0"\n[budget]\nactions = 30\n'
        f'[[goal]]\nversion = 1\ninstruction = "instruction.md"\n{subgoals}{more}'
    )


def step_toml(step: dict[str, Any]) -> str:
    """One step of a script."""
    lines = [f"{key} = {inline(value)}" for key, value in step.items()]
    return "\n".join(["[[step]]", *lines])


def inline(value: Any) -> str:
    """A value as inline TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def play(
    folder: Path,
    arm: str,
    script: Sequence[dict[str, Any]] = (*SCRIPT, {"tool": "finish"}),
    *,
    retry: str | None = None,
    tables: str = "",
    more: str = "",
    agent: str | None = None,
    options: dict[str, Any] | None = None,
    unsafe: bool = False,
) -> Ended:
    """Run one trial in an arm: of a script, or of a Python agent's source with a class ``Agent``."""
    write_task(folder, script, retry, more)
    system = 'agent = "scripted"\nscript = "solutions/reference.toml"\n'
    if agent is not None:
        (folder / "code").mkdir()
        (folder / "code" / "mine.py").write_text(agent)
        system = f'agent = "python"\ncode = "mine:Agent"\npath = "code"\noptions = {inline(options or {})}\n'
    (folder / "experiment.toml").write_text(
        f'schema = "seatrial/experiment@1"\nname = "kill"\ntasks = ["task"]\narms = ["{arm}"]\n'
        f'{tables}\n[[system]]\nname = "s"\n{system}'
    )
    run = open_run(load_experiment(folder / "experiment.toml"), folder / "run", unsafe)
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    return Ended(run, read_journal(run.journal_path(line.trial, line.attempt), line.digest))
