"""The disturbed task without a sandbox: what each action of a simulated agent does to it and shows of it.

It knows the rules of the harness (gateway, injector, services, kills) and shares no code with them but the
agent's own, so that what is recorded and measured can be held against it.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from benchmarks.disturbed_task import (
    ACK_LOST,
    FIRED_AFTER,
    GOAL_CHANGED,
    GOAL_CLASHES,
    NEW_RATE,
    ORDER,
    PARTS,
    RATE,
    RATE_CHANGED,
    TOLD_AFTER,
    place_of,
)
from seatrial.agents.simulated import Move, SimulatedAgent

CONFIG = "config/rate.txt"
# The version that a change of the goal brings, and a part of what is told of it.
TOLD = {
    GOAL_CHANGED: (2, "and the new file instead of the old one"),
    GOAL_CLASHES: (3, "and keep all of it as well"),
}
ALWAYS = ("shell", "read_file", "write_file", "edit_file", "finish", "give_up")
TALK = ("finish", "give_up", "report_belief", "remember", "recall")
Point = Literal["subgoal_verified", "before_effect", "after_effect_before_ack", "compaction"]


@dataclass(frozen=True)
class Offered:
    """What the experiment offers: the belief channel, a memory, bytes of a checkpoint."""

    belief: bool = False
    memory: bool = False
    state_bytes: int = 8192


@dataclass
class Deed:
    """One action as it went.

    Attributes:
        changed: the file that it left different from before.
        charged: whether an effect on the payments was written.
        repeats: its key was used before, so it got the answer of then and did nothing.
        right: subgoals that pass after it, each by its own verdict.
        order: how many disturbances and kills had happened when it ended; tells apart what happened within
            one step.
    """

    step: int
    move: Move
    outcome: str
    changed: str | None = None
    charged: bool = False
    repeats: bool = False
    right: frozenset[str] = frozenset()
    order: int = 0

    @property
    def asked(self) -> str:
        """Tool and arguments."""
        return json.dumps([self.move.action["tool"], self.move.action["arguments"]], sort_keys=True)

    @property
    def worked(self) -> bool:
        """Whether it ended well and changed something."""
        return self.outcome == "ok" and (self.changed is not None or self.charged)


@dataclass
class Course:
    """One trial from start to end.

    Attributes:
        fired, killed, resumed: steps; null where it did not happen.
        at_start: subgoals that pass before anything is done.
        order_fired, order_resumed: values of ``Deed.order`` from which on an action comes after it.
    """

    deeds: list[Deed] = field(default_factory=list)
    fired: int | None = None
    killed: int | None = None
    resumed: int | None = None
    order_fired: int = 0
    order_resumed: int = 0
    goal: int = 1


class World:
    """Files, charges and what is known of keys."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {CONFIG: f"rate {RATE}\n"}
        self.charges = 0
        self.keys: set[str] = set()
        self.memory: dict[str, str] = {}

    def right(self) -> frozenset[str]:
        """Subgoals that pass, each by its own verdict."""
        wanted = _wanted(self.files[CONFIG].strip())
        passed = {name for name, path, text in wanted if self.files.get(path) == text}
        if place_of("apart") not in self.files:
            passed.add("apart")
        return frozenset(passed | ({"paid"} if self.charges == 1 else set()))


@cache
def _wanted(rate: str) -> list[tuple[str, str, str]]:
    """What must stand in which file for which subgoal to pass, at a rate as the configuration names it."""
    texts = {name: f"right {name}\n" for name in ORDER if name != "paid"}
    texts |= {f"part-{part}": f"right part-{part} at {rate}\n" for part in range(1, PARTS + 1)}
    return [(name, place_of(name), text) for name, text in texts.items()]


class Shadow:
    """One trial of one agent.

    Args:
        config: of the agent, from ``spec.simulated.agent_config``.
        seed: of the trial.
        arm: ``baseline``, ``perturbed:ID`` or ``interrupted:POINT:FORM``; a kill strikes at the payment.
        offered: by the experiment.
    """

    def __init__(self, config: dict[str, Any], seed: int, arm: str, offered: Offered) -> None:
        self._config, self._seed, self._offered = config, seed, offered
        kind, _, rest = arm.partition(":")
        self._disturbs = rest if kind == "perturbed" else ""
        point, _, form = rest.partition(":")
        self._point, self._form = (point, form or "structured") if kind == "interrupted" else ("", "")
        self._world, self._course = World(), Course()
        self._verified: set[str] = set()
        self._answers: dict[str, tuple[str, str]] = {}
        self._kept: str | None = None
        self._order = 0
        self._dies = False

    def play(self) -> Course:
        """The whole trial."""
        agent = SimulatedAgent(self._config, self._seed)
        observation: dict[str, Any] = self._first()
        while True:
            move = agent.move(observation)
            self._keep(agent)
            if self._dies:
                agent, observation = self._reborn()
                continue
            shown = self._act(move)
            if move.kind in ("finish", "give_up", "surface"):
                if self._disturbs in TOLD and self._course.fired:
                    self._course.goal = TOLD[self._disturbs][0]
                return self._course
            if shown is None:
                agent, observation = self._reborn()
            else:
                observation = shown

    def _first(self) -> dict[str, Any]:
        channels = {"report_belief": self._offered.belief, "remember": self._offered.memory,
                    "recall": self._offered.memory}  # fmt: skip
        names = [*ALWAYS, *(name for name, there in channels.items() if there)]
        return {"text": "", "outcome": "ok", "tools": [{"name": name} for name in names]}

    def _keep(self, agent: SimulatedAgent) -> None:
        if self._form in ("structured", "prose") and agent.wants_checkpoint():
            kept = agent.save().decode() if self._form == "structured" else agent.summary()
            self._kept = kept[: self._offered.state_bytes]

    def _reborn(self) -> tuple[SimulatedAgent, dict[str, Any]]:
        """A new process with what was kept."""
        agent, first = SimulatedAgent(self._config, self._seed), self._first()
        step, self._dies, self._order = self._step, False, self._order + 1
        self._course.killed = self._course.resumed = step
        self._course.order_resumed = self._order
        first["resumed"] = {"memory": self._form}
        if self._form == "structured" and self._kept is not None:
            agent.load(self._kept.encode())
        if self._form == "prose":
            first["resumed"]["text"] = first["text"] = self._kept or ""
        return agent, first

    @property
    def _step(self) -> int:
        return len(self._course.deeds)

    # -- one action -----------------------------------------------------------------------------------
    def _act(self, move: Move) -> dict[str, Any] | None:
        """Carry out an action and what follows it; null when the agent is killed before it is answered."""
        tool, key = move.action["tool"], move.action.get("key")
        deed = Deed(self._step + 1, move, "ok")
        self._course.deeds.append(deed)
        strikes = tool == "payments.charge" and self._course.killed is None
        repeats = deed.repeats = key in self._answers
        if strikes and self._point == "before_effect" and not repeats:
            deed.outcome, deed.right, deed.order = "failed", self._world.right(), self._order
            return None
        text = self._answers[str(key)][0] if repeats else self._do(deed)
        loses = tool == "payments.charge" and self._disturbs == ACK_LOST and self._course.fired is None
        if loses and not repeats:
            deed.outcome, text = "unknown", ""
        elif key is not None:
            self._answers[key] = (text, deed.outcome)
        deed.order, deed.right = self._order, self._world.right()
        text += self._follow(deed, loses)
        if strikes and self._point == "after_effect_before_ack" and not repeats:
            return None
        return {"text": text, "outcome": deed.outcome}

    def _do(self, deed: Deed) -> str:
        """What the action does to the world; returns what it shows."""
        tool, arguments = deed.move.action["tool"], deed.move.action["arguments"]
        world = self._world
        if tool == "write_file":
            path, content = arguments["path"], arguments["content"]
            deed.changed = path if world.files.get(path) != content else None
            world.files[path] = content
        elif tool == "read_file":
            deed.outcome = "ok" if arguments["path"] in world.files else "failed"
            return world.files.get(arguments["path"], "")
        elif tool == "payments.charge":
            key = deed.move.action.get("key")
            deed.charged = key is None or key not in world.keys
            world.charges += deed.charged
            world.keys |= {key} if key is not None else set()
        elif tool == "payments.list":
            return json.dumps({"charges": [{"id": number + 1} for number in range(world.charges)]})
        elif tool == "remember":
            world.memory[arguments["key"]] = arguments["value"]
        elif tool == "recall":
            deed.outcome = "ok" if arguments["key"] in world.memory else "failed"
            return world.memory.get(arguments["key"], "")
        elif tool not in TALK:
            raise ValueError(f"{tool}: the shadow does not know what it does.")
        return ""

    def _follow(self, deed: Deed, loses: bool) -> str:
        """Triggers that the action met, in the order of the harness; returns what is told of them."""
        fresh = deed.right - self._verified
        self._verified |= deed.right
        told = ""
        if loses or (self._disturbs == RATE_CHANGED and FIRED_AFTER in fresh):
            self._fire(deed)
            if self._disturbs == RATE_CHANGED:
                self._world.files[CONFIG] = f"rate {NEW_RATE}\n"
                deed.right = self._world.right()
        elif self._disturbs in TOLD and TOLD_AFTER in fresh:
            self._fire(deed)
            told = f"\n\n{TOLD[self._disturbs][1]}"
        elif self._disturbs == "placebo" and FIRED_AFTER in fresh:
            self._fire(deed)
        if self._point in ("subgoal_verified", "compaction") and "paid" in fresh:
            self._dies = True
        return told

    def _fire(self, deed: Deed) -> None:
        self._order += 1
        self._course.fired, self._course.order_fired = deed.step, self._order
