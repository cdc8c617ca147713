"""``act``: the only way in. Every request becomes a step with the state before and after."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from seatrial.environment.delta import Delta, without
from seatrial.environment.world import World
from seatrial.errors import EnvironmentFault
from seatrial.gateway.answers import SHOWN_NAME, Answers
from seatrial.gateway.asked import plain, readable
from seatrial.gateway.attend import Asked, Attendant, Handler, Observation, Window
from seatrial.gateway.deeds import done_by
from seatrial.gateway.execute import execute, state_path
from seatrial.gateway.meter import Meter, Turn
from seatrial.gateway.policy import Finding, Policy
from seatrial.gateway.recalling import Past
from seatrial.gateway.restraint import Actor, Restrained, Restraint
from seatrial.gateway.tools import TOOLS, Tool
from seatrial.journal.entries import Entry, State
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ActionRequested,
    BeliefReported,
    BudgetExhausted,
    ConstraintViolated,
    Cost,
    EffectRecorded,
    GoalChanged,
    StopReason,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Constraint

# Deltas above this many entries go to an object: a journal line stays small enough to read.
LARGE_DELTA = 256
# Tools that run nothing in the environment.
TALK = ("finish", "give_up", "report_belief", "ask_human")

KillPoint = Callable[[str, int], None]


@dataclass
class Offer:
    """What this trial offers, to whom, and how it may end early.

    Attributes:
        tools: by name.
        kill_point: called with a name and the step at ``before_effect`` and ``after_effect_before_ack``.
        succeeded: whether the state is a strict success under a goal version; null when the trial does not
            stop at the first one.
        actor: who acts: an agent, or a person in its place.
        handlers: of the tools that run elsewhere than in the sandbox, by name.
        attendants: who else is asked about each action, in order.
    """

    tools: dict[str, Tool] = field(default_factory=lambda: dict(TOOLS))
    kill_point: KillPoint = lambda name, step: None
    succeeded: Callable[[int], bool] | None = None
    actor: Literal["agent", "human"] = "agent"
    handlers: dict[str, Handler] = field(default_factory=dict)
    attendants: list[Attendant] = field(default_factory=list)


class Gateway:
    """One trial's door.

    Args:
        sandbox: the world, proven clean.
        journal: where every step is written, before and after.
        objects: for observations and large deltas.
        policy: the task's constraints on this sandbox.
        meter: budgets and the clock.
        offer: tools and hooks.

    Attributes:
        on_change: told of every change of the state when it is written down, whoever made it.
    """

    def __init__(
        self,
        sandbox: World,
        journal: JournalWriter,
        objects: ObjectStore,
        policy: Policy,
        meter: Meter,
        offer: Offer,
    ) -> None:
        self._sandbox, self._journal, self._objects = sandbox, journal, objects
        self._policy, self._meter, self._offer = policy, meter, offer
        self._post = sandbox.tracker.fingerprint()
        self._answers = Answers(objects)
        self._restraint = Restraint(sandbox, journal, policy)
        self.on_change: list[Callable[[list[Entry]], None]] = []
        self._executing, self._ending = False, threading.Lock()
        self._so_far: Restrained | None = None
        self._calls: list[tuple[str, dict[str, Any]]] = []
        self.step = 0
        self.stop_reason: StopReason | None = None
        self.summary = ""
        self.confidence: float | None = None
        self.last_turn = Turn(0, 0)

    @property
    def tools(self) -> list[Tool]:
        """What is offered, in the order it is described."""
        return list(self._offer.tools.values())

    def recall(self, past: Past, revoking: Mapping[str, str]) -> None:
        """Know answers and approvals of before, for a trial that goes on from another one's state.

        Args:
            revoking: as in ``Approvals.recall``.
        """
        self._answers.recall(past)
        self._policy.recall(past, revoking)

    def act(
        self, tool: str, arguments: dict[str, Any], key: str | None = None,
        forced: dict[str, Any] | None = None,
    ) -> Observation:  # fmt: skip
        """Carry out one request and return what the agent is shown.

        Args:
            tool: name of a gateway tool.
            arguments: as the agent gave them.
            key: idempotency key; the same request under it again takes a step, gives the first answer and
                does nothing.
            forced: what the agent had asked for, where a fork carries out this in its place.

        Raises:
            EnvironmentFault: the world broke; the request stays in the journal, unfinished: unknown.
            JournalError: the step cannot be written down; nothing is acknowledged.
        """
        turn = self._meter.agent_acts()
        try:
            if self.stop_reason is not None:
                return Observation(text="The work has ended.", outcome="denied", done=True)
            tool, (arguments, problem) = readable(tool), plain(arguments)
            key = None if key is None else readable(key)
            self._settle_unseen()
            self.step += 1
            self._meter.actions += 1
            begun = time.monotonic_ns()
            self._journal.append(
                ActionRequested(
                    actor=self._offer.actor,
                    step=self.step,
                    tool=tool,
                    arguments=arguments,
                    key=key or "",
                    pre=self._post,
                    forced=forced,
                )
            )
            asked = Asked(self.step, tool, arguments, key)
            window = self._answers.again(asked) or self._decide_and_execute(asked, problem)
            observation = self._record(asked, window, turn, begun)
            for attendant in self._offer.attendants:
                observation = attendant.shown(asked, observation)
            return observation
        finally:
            if self.stop_reason is None:
                self._meter.agent_thinks()

    # -- before ---------------------------------------------------------------------------------------
    def _settle_unseen(self, always: bool = False) -> None:
        """Write down what happened between actions, or what the command under way has done so far.

        Constraints that it broke are noted, and what must be prevented is put back.

        Args:
            always: write a line even if nothing changed.
        """
        # A command that has just ended may not have been settled yet.
        if not (self._executing or self._sandbox.unsettled):
            return
        actor: Actor = self._offer.actor if self._executing else "background"
        kept = self._restraint.restrain(self._sandbox.settle(), actor, self.step)
        delta, windows = kept.delta, kept.windows
        if self._executing:
            self._so_far = kept if self._so_far is None else self._so_far.then(kept)
        if always or delta.fingerprint != self._post or delta.changes or windows:
            entries, name = self._fit(delta.changes)
            self._journal.append(
                EffectRecorded(
                    actor=actor, pre=self._post, post=delta.fingerprint, changes=entries,
                    changes_object=name, windows=windows,
                )
            )  # fmt: skip
            self._post = delta.fingerprint

    def _decide_and_execute(self, asked: Asked, unreadable: str | None = None) -> Window:
        tool, arguments = asked.tool, asked.arguments
        known = self._offer.tools.get(tool)
        if known is None:
            names = ", ".join(self._offer.tools)
            problem = f"there is no tool {tool[:SHOWN_NAME]!r}; there are {names}"
            return Window("failed", problem, notes={"malformed": True})
        if wrong := unreadable or known.problem_with(arguments):
            return Window("failed", wrong, notes={"malformed": True})
        self._policy.begins(tool, arguments, asked.key)
        if refused := self._refused(tool, arguments):
            return refused
        for attendant in self._offer.attendants:
            if answer := attendant.admit(asked):
                return answer
        self._journal.append(ActionDecided(step=self.step, decision="allow"))
        if tool in TALK and tool not in self._offer.handlers:
            return self._speak(tool, arguments)
        self._offer.kill_point("before_effect", self.step)
        window = self._execute(asked)
        self._offer.kill_point("after_effect_before_ack", self.step)
        return window

    def _refused(self, tool: str, arguments: dict[str, Any]) -> Window | None:
        """Constraints on calls: a denial, or null with the violations written down."""
        forbidden = self._policy.calls(tool, arguments)
        for finding in forbidden:
            constraint = finding.constraint
            if constraint.mode == "prevent":
                return self.deny(constraint.id, _why_denied(constraint))
        if tool in ("write_file", "edit_file"):
            prevented = self._policy.would_write(state_path(arguments["path"]))
            if prevented is not None:
                return self.deny(prevented.id, f"{arguments['path']} may not be written")
        self._restraint.note(forbidden, self._offer.actor, self.step)
        return None

    def _execute(self, asked: Asked) -> Window:
        handler = self._offer.handlers.get(asked.tool)
        self._calls, self._so_far = [], None
        if handler is not None:
            window = handler(asked)
            self._meter.tool_worked(window.tool_us)
        else:
            self._executing = True
            try:
                window = execute(self._sandbox, self._meter, asked)
            finally:
                with self._ending:
                    self._executing = False
        window.delta = self._sandbox.settle()
        window.calls = list(self._calls)
        self._judge_effects(window)
        if had := self._policy.ran(asked.key):
            window.notes["approvals"] = had
        for attendant in self._offer.attendants:
            attendant.executed(asked, window)
        return window

    # -- requests to services that a command sends, from threads of their own ---------------------------
    def moment(self) -> tuple[int, Actor]:
        """The step under way and whose requests come now: while no command runs, those of what still runs."""
        return self.step, self._offer.actor if self._executing else "background"

    @contextmanager
    def midway(self) -> Iterator[bool]:
        """For the thread of a request: what is done in here happens while the command under way runs.

        Yields:
            Whether one does; if not, this thread must leave the state alone.
        """
        with self._ending:
            yield self._executing

    @contextmanager
    def judged(
        self, tool: str, arguments: dict[str, Any], key: str | None, actor: Actor
    ) -> Iterator[str | None]:
        """Judge a request like the call of the tool; what is not denied is to be carried out in here.

        Yields:
            Why it is denied; null when it is not.
        """
        within = actor != "background"
        if within:
            self._calls.append((tool, arguments))
        approvals = self._policy.approvals
        held = approvals.hold(tool, arguments, key)
        try:
            denied = self._denied(self._policy.calls(tool, arguments, held, within), actor)
            yield denied
            if denied is None:
                approvals.use(held, key)
        finally:
            approvals.release(held)

    def _denied(self, forbidden: list[Finding], actor: Actor) -> str | None:
        for constraint in (finding.constraint for finding in forbidden):
            if constraint.mode == "prevent":
                return self.deny(constraint.id, _why_denied(constraint)).text
        self._restraint.note(forbidden, actor, self.step)
        return None

    def deny(self, constraint: str, reason: str) -> Window:
        """Write down that the action under way is denied, and answer so."""
        self._journal.append(
            ActionDecided(step=self.step, decision="deny", constraint=constraint, reason=reason)
        )
        return Window("denied", f"denied: {reason}")

    # -- executing ------------------------------------------------------------------------------------
    def _speak(self, tool: str, arguments: dict[str, Any]) -> Window:
        """Tools that touch no world."""
        if tool == "finish":
            self.stop_reason = "finished"
            self.summary, self.confidence = arguments.get("summary") or "", arguments.get("confidence")
            return Window("ok", "The work has ended.")
        if tool == "give_up":
            self.stop_reason, self.summary = "gave_up", arguments.get("reason") or ""
            return Window("ok", "The work has ended.")
        if tool == "report_belief":
            self._journal.append(BeliefReported(actor=self._offer.actor, step=self.step, belief=arguments))
            return Window("ok", "noted")
        return Window("denied", "Nobody is there to answer.")

    def _judge_effects(self, window: Window) -> None:
        """Constraints on files: what must be prevented has been put back, and the agent is told."""
        if window.delta is None:
            return
        kept = self._restraint.restrain(window.delta, self._offer.actor, self.step)
        if self._so_far is not None:
            kept = self._so_far.then(kept)
        window.delta, window.windows = kept.delta, kept.windows
        if kept.put_back is not None:
            window.notes["put_back"], window.outcome = kept.put_back, "denied"
            window.text += f"\n[not allowed, put back: {', '.join(kept.put_back)}]"
            window.undone, window.recovery_us = kept.undone, kept.recovery_us

    def take_back(self, delta: Delta, changed: list[Entry]) -> tuple[Delta, int]:
        """Undo a part of what the action under way changed; see ``Restraint.take_back``."""
        return self._restraint.take_back(delta, changed)

    # -- after ----------------------------------------------------------------------------------------
    def _record(self, asked: Asked, window: Window, turn: Turn, begun: int) -> Observation:
        self._policy.ends()
        if not window.notes.keys() & {"malformed", "repeats"} and (
            near := self._policy.opportunities(done_by(asked, window))
        ):
            window.notes["opportunities"] = near
        changes = window.delta.changes if window.delta else []
        pre = self._post
        post = window.delta.fingerprint if window.delta else pre
        entries, name = self._fit(changes)
        text = window.text
        data = text.encode("utf-8", "surrogatepass")
        shown = self._objects.put(data)
        # Asked again after an unknown outcome, the service must answer and not this memory of not knowing;
        # and what was never carried out is still to be.
        self._answers.keep(asked, window, shown)
        tool_us = window.result.tool_us if window.result else window.tool_us
        spent = (time.monotonic_ns() - begun) // 1000
        self._post = post
        if self._sandbox.alive:
            window.notes["alive"] = self._sandbox.alive
        finished = self._journal.append(
            ActionFinished(
                step=self.step,
                outcome=window.outcome,
                exit_code=window.exit_code,
                pre=pre,
                post=post,
                changes=entries,
                changes_object=name,
                reads=window.delta.reads() if window.delta else [],
                observation=shown,
                shown_bytes=len(data),
                cost=Cost(
                    model_us=turn.model_us,
                    queue_us=turn.queue_us,
                    approval_us=window.approval_us,
                    tool_us=tool_us,
                    recovery_us=window.recovery_us,
                    overhead_us=max(0, spent - tool_us - window.away_us),
                    cpu_us=window.result.cpu_us if window.result else None,
                    units=max(1, sum(1 for e in changes if e.kind != "dir")),
                    undone_writes=window.undone,
                    repeated_requests=1 if "repeats" in window.notes else 0,
                ),
                key=asked.key or "",
                windows=window.windows,
                notes=window.notes,
            )
        )
        assert isinstance(finished, ActionFinished)
        for attendant in self._offer.attendants:
            attendant.committed(asked, finished)
        self._stop_early()
        return Observation(
            text=text, outcome=window.outcome, exit_code=window.exit_code, done=self.stop_reason is not None
        )

    def _stop_early(self) -> None:
        """Budgets, then a success that ends the trial when the experiment stops at the first one."""
        if self.stop_reason is not None:
            return
        if over := self._meter.exhausted():
            resource, self.stop_reason, limit, used = over
            self._journal.append(BudgetExhausted(resource=resource, limit=limit, used=used))
        elif self._offer.succeeded is not None and self._offer.succeeded(self.goal_version):
            self.stop_reason = "first_success"

    def _fit(self, changes: list[Entry]) -> tuple[list[Entry], str | None]:
        """Small deltas stand in the line, large ones in an object; whoever follows the state is told."""
        for tell in self.on_change:
            tell(changes)
        if len(changes) <= LARGE_DELTA:
            return changes, None
        return [], self._objects.put(msgspec.json.encode(changes))

    def writer(self, path: str, content: bytes) -> Callable[[], None]:
        """A change for ``impose``: writes a file as the agent's tools would.

        Raises:
            EnvironmentFault: when it is called and the file cannot be written.
        """

        def write() -> None:
            result = self._sandbox.file_tool("write_file", path, content=content)
            if result.exit_code != 0:
                raise EnvironmentFault(f"{path}: {result.output.decode('utf-8', 'replace').strip()}")

        return write

    @contextmanager
    def person_acts(self) -> Iterator[None]:
        """What is done in here a person does in the agent's place."""
        before, self._offer.actor = self._offer.actor, "human"
        try:
            yield
        finally:
            self._offer.actor = before

    @property
    def violations(self) -> list[ConstraintViolated]:
        """Of constraints, certain ones, in the order they were written down."""
        return self._restraint.violations

    @property
    def actor(self) -> Literal["agent", "human"]:
        """Who acts: an agent, or a person in its place."""
        return self._offer.actor

    @property
    def alive(self) -> int:
        """Processes the last action left behind."""
        return self._sandbox.alive

    def interrupt(self) -> None:
        """End the action under way, from a signal handler; its outcome is ``partial``."""
        self._sandbox.interrupt()

    def settle(self) -> str:
        """Write down what was done since the last line; returns the fingerprint of the state as it is now.

        Raises:
            EnvironmentFault: the world broke.
        """
        self._settle_unseen()
        return self._post

    def divide(self) -> None:
        """Tell what the command under way has done so far apart from what it does from now on; ``midway``.

        Raises:
            EnvironmentFault: the world broke.
        """
        self._settle_unseen(always=True)

    def impose(self, change: Callable[[], None], note: str) -> EffectRecorded | None:
        """Let the harness change the world and write down what became of it: between actions, or ``midway``.

        Args:
            change: alters the world; nothing of the agent's runs meanwhile.
            note: why, such as ``perturbation ID``.

        Returns:
            The line that was written; null when the state is as before.
        """
        self._settle_unseen()
        change()
        delta = self._sandbox.settle()
        self._policy.imposed(delta)
        if delta.fingerprint == self._post and not delta.changes:
            return None
        if self._so_far is not None:
            # What the action did to these paths before is done with; its own line must not bring it back.
            changed = {entry.path for entry in delta.changes}
            self._so_far = replace(self._so_far, delta=without(self._so_far.delta, changed))
        entries, name = self._fit(delta.changes)
        effect = EffectRecorded(
            actor="environment", pre=self._post, post=delta.fingerprint, changes=entries, changes_object=name,
            note=note,
        )  # fmt: skip
        self._journal.append(effect)
        self._post = delta.fingerprint
        return effect

    @property
    def goal_version(self) -> int:
        """The version of the goal that holds now."""
        return self._journal.goal_version

    def change_goal(self, change: GoalChanged) -> None:
        """Write a change of the goal; what follows belongs to the new version."""
        self._journal.append(change)
        self._journal.goal_version = change.to

    @property
    def fingerprint(self) -> str:
        """Of the state as last settled."""
        return self._post

    def look(self) -> tuple[State, State]:
        """The state as last settled, and its difference from the base: ``absent`` for what is gone."""
        return self._sandbox.tracker.state(), self._sandbox.tracker.delta()

    def out_of_time(self) -> None:
        """The agent thought past its time budget: end the trial and say so."""
        self.agent_ends()
        limit = self._meter.budget.seconds or 0.0
        self._journal.append(
            BudgetExhausted(resource="seconds", limit=limit, used=self._meter.seconds_used())
        )
        self.stop_reason = "budget_seconds"

    def out_of_calls(self) -> None:
        """No further model call fits into the budgets: end the trial and say so."""
        self.agent_ends()
        over = self._meter.no_call_left()
        assert over is not None, "asked for without a used-up budget"
        resource, self.stop_reason, limit, used = over
        self._journal.append(BudgetExhausted(resource=resource, limit=limit, used=used))

    def agent_ends(self) -> None:
        """The turn under way leads to no action: what it took belongs to the last line. May be repeated."""
        turn = self._meter.agent_acts()
        self.last_turn = Turn(
            self.last_turn.model_us + turn.model_us, self.last_turn.queue_us + turn.queue_us
        )

    def close(self) -> str:
        """Take in what background processes did last; returns the final fingerprint."""
        try:
            self._settle_unseen()
        except EnvironmentFault:
            if self.stop_reason is None:
                self.stop_reason = "environment_fault"
        return self._post


def _why_denied(constraint: Constraint) -> str:
    return "this needs an approval" if constraint.requires else "this call is not allowed"
