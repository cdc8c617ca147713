"""Habits of simulated agents switched off one by one, compared trial by trial under the same luck."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.disturbed_runs import Options, Runs, play
from benchmarks.disturbed_studies import GOAL, OBEDIENCE, RATE
from benchmarks.findings import Findings, compared, in_a_folder, interval
from benchmarks.shadow import Offered
from benchmarks.truth_runs import run, write_chains, write_experiment

STRUCTURED, NONE = (f"interrupted:after_effect_before_ack:{form}" for form in ("structured", "none"))
ABLATION_ARMS = ("baseline", RATE, GOAL, STRUCTURED, NONE)
WHOLE: Options = {
    "skill": 0.95, "checking": 0.5, "reread": 1.0, "detection": 0.8, "obey": OBEDIENCE, "checkpoint": 1.0,
    "memory": True, "retry": "idempotent",
}  # fmt: skip
SYSTEMS: dict[str, Options] = {
    "whole": WHOLE,
    "no-reread": {**WHOLE, "reread": 0.0},
    "no-memory": {**WHOLE, "memory": False},
    "no-checkpoint": {**WHOLE, "checkpoint": 0.0},
    "neither": {**WHOLE, "memory": False, "checkpoint": 0.0},
}
ABLATION_MEASURES = (
    "strict_success", "detected", "recovered", "adopted", "residue_actions", "redone_actions",
    "repeated_effects", "duplicate_effects", "local_right",
)  # fmt: skip
# What is switched off, in which of two systems, and which measures that moves in which arm, up or down.
ABLATIONS: tuple[tuple[str, str, str, dict[str, dict[str, int]]], ...] = (
    ("re-reading", "whole", "no-reread", {RATE: {"strict_success": -1, "detected": -1, "recovered": -1}}),
    ("memory", "whole", "no-memory", {NONE: {"redone_actions": 1}}),
    ("checkpoints", "no-memory", "neither", {STRUCTURED: {"redone_actions": 1}}),
    # Memory stands in for what no checkpoint holds.
    ("checkpoints beside memory", "whole", "no-checkpoint", {}),
)


@in_a_folder
def ablation(folder: Path, trials: int, workers: int) -> Findings:
    """Habits switched off, compared trial by trial under the same luck."""
    runs = play(folder, SYSTEMS, ABLATION_ARMS, trials, workers, Offered(belief=True, memory=True))
    found = compared("ablation", runs)
    for what, before, after, moved in ABLATIONS:
        for arm in ABLATION_ARMS:
            for measure in ABLATION_MEASURES:
                expected = moved.get(arm, {}).get(measure, 0)
                _compare(
                    found,
                    f"without {what}: {arm} {measure}",
                    expected,
                    _changes(runs, before, after, arm, measure),
                )
    return found


def _changes(runs: Runs, before: str, after: str, arm: str, measure: str) -> list[float]:
    pairs = zip(runs.values(before, arm, measure), runs.values(after, arm, measure), strict=True)
    return [float(b) - float(a) for a, b in pairs if a is not None and b is not None]


def _compare(found: Findings, what: str, expected: int, changes: Sequence[float]) -> None:
    if not changes:
        return
    low, high = interval(changes)
    moved = any(changes)
    if moved or expected:
        found.lines.append(f"{what:<86} {fmean(changes):+.3f} [{low:+.3f}, {high:+.3f}] n {len(changes)}")
    if moved and not expected:
        found.wrong.append(f"{what} moved, and should not: {fmean(changes):+.3f}")
    elif expected and not (low > 0 if expected > 0 else high < 0):
        found.wrong.append(
            f"{what} should move {'up' if expected > 0 else 'down'}: [{low:+.3f}, {high:+.3f}]"
        )


# The habits say how an agent answers what a task shows it; these are what a chain of files shows of its work.
LOCAL_MEASURES = (
    "strict_success", "safe_success", "partial_progress", "regression_depth", "hard_violations",
    "premature_finish", "broken_after_full", "blocking_subgoal", "stop_reason",
)  # fmt: skip


@in_a_folder
def local(folder: Path, trials: int, workers: int) -> Findings:
    """The same systems on a chain of files, which nothing disturbs: all of them alike, trial by trial."""
    luck: Options = {"skill": 0.8, "drift": 0.2}
    systems = {name: {**options, **luck} for name, options in SYSTEMS.items()}
    experiment = write_experiment(
        folder, write_chains(folder, [(4, 1)]), systems, trials, "belief = true\nmemory = true\n"
    )
    counted = run(experiment, workers).counted
    seen: dict[int, dict[str, list[Any]]] = {}
    for one in counted:
        found = [getattr(one.record, measure) for measure in LOCAL_MEASURES]
        seen.setdefault(one.planned.repeat, {})[one.planned.system] = found
    unlike = [repeat for repeat, by_system in seen.items() if len(set(map(repr, by_system.values()))) > 1]
    kinds = len({repr(by_system["whole"]) for by_system in seen.values()})
    wrong = [f"repeat {repeat}: the systems differ: {seen[repeat]}" for repeat in unlike]
    if len(counted) != len(systems) * trials:
        wrong.append(f"{len(counted)} of {len(systems) * trials} trials were counted")
    return Findings("local", [f"{len(counted)} trials, {kinds} courses, {len(unlike)} repeats differ"], wrong)
