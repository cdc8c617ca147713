"""Runs simulated agents through `seatrial run` and holds what is measured against what must be measured."""

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec
from scipy.special import ndtri, stdtrit

from benchmarks.chain_task import FAMILY, write_chain
from benchmarks.replay import Truth, known_truth
from seatrial.estimate.rates import wilson
from seatrial.evidence.read import AttemptEvidence, RunEvidence, read_run
from seatrial.spec.credit import credited
from seatrial.spec.loading import LoadedTask, load_experiment
from seatrial.spec.simulated import SimulatedOptions, agent_config
from seatrial.spec.task import Task

SEED = 20261129
LEVEL = 0.99
REPLAYS = 2000
# Null where the host cannot see reads; every other measure must be known.
MAY_BE_UNKNOWN = {"wasted_unread"}
YES_OR_NO = {"strict_success", "safe_success", "premature_finish", "regressed"}
WASTE = ("idle_actions", "wasted_unread", "wasted_undone")


@dataclass(frozen=True)
class Cell:
    """One line of the study: a mean over trials beside what it should be.

    ``replayed`` is the mean over many seeds that were only replayed: it tells luck with these seeds from a
    measure or a formula that is off.
    """

    name: str
    measure: str
    implied: float
    measured: float
    low: float
    high: float
    n: int
    replayed: float | None = None

    @property
    def inside(self) -> bool:
        """Whether the implied value lies in the interval."""
        return self.low - 1e-9 <= self.implied <= self.high + 1e-9

    def __str__(self) -> str:
        verdict = "inside" if self.inside else "OUTSIDE"
        replayed = "" if self.replayed is None else f"  replayed {self.replayed:7.4f}"
        return (
            f"{self.name:<16} {self.measure:<17} implied {self.implied:7.4f}  measured {self.measured:7.4f} "
            f"[{self.low:.4f}, {self.high:.4f}]  n {self.n}{replayed}  {verdict}"
        )


def cell(
    name: str,
    measure: str,
    implied: float,
    values: Sequence[float],
    level: float = LEVEL,
    replayed: Sequence[float] = (),
) -> Cell:
    """The mean with its interval, which speaks of seeds of one task: Wilson for yes and no, t for counts.

    Args:
        name: of the setting.
        measure: what the values are of.
        implied: what their mean should be.
        values: one for each trial.
        level: confidence level, in (0, 1).
        replayed: the measure of many replayed seeds, from which the spread over seeds is known better.
    """
    n, mean = len(values), fmean(values)
    if measure in YES_OR_NO:
        low, high = wilson(sum(values), n, level)
    else:
        quantile = ndtri((1 + level) / 2) if replayed else stdtrit(n - 1, (1 + level) / 2)
        half = float(quantile) * stdev(replayed or values) / math.sqrt(n)
        low, high = mean - half, mean + half
    return Cell(name, measure, implied, mean, low, high, n, fmean(replayed) if replayed else None)


def write_chains(folder: Path, shapes: Sequence[tuple[int, int]]) -> list[str]:
    """Write chain tasks of (depth, breadth) into a folder; returns their names there."""
    names = [f"{depth}x{breadth}" for depth, breadth in shapes]
    for name, (depth, breadth) in zip(names, shapes, strict=True):
        write_chain(folder / name, depth, breadth)
    return names


def write_experiment(
    folder: Path, tasks: Iterable[str], systems: Mapping[str, dict[str, Any]], trials: int, keys: str = ""
) -> Path:
    """Write an experiment of simulated systems, name to options, and return its file.

    Args:
        folder: for the file, and later for its run.
        tasks: folders, absolute or relative to that one.
        systems: name to options.
        trials: of each system on each task.
        keys: further lines of the experiment.
    """
    text = f'schema = "seatrial/experiment@1"\nname = "known-truth"\nseed = {SEED}\n'
    text += f"tasks = {json.dumps(list(tasks))}\ntrials_per_task = {trials}\nfinal_verdicts = 1\n"
    text += keys
    for name, options in systems.items():
        text += f'[[system]]\nname = "{name}"\nagent = "simulated"\noptions = {toml(options)}\n'
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def toml(value: Any) -> str:
    """A knob's value as TOML: a number, or an inline table of such."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def run(experiment: Path, workers: int = 1) -> RunEvidence:
    """Run an experiment by the command line, beside its file, and read the run back."""
    folder = experiment.parent / "run"
    program = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]
    arguments = ["run", str(experiment), "-o", str(folder), "--workers", str(workers), "--json"]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return read_run(folder)


def truths(experiment: Path, evidence: RunEvidence) -> Iterator[tuple[AttemptEvidence, Truth]]:
    """Every counted attempt with what must be measured for it."""
    loaded = load_experiment(experiment)
    options = {
        system.name: msgspec.convert(system.options, SimulatedOptions) for system in loaded.spec.system
    }
    tasks = {task.spec.id: task for task in loaded.tasks}
    for attempt in evidence.counted:
        task = tasks[attempt.planned.task]
        config = configured(options[attempt.planned.system], task)
        rows = attempt.verdicts.rows
        passing = [row.subgoal for row in rows if row.step == 0 and row.verdict == "pass"]
        own_files = task.spec.family == FAMILY
        yield attempt, known_truth(task.spec, config, attempt.planned.seed, passing, own_files)


def configured(options: SimulatedOptions, task: LoadedTask) -> dict[str, Any]:
    """The agent's configuration on a task, which must have a plan."""
    assert task.plan is not None
    return agent_config(options, task.spec, task.plan)


def all_differences(experiment: Path, evidence: RunEvidence) -> list[str]:
    """Where measured and known differ over all counted attempts, in words."""
    tasks = {task.spec.id: task.spec for task in load_experiment(experiment).tasks}
    return [
        text
        for attempt, truth in truths(experiment, evidence)
        for text in differences(attempt, truth, tasks[attempt.planned.task])
    ]


def differences(attempt: AttemptEvidence, truth: Truth, task: Task) -> list[str]:
    """Where measured and known differ, in words; waste that is not known is not compared."""
    passed = {name for name, verdicts in attempt.verdicts.final.items() if set(verdicts) == {"pass"}}
    own = {"passed": frozenset(credited(task, passed, 1)), "progress": attempt.progress}
    found = []
    for field in fields(Truth):
        known = getattr(truth, field.name)
        if known is None and field.name in WASTE:
            continue
        measured = own[field.name] if field.name in own else getattr(attempt.record, field.name)
        unknown = measured is None and field.name in MAY_BE_UNKNOWN
        if not unknown and not equal(measured, known):
            found.append(f"{attempt.planned.trial}: {field.name} is {known}, measured {measured}")
    return found


def equal(measured: Any, known: Any) -> bool:
    """Equality, for shares up to the twelve digits that records keep."""
    if isinstance(known, list):
        return len(measured) == len(known) and all(map(equal, measured, known))
    if isinstance(known, tuple):
        return all(map(equal, measured, known))
    if isinstance(known, float) and measured is not None:
        return math.isclose(measured, known, abs_tol=1e-11)
    return bool(measured == known)


def replays(task: LoadedTask, options: SimulatedOptions) -> list[Truth]:
    """What would be measured with many other seeds."""
    config, own_files = configured(options, task), task.spec.family == FAMILY
    return [known_truth(task.spec, config, seed, own_files=own_files) for seed in range(REPLAYS)]


def replayed_values(truths: Iterable[Truth], measure: str) -> list[float]:
    """A measure of replayed trials; ``regressed`` is whether progress ever fell."""
    if measure == "regressed":
        return [float(truth.regression_depth > 0) for truth in truths]
    return [float(getattr(truth, measure)) for truth in truths]


def measured_values(attempts: Iterable[AttemptEvidence], measure: str) -> list[float]:
    """A measure of every trial; trials where it is unknown are left out, and the cell's n says so."""
    if measure == "regressed":
        depths = measured_values(attempts, "regression_depth")
        return [float(depth > 0) for depth in depths]
    values = [getattr(attempt.record, measure) for attempt in attempts]
    return [float(value) for value in values if value is not None]
