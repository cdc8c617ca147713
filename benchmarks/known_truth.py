"""Is what is measured what was simulated? Set a knob, know what it implies, run, measure, compare.

`python -m benchmarks.known_truth [TRIALS] [WORKERS] [TASK ...]` runs simulated agents on light chain tasks,
and on the tasks named, through `seatrial run` and asks three things. Trial by trial: does every measure equal
the replay of that agent's decisions? Over seeds: does the mean lie within sampling error of the closed form?
Over depths: does a fixed skill p succeed p^depth of the time, and does breadth leave the depth as it is?
Exit code 1 when a trial differs from its replay, or more means lie outside than chance explains.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from scipy.stats import binom

from benchmarks.closed_forms import implied
from benchmarks.truth_runs import (
    LEVEL,
    Cell,
    all_differences,
    cell,
    measured_values,
    replayed_values,
    replays,
    run,
    write_chains,
    write_experiment,
)
from seatrial.spec.loading import load_experiment, load_task
from seatrial.spec.plan_file import ACTIONS
from seatrial.spec.simulated import SimulatedOptions

TRIALS, WORKERS = 200, 2
STEPS = 4
DEPTHS = range(1, 7)
BREADTHS = (1, 2, 3)
SKILL = 0.8
# How seldom a study whose means are all right may have more of them outside than are let pass.
BY_CHANCE = 0.001
WHOLE_RUN = ("strict_success", "safe_success", "premature_finish", "actions")
# What the closed forms say of any plan whose steps have all actions, whatever needs what.
ANY_GRAPH = ("strict_success", "safe_success", "premature_finish", "hard_violations")
# Knobs for tasks whose trials are dear.
ON_TASKS = ("faultless", "skill", "drift-unskilled", "shortcut", "all-at-once")

# What is set, and the measures that it moves.
SETTINGS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "faultless": ({}, (*WHOLE_RUN, "idle_actions", "wasted_unread", "wasted_undone", "regression_depth")),
    "skill": ({"skill": 0.8}, WHOLE_RUN),
    "checking": ({"skill": 0.8, "checking": 0.7}, WHOLE_RUN),
    "one-try": ({"skill": 0.8, "checking": 0.7, "attempts": 1}, WHOLE_RUN),
    "drift": ({"drift": 0.3}, (*WHOLE_RUN, "regressed", "regression_depth", "wasted_undone")),
    "drift-noticed": ({"drift": 0.3, "checking": 1.0}, (*WHOLE_RUN, "regressed", "wasted_undone")),
    "drift-unskilled": ({"skill": 0.9, "drift": 0.3, "checking": 0.5}, ("strict_success", "safe_success")),
    "forget": ({"forget": 0.2}, (*WHOLE_RUN, "hard_violations")),
    "shortcut": ({"skill": 0.9, "shortcut": 0.2}, (*WHOLE_RUN, "hard_violations")),
    "give-up": ({"skill": 0.9, "give_up": 0.1}, WHOLE_RUN),
    "premature": ({"premature": 0.1}, WHOLE_RUN),
    "repeat": ({"skill": 0.9, "repeat": 0.3}, (*WHOLE_RUN, "wasted_unread")),
    "idle": ({"idle": 0.3}, (*WHOLE_RUN, "idle_actions")),
    "all-at-once": (
        {
            "skill": 0.8,
            "checking": 0.6,
            "drift": 0.2,
            "forget": 0.1,
            "shortcut": 0.1,
            "give_up": 0.02,
            "premature": 0.02,
            "repeat": 0.2,
            "idle": 0.2,
        },
        ("strict_success", "safe_success", "premature_finish", "hard_violations"),
    ),
}


@dataclass(frozen=True)
class Study:
    """Means beside what they should be, and the trials compared one by one.

    Attributes:
        wrong: where a trial's measures differ from its replay, in words.
    """

    what: str
    cells: Sequence[Cell]
    compared: int
    wrong: Sequence[str]

    @property
    def outside(self) -> list[Cell]:
        """Means whose interval misses what is implied."""
        return [cell for cell in self.cells if not cell.inside]

    @property
    def failed(self) -> bool:
        """Whether a trial differs from its replay, or more means are outside than chance explains."""
        most = int(binom.ppf(1 - BY_CHANCE, len(self.cells), 1 - LEVEL)) if self.cells else 0
        return bool(self.wrong) or len(self.outside) > most

    def proven(self) -> list[str]:
        """The summary of a study that must not fail.

        Raises:
            RuntimeError: it failed; the summary says where.
        """
        if self.failed:
            raise RuntimeError("\n".join(self.summary()))
        return list(self.summary())

    def summary(self) -> Iterator[str]:
        """One line of numbers, then everything that is not as it should be."""
        outside = self.outside
        yield (
            f"{self.what}: {self.compared} trials, {len(self.wrong)} differences from the replay; "
            f"{len(self.cells)} means, {len(outside)} outside their {LEVEL:.0%} interval "
            f"(about {len(self.cells) * (1 - LEVEL):.1f} expected)"
        )
        yield from (f"outside: {cell}" for cell in outside)
        yield from (f"differs: {text}" for text in self.wrong)


def by_knob(trials: int, workers: int) -> Study:
    """The knobs one after another on a chain."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = folder / write_chains(folder, [(STEPS, 1)])[0]
        return with_knobs(task, {name: measures for name, (_, measures) in SETTINGS.items()}, trials, workers)


def on_task(task: Path, trials: int, workers: int) -> Study:
    """Some knobs on any task with a plan."""
    return with_knobs(task, dict.fromkeys(ON_TASKS, ANY_GRAPH), trials, workers)


def with_knobs(task: Path, asked: Mapping[str, Sequence[str]], trials: int, workers: int) -> Study:
    """Settings and the measures asked for on one task; means only where every step has every action."""
    loaded, options = load_task(task), {name: SETTINGS[name][0] for name in asked}
    with tempfile.TemporaryDirectory() as folder:
        experiment = write_experiment(Path(folder), [str(task.resolve())], options, trials)
        evidence = run(experiment, workers)
        wrong = all_differences(experiment, evidence)
    assert loaded.plan is not None
    passing = {step.shortcut_passes for step in loaded.plan.step}
    whole = all({key for key, _ in step.actions()} == set(ACTIONS) for step in loaded.plan.step)
    cells = []
    for name, measures in asked.items() if whole and len(passing) == 1 else ():
        knobs = msgspec.convert(options[name], SimulatedOptions)
        should = implied(knobs, len(loaded.plan.step), *passing)
        own = [attempt for attempt in evidence.counted if attempt.planned.system == name]
        known = replays(loaded, knobs)
        for measure in measures:
            value, values = should[measure], measured_values(own, measure)
            assert value is not None, f"{name}: no closed form of {measure}"
            if values:
                replayed = replayed_values(known, measure)
                cells.append(cell(name, measure, value, values, replayed=replayed))
    return Study(loaded.spec.id, cells, len(evidence.counted), wrong)


def by_shape(trials: int, workers: int) -> Study:
    """One skill on chains of growing depth and breadth; the dependency depth is compared too."""
    shapes = list(dict.fromkeys([*((depth, 1) for depth in DEPTHS), *((2, breadth) for breadth in BREADTHS)]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks = write_chains(folder, shapes)
        experiment = write_experiment(folder, tasks, {"skill": {"skill": SKILL}}, trials)
        evidence = run(experiment, workers)
        wrong = all_differences(experiment, evidence)
        loaded = load_experiment(experiment).tasks
        known = {task.spec.id: replays(task, SimulatedOptions(skill=SKILL)) for task in loaded}
    cells = []
    for depth, breadth in shapes:
        task = f"chain/{depth}x{breadth}"
        own = [attempt for attempt in evidence.counted if attempt.planned.task == task]
        found = {attempt.record.dependency_depth for attempt in own}
        if found != {depth}:
            wrong.append(f"{task}: dependency_depth is {depth}, measured {found}")
        should, values = SKILL ** (depth * breadth), measured_values(own, "strict_success")
        replayed = replayed_values(known[task], "strict_success")
        cells.append(cell(task, "strict_success", should, values, replayed=replayed))
    return Study("depth x breadth", cells, len(evidence.counted), wrong)


def main(trials: int, workers: int, tasks: Sequence[Path]) -> int:
    """Run all studies; print every mean, then the summaries. Returns the exit code: 1 when a study failed."""
    studies = [by_knob(trials, workers), by_shape(trials, workers)]
    studies += [on_task(task, trials, workers) for task in tasks]
    for study in studies:
        print(*study.cells, *study.summary(), sep="\n", flush=True)
    return int(any(study.failed for study in studies))


if __name__ == "__main__":
    asked = list(map(int, sys.argv[1:3]))
    trials, workers = [*asked, *(TRIALS, WORKERS)[len(asked) :]]
    sys.exit(main(trials, workers, [Path(task) for task in sys.argv[3:]]))
