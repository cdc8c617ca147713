"""Plans forks: new trials of a run that begin in a recorded state, with what they are compared with."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from seatrial.errors import EnvironmentFault, UsageError
from seatrial.journal.digest import digest_value
from seatrial.journal.reader import Journal
from seatrial.journal.run import ForkOrigin, Manifest, RunFolder, TrialPlanned
from seatrial.records.arms import FORKED, Arm
from seatrial.spec.frozen import frozen_task
from seatrial.spec.identity import SEED_DIGITS
from seatrial.trial.forks import check as fork_check
from seatrial.trial.forks.point import (
    ForkPoint,
    ended_by_then,
    fork_point,
    forkable_journal,
    memory_of,
    next_call,
    steps_of,
)

CONTINUED, CONTROL = "continued", "control"
LABEL_CHARACTERS, NAME_CHARACTERS = 60, 200


@dataclass(frozen=True)
class Candidate:
    """What is changed at the forked step.

    Attributes:
        label: ``continued``, ``control``, ``action=NAME`` or ``component=SYSTEM``.
        system: that goes on.
        calls: carried out first, in place of what the agent asks for; null leaves it its own choice.
    """

    label: str
    system: str
    calls: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class ForkOrders:
    """What is to be forked, and how.

    Attributes:
        count: forks of each candidate.
        actions: name and calls of each action to be compared with the one that came next.
        systems: to be compared with the one that acted.
        control: beside each comparison as many continuations with what there was.
        seed: from which the seed of each fork is drawn.
        same_seed: all forks have the seed of their original instead.
        memory: ``none`` begins every agent with the instruction alone.
        non_causal: go on where something of the state cannot be copied.
    """

    count: int
    seed: int
    actions: Sequence[tuple[str, list[dict[str, Any]]]] = ()
    systems: Sequence[str] = ()
    control: bool = True
    same_seed: bool = False
    memory: Literal["kept", "none"] = "kept"
    non_causal: bool = False


@dataclass(frozen=True)
class ForkPlace:
    """A step of a trial, and how it came to be chosen."""

    planned: TrialPlanned
    attempt: int
    step: int
    chosen: dict[str, Any] = field(default_factory=lambda: {"step": "given"})


def plan_forks(run: RunFolder, place: ForkPlace, orders: ForkOrders) -> list[TrialPlanned]:
    """The trials that fork one place; the same orders give the same trials, a greater count more of them.

    Raises:
        UsageError: the step cannot be forked, or not so.
        JournalError: its journal is damaged.
    """
    where = f"{place.planned.trial}@{place.step}"
    journal = forkable_journal(run, place.planned.trial, place.attempt)
    point = fork_point(journal, run.objects, place.step, _times(run, place.planned))
    if (reason := ended_by_then(point)) is not None:
        raise UsageError(f"{where}: the trial ended with this step ({reason}). Choose an earlier one.")
    if point.lost and not orders.non_causal:
        raise UsageError(
            f"{where}: cannot be copied whole: {'; '.join(point.lost)}. Choose another step, or say "
            "--non-causal to have forks that are labelled so."
        )
    forks = _Forks(run, place, orders, point)
    if not orders.actions and not orders.systems:
        return forks.of([Candidate(CONTINUED, place.planned.system)], "continued")
    found = []
    if orders.actions:
        own = place.planned.system
        compared = [Candidate(CONTROL, own, next_call(point))] if orders.control else []
        compared += [Candidate(f"action={name}", own, calls) for name, calls in orders.actions]
        found += forks.of(compared, "action")
    if orders.systems:
        compared = [Candidate(CONTROL, place.planned.system)] if orders.control else []
        compared += [Candidate(f"component={name}", name) for name in orders.systems]
        found += forks.of(compared, "component")
    return found


class _Forks:
    """Everything the forks of one place have in common."""

    def __init__(self, run: RunFolder, place: ForkPlace, orders: ForkOrders, point: ForkPoint) -> None:
        self._run, self._place, self._orders, self._point = run, place, orders, point

    def of(self, candidates: list[Candidate], kind: str) -> list[TrialPlanned]:
        """The forks of candidates that are compared with each other, those of one number side by side."""
        orders = self._orders
        return [self._fork(each, kind, k) for k in range(1, orders.count + 1) for each in candidates]

    def _fork(self, candidate: Candidate, kind: str, number: int) -> TrialPlanned:
        place, orders, origin = self._place, self._orders, self._place.planned
        memory = memory_of(self._point, orders.same_seed, other_agent=kind == "component")
        calls = candidate.calls
        fork = ForkOrigin(
            trial=origin.trial, attempt=place.attempt, step=place.step, fingerprint=self._point.fingerprint,
            group=f"{origin.trial}@{place.step} {kind}{self._tag()}", number=number,
            candidate=candidate.label,
            forced=None if calls is None else self._run.objects.put(msgspec.json.encode(calls)),
            memory="none" if orders.memory == "none" else memory, same_seed=orders.same_seed,
            lost=self._point.lost, chosen={**place.chosen, "forks": "given"},
        )  # fmt: skip
        parts = [f"fork-{place.step}{self._tag()}", kind, label_of(candidate), str(number)]
        return TrialPlanned(
            trial=_shortened(".".join([origin.trial, *dict.fromkeys(parts)])),
            task=origin.task, system=candidate.system, arm=_arm(origin.trial, place.step, candidate.label),
            seed=origin.seed if orders.same_seed else self._seed(number), repeat=number, fork=fork,
        )  # fmt: skip

    def _tag(self) -> str:
        """What tells these forks from others of the same step."""
        orders = self._orders
        parts = [f"a{self._place.attempt}", "same-seed" if orders.same_seed else f"s{orders.seed}"]
        return "".join(f"-{part}" for part in [*parts, *(["forgets"] if orders.memory == "none" else [])])

    def _seed(self, number: int) -> int:
        """Drawn for one number; all candidates share it, so that they are compared in pairs."""
        place = self._place
        drawn = digest_value(
            ["fork", self._orders.seed, place.planned.trial, place.attempt, place.step, number]
        )
        return int(drawn[:SEED_DIGITS], 16)


def _arm(trial: str, step: int, label: str) -> str:
    end = "" if label == CONTINUED else f":{label}"
    return str(Arm(FORKED, f"{trial}@{step}{end}"))


def label_of(candidate: Candidate) -> str:
    """A part of a file name for a candidate, of it alone: another action of the same name has another."""
    kind, _, name = candidate.label.partition("=")
    label = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:LABEL_CHARACTERS]
    if label != name or (name and candidate.calls is not None):
        label += f"-{digest_value([name, candidate.calls])[:8]}"
    return f"{kind}-{label}" if name else kind


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS else f"{name[:NAME_CHARACTERS]}-{digest_value(name)[:8]}"


def draw_places(
    run: RunFolder, counted: Sequence[tuple[TrialPlanned, int]], count: int, orders: ForkOrders
) -> list[ForkPlace]:
    """Steps drawn at random, without replacement and each with the same probability.

    The frame is every step of these trials after which another action came and whose state can be copied
    whole; with ``non_causal`` also those of which a part is lost.

    Args:
        counted: trials with their attempts, as the frame has them.
        count: how many steps to draw.

    Raises:
        UsageError: the frame has fewer.
        JournalError: a journal is damaged.
    """
    frame: list[tuple[TrialPlanned, int, int]] = []
    steps = 0
    for planned, attempt in counted:
        journal, times = forkable_journal(run, planned.trial, attempt), _times(run, planned)
        for step in range(steps_of(journal)):
            steps += 1
            if _can_be_forked(journal, run, step, orders.non_causal, times):
                frame.append((planned, attempt, step))
    if count > len(frame):
        raise UsageError(
            f"--sample {count}: of {steps} steps that another action follows, {len(frame)} can be forked. "
            "Draw fewer."
        )
    of = counted[0][0].trial if len(counted) == 1 else f"{len(counted)} trials"
    chosen = {
        "step": "drawn", "seed": orders.seed, "drawn": count, "frame": len(frame), "steps": steps, "of": of,
        "probability": count / len(frame),
    }  # fmt: skip
    order = sorted(frame, key=lambda at: digest_value(["draw", orders.seed, at[0].trial, at[1], at[2]]))
    return [ForkPlace(planned, attempt, step, chosen) for planned, attempt, step in order[:count]]


def _times(run: RunFolder, planned: TrialPlanned) -> dict[str, int]:
    """How often the perturbations of a trial's task fire."""
    spec = frozen_task(run.manifest().task(planned.task), run.folder)
    return {each.id: int(each.change.get("times", 1)) for each in spec.perturbation}


def _can_be_forked(
    journal: Journal, run: RunFolder, step: int, non_causal: bool, times: Mapping[str, int]
) -> bool:
    try:
        point = fork_point(journal, run.objects, step, times)
    except UsageError:
        return False
    return non_causal or not point.lost


def prove_places(run: RunFolder, places: Sequence[ForkPlace]) -> None:
    """Stand in every place once, in a process of its own, before anything is planned there.

    Raises:
        EnvironmentFault: a state does not come to be as it was, or this host can make no sandbox.
    """
    command = [sys.executable, "-m", fork_check.__name__, str(os.getpid()), str(run.folder.resolve())]
    asked = [(place.planned.trial, place.attempt, place.step) for place in places]
    done = subprocess.run(
        command, input=msgspec.json.encode(asked), capture_output=True, check=False, process_group=0
    )
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise EnvironmentFault(said or f"the check of the states ended with status {done.returncode}.")


def forks_of(manifest: Manifest) -> list[TrialPlanned]:
    """The forked trials of a plan."""
    return [planned for planned in manifest.plan if planned.fork is not None]
