"""Disturbs a trial: watches for the triggers of its perturbations and makes their changes, each written down.

Cost follows what an action changed and read; nothing here is on the trial clock but a delay.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from seatrial.errors import StateOverrun
from seatrial.gateway.attend import Asked, Idle, Observation, Window
from seatrial.gateway.disturbing.alterations import Altered, alter, instead
from seatrial.gateway.disturbing.disturbance import Armed, Hands, writes_a_service
from seatrial.gateway.disturbing.notices import Notice, goal_notice, notices_told, report_notice
from seatrial.gateway.disturbing.state_changes import Undeliverable, state_change, too_much
from seatrial.gateway.gateway import Gateway
from seatrial.gateway.recalling import Past
from seatrial.journal.events import ActionFinished, GoalChanged, PerturbationArmed, PerturbationFired
from seatrial.journal.reader import changes_of
from seatrial.spec import changes
from seatrial.spec.services import VERBS
from seatrial.spec.task import Perturbation
from seatrial.spec.triggers import BEFORE

# Paths that a line names; the effect before it has all of them.
PATHS_SHOWN = 256


class Injector(Idle):
    """The disturbances of one trial. List it behind whoever may deny an action.

    Args:
        perturbations: those that wait for their triggers.
        while_down: those that fire when the agent is down, whatever their triggers.
        hands: what it needs of the trial.
    """

    def __init__(
        self, perturbations: Sequence[Perturbation], hands: Hands, while_down: Sequence[Perturbation] = ()
    ) -> None:
        self._hands = hands
        self._armed = [*map(Armed, perturbations), *(Armed(p, while_down=True) for p in while_down)]
        self._altered: list[tuple[Armed, Altered]] = []
        self._called: deque[tuple[str, dict[str, Any]]] = deque()
        self._notices: list[Notice] = []
        self._told: tuple[int, list[Notice]] = (0, [])

    def recall(self, past: Past, still: Collection[str]) -> None:
        """Become what journals say it was, for a trial that goes on from another one's state; before ``arm``.

        Args:
            still: perturbations that go on waiting, by id; the others only have what they left behind.
        """
        for armed in self._armed:
            armed.recall(past.events)
            if armed.spec.id not in still:
                armed.left = 0
        self._notices = notices_told(past.events, self._hands.goals, self._hands.objects)[1]

    def arm(self, gateway: Gateway) -> None:
        """Begin to watch; before the first action."""
        self._gateway = gateway
        for armed in [each for each in self._armed if each.left]:
            spec, trigger = armed.spec, armed.trigger
            blind = trigger.kind == "file_read" and self._hands.world.watcher is None
            self._hands.journal.append(
                PerturbationArmed(
                    perturbation=spec.id, version=spec.version, change=spec.kind, strength=spec.strength,
                    trigger={"while_down": True} if armed.while_down else dict(spec.when),
                    affects=list(spec.affects), observable=armed.while_down or not blind,
                )
            )  # fmt: skip
            if not armed.while_down and (trigger.kind in BEFORE or armed.altering):
                self._arm_services(armed)

    # -- moments --------------------------------------------------------------------------------------
    def admit(self, asked: Asked) -> Window | None:
        """Triggers that an action meets before it runs, and answers in place of running it."""
        self._calls(asked.tool, asked.arguments, asked.step)
        for armed in self._targeting(asked):
            assert armed.alteration is not None
            window = instead(armed.alteration)
            if window is not None:
                window.notes |= {"perturbation": armed.spec.id, "kept_from_running": True}
                self._altered.append((armed, Altered({"ran": False})))
                return window
        return None

    def service_called(self, tool: str, arguments: dict[str, Any]) -> None:
        """A command is about to call a service by HTTP; told from any thread, one at a time.

        What it triggers comes now, while the command waits for its answer. A script of the task's has no
        place beside a command that runs, and what no command sends is part of no action: both follow when
        the next action ends.
        """
        with self._gateway.midway() as running:
            if running:
                self._calls(tool, arguments, self._gateway.step, beside=True)
            self._called.append((tool, arguments))

    def executed(self, asked: Asked, window: Window) -> None:
        """Alter what the action did or what is shown of it."""
        for armed in self._targeting(asked, window):
            assert armed.alteration is not None
            altered = alter(armed.alteration, asked, window, self._gateway, self._hands)
            if altered is not None:
                window.notes["perturbation"] = armed.spec.id
                self._altered.append((armed, altered))

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """Write down what was altered, then the triggers that this action met."""
        altered, self._altered = self._altered, []
        for armed, what in altered:
            visible = {"observation": finished.observation}
            self._fired(armed, asked.step, what.pre or finished.post, what.post or finished.post,
                        what.paths or [], visible, what.details)  # fmt: skip
        self._note_service_faults(asked.step, finished)
        # Other threads go on adding: what comes from now on belongs to the next action.
        called = [self._called.popleft() for _ in range(len(self._called))]
        if self._gateway.stop_reason is not None:
            return
        for tool, arguments in called:
            self._calls(tool, arguments, asked.step)
        verified = self._hands.verified()
        for armed in self._waiting():
            if armed.trigger.subgoal in verified or armed.met_by_reads(finished.reads):
                self._met(armed, asked.step)

    def checkpoint_taken(self, step: int) -> None:
        """A checkpoint of the agent is safe outside its process. Not for the trial clock."""
        self._meet_all("checkpoint", step)

    def compacted(self, step: int) -> None:
        """The agent's context has just been made shorter. Not for the trial clock."""
        self._meet_all("compaction", step)

    def agent_down(self, step: int, acknowledged: bool = True) -> None:
        """The agent's process is gone and its successor not there yet. Not for the trial clock.

        Args:
            step: the last one there was.
            acknowledged: whether it was shown how the step ended; if not, what it was to be told with that
                answer has still to be told.
        """
        told_at, told = self._told
        if not acknowledged and told_at == step:
            self._notices = [*told, *self._notices]
        self._told = (0, [])
        for armed in [a for a in self._armed if a.while_down and a.left]:
            self._met(armed, step)

    def take_notices(self) -> list[str]:
        """What the agent has still to be told, for whoever tells it elsewhere than with an answer."""
        notices, self._notices = self._notices, []
        return [notice.text for notice in notices]

    def shown(self, asked: Asked, observation: Observation) -> Observation:
        """Tell the agent of a new goal or of a report, once."""
        if not self._notices or observation.done:
            return observation
        notices, self._notices = self._notices, []
        self._told = (asked.step, notices)
        text = observation.text
        for notice in notices:
            text = notice.around(text)
        return msgspec.structs.replace(observation, text=text)

    # -- triggers -------------------------------------------------------------------------------------
    def _waiting(self) -> list[Armed]:
        """Those whose trigger has still to be met."""
        return [a for a in self._armed if a.left and not a.while_down and not a.altering]

    def _calls(self, tool: str, arguments: dict[str, Any], step: int, beside: bool = False) -> None:
        """Triggers that a call meets before it runs; ``beside`` a command that runs, but for scripts."""
        for armed in self._waiting():
            if beside and isinstance(armed.change, changes.RunScript):
                continue
            if armed.alteration is None and armed.met_by_call(tool, arguments):
                if beside:
                    self._gateway.divide()
                self._met(armed, step)

    def _meet_all(self, kind: str, step: int) -> None:
        for armed in self._waiting():
            if armed.trigger.kind == kind:
                self._met(armed, step)

    def _targeting(self, asked: Asked, window: Window | None = None) -> list[Armed]:
        """Those that alter this action, now or once it has run."""
        if asked.tool in changes.UNALTERABLE:
            return []
        found = []
        for armed in self._armed:
            change = armed.alteration
            if change is None or not armed.left or any(armed is other for other, _ in self._altered):
                continue
            if isinstance(change, changes.Fault) and "." in asked.tool:
                continue  # a service's own faults happen at the service
            if armed.altering:
                meant = change.tool in (None, asked.tool)
            elif armed.trigger.kind == "file_read" and not isinstance(change, changes.Fault):
                seen = None if window is None or window.delta is None else window.delta.reads()
                meant = armed.met_by_reads(seen)
            else:
                meant = armed.met_by_call(asked.tool, asked.arguments)
            if meant:
                found.append(armed)
        return found

    def _met(self, armed: Armed, step: int) -> None:
        """A trigger is met: make the change, or begin to alter actions."""
        if armed.alteration is None:
            self._fire(armed, step)
        elif armed.while_down or armed.trigger.kind != "file_read" or isinstance(armed.change, changes.Fault):
            armed.altering = True
            self._arm_services(armed)

    # -- changes --------------------------------------------------------------------------------------
    def _fire(self, armed: Armed, step: int) -> None:
        pre = self._gateway.fingerprint
        change = armed.change
        visible: dict[str, Any] = {}
        details: dict[str, Any] = {}
        paths: list[str] = []
        make = state_change(change, self._hands, armed.spec.id)
        if make is not None:
            pre, paths = self._change_state(armed, make, visible, details)
        elif isinstance(change, changes.NewGoal):
            visible, details = self._change_goal(armed, change.goal, step)
        elif isinstance(change, changes.RevokeApproval):
            visible = {"hidden": True}
            if self._hands.approvals is None or not self._hands.approvals.revoke(change.revoke):
                details["undelivered"] = f"the approval {change.revoke} was not live"
        elif isinstance(change, changes.Pollute):
            visible, details = self._pollute(change)
        self._fired(armed, step, pre, self._gateway.fingerprint, paths, visible, details)

    def _change_state(
        self, armed: Armed, make: Callable[[], None], visible: dict[str, Any], details: dict[str, Any]
    ) -> tuple[str, list[str]]:
        """Have the gateway impose it; returns the fingerprint before, and the paths changed."""
        # A script of the task's has to run, and everything else is made of a state that stands still.
        running = isinstance(armed.change, changes.RunScript)
        beside = bool(self._hands.world.alive)
        with contextlib.nullcontext() if running else self._hands.world.frozen():
            self._gateway.settle()
            pre = self._gateway.fingerprint
            try:
                effect = self._gateway.impose(make, f"perturbation {armed.spec.id}")
            except Undeliverable as problem:
                details["undelivered"] = str(problem)
                return pre, []
            except StateOverrun as overrun:
                if beside or not isinstance(armed.change, changes.RunScript):
                    raise
                raise too_much(armed.change, armed.spec.id, overrun) from overrun
        if effect is None:
            details["undelivered"] = "the state was already as the change leaves it"
            return pre, []
        changed = changes_of(effect, self._hands.objects)
        visible["paths"] = [entry.path for entry in changed[:PATHS_SHOWN]]
        if len(changed) > PATHS_SHOWN:
            details["paths"] = len(changed)
        return effect.pre, visible["paths"]

    def _change_goal(self, armed: Armed, to: int, step: int) -> tuple[dict[str, Any], dict[str, Any]]:
        was = self._gateway.goal_version
        if to <= was:
            return {}, {"undelivered": f"goal version {was} holds already"}
        goal, instruction = self._hands.goals[to]
        notice = goal_notice(goal, instruction, self._hands.goals[was][1])
        digest = self._tell(notice)
        self._gateway.change_goal(
            GoalChanged(
                step=step, was=was, to=to, relation=goal.relation or "", expect=goal.expect,
                instruction=digest, prominent=goal.prominent, perturbation=armed.spec.id,
            )
        )  # fmt: skip
        return {"notice": digest}, {}

    def _pollute(self, change: changes.Pollute) -> tuple[dict[str, Any], dict[str, Any]]:
        details = {"channel": change.channel, "source": change.source, "key": change.key}
        if change.channel == "report":
            return {"notice": self._tell(report_notice(change.key, change.value))}, details
        if self._hands.memory is None:
            return {}, {**details, "undelivered": f"the trial has no channel {change.channel}"}
        assert change.channel != "workspace", "a change of files"
        self._hands.memory.plant(change.channel, change.source, change.key, change.value)
        return {"hidden": True}, details

    def _tell(self, notice: Notice) -> str:
        """Have the next answer carry a notice; returns the object that holds what is told."""
        self._notices.append(notice)
        return self._hands.objects.put(notice.text.encode())

    def _fired(
        self, armed: Armed, step: int, pre: str, post: str, paths: list[str], visible: dict[str, Any],
        details: dict[str, Any],
    ) -> None:  # fmt: skip
        armed.left -= 1
        armed.firings += 1
        self._hands.journal.append(
            PerturbationFired(
                actor="environment", perturbation=armed.spec.id, change=armed.spec.kind, step=step,
                firing=armed.firings, pre=pre, post=post, paths=paths[:PATHS_SHOWN], visible=visible,
                details=details,
            )
        )  # fmt: skip

    # -- faults of services ---------------------------------------------------------------------------
    def _arm_services(self, armed: Armed) -> None:
        """Let a fault wait at the services it can happen at; they meet calls by tool and by HTTP alike."""
        change, services = armed.change, self._hands.services
        if not isinstance(change, changes.Fault) or services is None:
            return
        named = armed.trigger.tool if armed.trigger.kind in BEFORE else change.tool
        where = armed.trigger.call.get("where") if armed.trigger.kind in BEFORE else None
        if named is None:
            tools = [f"{s}.{verb}" for s in services.names for verb in VERBS[s]]
            tools = [t for t in tools if armed.trigger.kind == "action" or writes_a_service(t)]
        else:
            tools = [named] if "." in named else []
        for tool in tools:
            service, _, verb = tool.partition(".")
            seconds = {} if change.seconds is None else {"seconds": change.seconds}
            fault = services.arm(change.fault, service, verb, armed.left, where, **seconds)
            armed.faults.append((tool, fault))

    def _note_service_faults(self, step: int, finished: ActionFinished) -> None:
        """Write down the faults that calls have met since the last action."""
        for armed in self._armed:
            met = [tool for tool, fault in armed.faults for _ in range(fault.fired)]
            for tool in met[armed.at_services :]:
                armed.at_services += 1
                details = {"tool": tool, "fault": armed.spec.change["fault"]}
                visible = {"observation": finished.observation}
                self._fired(armed, step, finished.post, finished.post, [], visible, details)
            for _, fault in armed.faults:
                fault.left = min(fault.left, max(0, armed.left))
