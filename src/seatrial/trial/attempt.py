"""Everything one attempt needs while it runs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.journal.run import Manifest, RunFolder, TaskFrozen, TrialPlanned
from seatrial.spec.experiment import Compaction, Interruption
from seatrial.spec.task import Goal, Task
from seatrial.trial.job import TrialJob


@dataclass
class Attempt:
    """One attempt of a planned trial.

    Attributes:
        task: as the run froze it.
        spec: the same as a struct.
        host: prepared.
    """

    job: TrialJob
    run: RunFolder
    manifest: Manifest
    planned: TrialPlanned
    task: TaskFrozen
    spec: Task
    host: Host

    @property
    def system(self) -> dict[str, Any]:
        """The system that acts, as the run froze it."""
        return self.manifest.systems[self.planned.system]

    @property
    def arm(self) -> str:
        """Whose conditions hold: the trial's own arm, or of a fork that of the trial it goes back to."""
        by_name = {planned.trial: planned for planned in self.manifest.plan}
        planned = self.planned
        while planned.fork is not None:
            planned = by_name[planned.fork.trial]
        return planned.arm

    @cached_property
    def interruption(self) -> Interruption:
        """How arms that interrupt do it."""
        return msgspec.convert(self.manifest.experiment.get("interruption") or {}, Interruption)

    @cached_property
    def compaction(self) -> Compaction | None:
        """When contexts are made shorter; null where the experiment does not say."""
        plain = self.manifest.experiment.get("compaction")
        return None if plain is None else msgspec.convert(plain, Compaction)

    def instruction(self, version: int) -> str:
        """The text of a version of the goal."""
        goal = next(goal for goal in self.spec.goal if goal.version == version)
        return self.run.objects.get(self.task.files[goal.instruction][0]).decode()

    @cached_property
    def goals(self) -> dict[int, tuple[Goal, str]]:
        """The task's goal versions, each with its instruction."""
        return {goal.version: (goal, self.instruction(goal.version)) for goal in self.spec.goal}
