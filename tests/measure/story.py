"""Journals of disturbed trials told step by step, with the contents that the measures look into."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from seatrial.journal.digest import digest_bytes
from seatrial.journal.entries import Entry
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    AgentStarted,
    BeliefReported,
    Cost,
    EffectRecorded,
    Event,
    GoalChanged,
    PerturbationArmed,
    PerturbationFired,
    TrialEnded,
)
from seatrial.measure.deeds import Deltas
from seatrial.measure.outcome import final_state
from seatrial.measure.scene import Scene, scene_of
from seatrial.measure.trial import Measured, measure_trial
from seatrial.records.trial import TrialRecord
from seatrial.records.verdicts import TrialVerdicts
from seatrial.spec.task import Task
from tests.measure.trials import PLANNED, started, verdicts


class Story:
    """One trial's journal in the making; paths are below the workspace unless they name a root."""

    def __init__(self, base: Mapping[str, str] | None = None, arm: str = "baseline") -> None:
        self.texts: dict[str, bytes] = {}
        self.base = {path_of(path): self.entry(path, text) for path, text in (base or {}).items()}
        self.events: list[Event] = [started(arm=arm), AgentStarted(agent="scripted", confined=True)]
        self.step, self.goal = 0, 1

    def entry(self, path: str, text: str | None) -> Entry:
        if text is None:
            return Entry(path=path_of(path), kind="absent")
        data = text.encode()
        digest = digest_bytes(data)
        self.texts[digest] = data
        return Entry(path=path_of(path), kind="file", mode=0o644, digest=digest, size=len(data))

    def add(self, *events: Event) -> "Story":
        for event in events:
            event.goal_version = self.goal
            event.seq = len(self.events)
            self.events.append(event)
        return self

    def act(
        self,
        reads: Sequence[str] | None = (),
        writes: Mapping[str, str | None] | None = None,
        shows: str = "",
        tool: str = "shell",
        outcome: str = "ok",
        arguments: Mapping[str, Any] | None = None,
        during: Sequence[Event] = (),
    ) -> "Story":
        """The next action; ``during`` are lines between its request and its end."""
        self.step += 1
        asked = dict(arguments) if arguments is not None else {"command": f"do {self.step}"}
        changes = [self.entry(path, text) for path, text in (writes or {}).items()]
        shown = digest_bytes(shows.encode())
        self.texts[shown] = shows.encode()
        pre = f"state-{self.step - 1}"
        self.add(
            ActionRequested(step=self.step, tool=tool, arguments=asked, key="", pre=pre, actor="agent"),
            *during,
            ActionFinished(
                step=self.step, outcome=outcome, pre=pre, post=f"state-{self.step}", changes=changes,
                observation=shown, reads=None if reads is None else [path_of(path) for path in reads],
                cost=Cost(model_us=1, queue_us=0, tool_us=1, approval_us=0, recovery_us=0, cpu_us=1),
            ),
        )  # fmt: skip
        return self

    def look(self, *paths: str, shows: str = "") -> "Story":
        return self.act(reads=paths, shows=shows)

    def write(self, path: str, text: str | None, *reads: str, **more: Any) -> "Story":
        return self.act(reads=reads, writes={path: text}, **more)

    def finish(self) -> "Story":
        return self.act(tool="finish", arguments={"summary": "done"})

    def armed(self, task: Task, name: str) -> "Story":
        spec = next(p for p in task.perturbation if p.id == name)
        event = PerturbationArmed(
            perturbation=name, version=spec.version, change=spec.kind, strength=spec.strength,
            trigger=spec.when, affects=spec.affects,
        )  # fmt: skip
        return self.add(event)

    def disturb(
        self, name: str, kind: str = "state", changes: Mapping[str, str | None] | None = None
    ) -> "Story":
        """The harness changes the world and says so, after the step under way."""
        return self.add(*self.firing(name, kind, changes))

    def firing(self, name: str, kind: str = "state", changes: Mapping[str, str | None] | None = None, **more):
        """The lines of a firing at the step that is under way or has just ended."""
        entries = [self.entry(path, text) for path, text in (changes or {}).items()]
        effect = EffectRecorded(
            actor="environment", pre="a", post="b", changes=entries, note=f"perturbation {name}"
        )
        fired = PerturbationFired(
            perturbation=name, change=kind, step=more.pop("step", self.step), pre="a", post="b",
            paths=[entry.path for entry in entries], **more,
        )  # fmt: skip
        return [effect, fired] if entries else [fired]

    def change_goal(
        self, to: int, relation: str = "replace", perturbation: str | None = None, expect: str | None = None
    ) -> "Story":
        changed = GoalChanged(
            step=self.step,
            was=self.goal,
            to=to,
            relation=relation,
            expect=expect,
            instruction="i",
            perturbation=perturbation,
        )
        self.add(changed)
        self.goal = to
        return self

    def believe(self, facts: Mapping[str, Any] | None = None, **belief: Any) -> "Story":
        given = ({"facts": dict(facts)} if facts is not None else {}) | belief
        report = BeliefReported(step=self.step + 1, belief=given, actor="agent", goal_version=self.goal)
        return self.act(tool="report_belief", arguments=given, during=[report])

    def end(self, stop: str = "finished", audit: str = "equal") -> "Story":
        turn = Cost(model_us=0, queue_us=0)
        return self.add(TrialEnded(stop_reason=stop, fingerprint="f", elapsed=1, audit=audit, last_turn=turn))

    @property
    def deltas(self) -> Deltas:
        return Deltas(self.base, {}, self.texts)

    def scene(self, task: Task, table: TrialVerdicts) -> Scene:
        return scene_of(task, self.events, table, final_state(task, self.events, table), self.deltas)

    def measured(self, task: Task, table: TrialVerdicts) -> Measured:
        planned = msgspec.structs.replace(PLANNED, arm=self.events[0].arm)
        table = msgspec.structs.replace(table, goal_version=self.goal)
        return measure_trial(task, planned, self.events, table, False, "e" * 64, self.deltas)

    def record(self, task: Task, table: TrialVerdicts) -> TrialRecord:
        return self.measured(task, table).record


def path_of(path: str) -> str:
    """A path of the state: names without a root lie in the workspace."""
    rooted = path.split("/", 1)[0] in ("workspace", "services", "tmp", "home")
    return path if rooted else f"workspace/{path}"


def table(task: Task, moves: Mapping[int, Mapping[str, str]], **more: Any) -> TrialVerdicts:
    """Every subgoal of a task fails at step 0 unless ``moves`` says otherwise."""
    return verdicts(moves, [subgoal.id for subgoal in task.subgoal], **more)
