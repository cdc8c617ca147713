"""Plans forks: new trials of a run that begin in a recorded state, with what they are compared with."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seatrial.errors import EnvironmentFault, UsageError
from seatrial.journal.digest import digest_value
from seatrial.journal.run import ForkOrigin, Manifest, RunFolder, TrialPlanned
from seatrial.records.arms import FORKED, Arm
from seatrial.schedule.fork_candidates import CONTINUED, Candidate, ForkOrders, comparisons
from seatrial.spec.frozen import frozen_task
from seatrial.spec.identity import SEED_DIGITS
from seatrial.trial.forks import check as fork_check
from seatrial.trial.forks.point import (
    ForkPoint,
    began_at,
    ended_by_then,
    fork_point,
    forkable_journal,
    memory_of,
    steps_of,
)

LABEL_CHARACTERS, NAME_CHARACTERS = 60, 200


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
    point, compared = _Recorded(run, place.planned, place.attempt).at(place.step, orders)
    forks = _Forks(run, place, orders, point)
    return [fork for kind, candidates in compared.items() for fork in forks.of(candidates, kind)]


class _Recorded:
    """A trial whose steps can be forked.

    Raises:
        UsageError: none of them can.
        JournalError: its journal is damaged.
    """

    def __init__(self, run: RunFolder, planned: TrialPlanned, attempt: int) -> None:
        self._objects, self._system = run.objects, planned.system
        self._journal = forkable_journal(run, planned.trial, attempt)
        self._parent = began_at(run, self._journal)
        self._task = frozen_task(run.manifest().task(planned.task), run.folder)
        self.steps = steps_of(self._journal)

    def at(self, step: int, orders: ForkOrders) -> tuple[ForkPoint, dict[str, list[Candidate]]]:
        """One of its steps, and what is compared there; raises as ``plan_forks``."""
        point = fork_point(self._journal, self._objects, step, self._parent)
        if (reason := ended_by_then(point)) is not None:
            raise UsageError(
                f"{point.where}: the trial ended with this step ({reason}). Choose an earlier one."
            )
        if point.lost and not orders.non_causal:
            raise UsageError(
                f"{point.where}: cannot be copied whole: {'; '.join(point.lost)}. Choose another step, or "
                "say --non-causal to have forks that are labelled so."
            )
        return point, comparisons(point, self._task, self._system, orders)

    def can_be(self, step: int, orders: ForkOrders) -> bool:
        """Whether a step can be forked so."""
        try:
            self.at(step, orders)
        except UsageError:
            return False
        return True


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
        armed = list(candidate.armed)
        calls = candidate.calls
        fork = ForkOrigin(
            trial=origin.trial, attempt=place.attempt, step=place.step, fingerprint=self._point.fingerprint,
            group=f"{origin.trial}@{place.step} {kind}{self._tag()}", number=number,
            candidate=candidate.label,
            forced=None if calls is None else self._run.objects.put(msgspec.json.encode(calls)),
            memory="none" if orders.memory == "none" else memory, armed=armed, same_seed=orders.same_seed,
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
    whole; with ``non_causal`` also those of which a part is lost. Where perturbations are compared, only
    those at which that can be done.

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
        recorded = _Recorded(run, planned, attempt)
        steps += recorded.steps
        possible = (step for step in range(recorded.steps) if recorded.can_be(step, orders))
        frame += [(planned, attempt, step) for step in possible]
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


def is_at(planned: TrialPlanned, at: ForkPlace) -> bool:
    """Whether a trial forks a place."""
    fork = planned.fork
    return fork is not None and (fork.trial, fork.attempt, fork.step) == (
        at.planned.trial, at.attempt, at.step,
    )  # fmt: skip
