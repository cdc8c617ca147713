"""People beside the agent: what they are asked, what they allow, and when they act themselves."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from seatrial.gateway.approvals import Approvals
from seatrial.gateway.attend import Asked, Handler, Idle, Observation, Window
from seatrial.gateway.gateway import Gateway
from seatrial.gateway.meter import Meter
from seatrial.gateway.recalling import Past
from seatrial.gateway.tools import Tool
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    BudgetExhausted,
    HumanIntervened,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter

Tier = Literal["approval", "facts", "takeover", "repair"]
TELL = 2000


@dataclass(frozen=True)
class Request:
    """A call that the agent asks a person to allow.

    Attributes:
        shown: what the person sees of it.
        problem_with: what is wrong with other arguments for the tool; null when nothing is.
    """

    tool: str
    arguments: dict[str, Any]
    approval: str | None
    shown: str
    problem_with: Callable[[dict[str, Any]], str | None]


@dataclass(frozen=True)
class Reply:
    """What a person said.

    Attributes:
        decision: ``approved``, ``refused``, ``edited``, ``stopped``; of a question ``answered``,
            ``took_over``, ``refused`` or ``stopped``.
        text: for the agent.
        typed: the person's own words; null when there were none.
        arguments: of an edited call, all of them.
        waited_us: on the trial clock; of it somebody really waited ``away_us``.
    """

    decision: str
    text: str = ""
    typed: str | None = None
    arguments: dict[str, Any] | None = None
    waited_us: int = 0
    away_us: int = 0


# Does one action for the person, who took so many µs of the trial clock before it.
Act = Callable[[str, dict[str, Any], int], Observation]


@dataclass(frozen=True)
class Mended:
    """What the evaluator writes to mend the environment: a file, by the path the agent's tools take."""

    path: str
    content: bytes


class Person(Protocol):
    """Who is asked. The conformance of both kinds is tested in ``tests/trial/people/test_people.py``."""

    @property
    def by(self) -> Literal["scripted", "terminal"]:
        """Which kind."""

    def approve(self, request: Request) -> Reply:
        """Decide on a call."""

    def answer(self, question: str) -> Reply:
        """Answer a question, or take over."""

    def wants_to_act(self, step: int) -> bool:
        """Whether the person takes over after a step, unasked; true once for each time."""

    def acts(self, act: Act) -> str:
        """Act until the work is given back or has ended; returns what was typed."""

    def repairs(self, step: int) -> Sequence[Mended]:
        """What the evaluator mends after a step; each is named once."""


class Humans(Idle):
    """An attendant with the tools ``request_approval`` and ``ask_human``.

    Args:
        person: who is asked.
        approvals: where what is allowed goes.
        tools: of the trial, by name: what approval can be asked for.
        journal, objects: what was shown and typed is kept.
        meter: counts requests and waiting.
    """

    def __init__(
        self, person: Person, approvals: Approvals, tools: dict[str, Tool], journal: JournalWriter,
        objects: ObjectStore, meter: Meter,
    ) -> None:  # fmt: skip
        self._person, self._approvals, self._tools = person, approvals, tools
        self._journal, self._objects, self._meter = journal, objects, meter
        self._gateway: Gateway | None = None
        self._wants, self._acting, self._waited_us = False, False, 0
        self._before = 0

    def attach(self, gateway: Gateway) -> None:
        """The gateway whose attendant this is; before the first action."""
        self._gateway = gateway

    @property
    def handlers(self) -> dict[str, Handler]:
        """Of its tools."""
        return {"request_approval": self.request_approval, "ask_human": self.ask_human}

    def recall(self, past: Past) -> None:
        """Bring a scripted person to where journals left it, by asking the same again.

        Its script counts the steps from the beginning of the trial that all this goes back to.
        """
        self._before = past.steps
        if self._person.by != "scripted":
            return
        requests: dict[int, ActionRequested] = {}
        ended = set[int]()
        for event in past.events:
            if isinstance(event, ActionRequested):
                requests[event.step] = event
            elif isinstance(event, ActionFinished):
                ended.add(event.step)
                if requests[event.step].actor != "human":
                    self._person.repairs(self._before + event.step)
            elif isinstance(event, HumanIntervened):
                self._ask_again(event, None if event.step in ended else requests[event.step])

    def _ask_again(self, event: HumanIntervened, asked: ActionRequested | None) -> None:
        """Args: asked: the request that is under way; null where the person acts unasked."""
        if event.tier == "approval" and asked is not None:
            tool, arguments = asked.arguments["action"], asked.arguments.get("arguments") or {}
            needed = self._approvals.needed(tool, arguments)
            problem_with = self._tools[tool].problem_with
            self._person.approve(Request(tool, arguments, needed.id if needed else None, "", problem_with))
        elif asked is not None and asked.tool == "ask_human":
            self._person.answer(asked.arguments["question"])
        elif event.decision == "took_over":
            self._person.wants_to_act(self._before + event.step)
        if event.decision == "took_over":
            self._person.acts(lambda *_: Observation(text="", outcome="ok", done=True))

    # -- asked ----------------------------------------------------------------------------------------
    def request_approval(self, asked: Asked) -> Window:
        """Ask the person to allow one exact call."""
        name, arguments = asked.arguments["action"], asked.arguments.get("arguments") or {}
        tool = self._tools.get(name)
        if tool is None or not isinstance(arguments, dict):
            problem = f"there is no tool {name[:80]!r}" if tool is None else "arguments must be an object"
            return Window("failed", f"request_approval: {problem}", notes={"malformed": True})
        if wrong := tool.problem_with(arguments):
            return Window("failed", f"request_approval: {wrong}", notes={"malformed": True})
        if out := self._out_of_requests():
            return out
        needed = self._approvals.needed(name, arguments)
        shown = _as_shown(name, arguments, asked.arguments.get("reason") or "")
        request = Request(name, arguments, needed.id if needed else None, shown, tool.problem_with)
        reply = self._person.approve(request)
        granted = reply.arguments if reply.decision == "edited" else arguments
        assert granted is not None, "an edited call without arguments"
        needed = self._approvals.needed(name, granted) or needed
        self._note(asked.step, "approval", reply, shown, needed.id if needed else None)
        if needed is not None and reply.decision in ("approved", "edited"):
            self._approvals.grant(needed.id, granted)
        elif needed is not None:
            self._approvals.refused(needed.id)
        return self._window(reply)

    def ask_human(self, asked: Asked) -> Window:
        """Ask the person something."""
        if out := self._out_of_requests():
            return out
        question = asked.arguments["question"]
        reply = self._person.answer(question)
        self._wants = reply.decision == "took_over"
        self._note(asked.step, "takeover" if self._wants else "facts", reply, question)
        return self._window(reply)

    def _out_of_requests(self) -> Window | None:
        """The end of the trial when the budget has no request left; otherwise counts this one."""
        assert self._gateway is not None, "not attached"
        limit = self._meter.budget.human_requests
        if limit is not None and self._meter.human_requests >= limit:
            over = BudgetExhausted(resource="human_requests", limit=limit, used=self._meter.human_requests)
            self._journal.append(over)
            self._gateway.stop_reason = "budget_human"
            return Window("denied", "Nobody is there to answer any more.")
        self._meter.human_requests += 1
        return None

    def _window(self, reply: Reply) -> Window:
        assert self._gateway is not None, "not attached"
        self._meter.person_waited(reply.waited_us)
        if reply.decision == "stopped":
            self._gateway.stop_reason = "safety_stop"
        outcome: Literal["ok", "denied"] = "denied" if reply.decision in ("refused", "stopped") else "ok"
        return Window(outcome, reply.text, approval_us=reply.waited_us, away_us=reply.away_us)

    def _note(self, step: int, tier: Tier, reply: Reply, shown: str, approval: str | None = None) -> None:
        self._journal.append(
            HumanIntervened(
                actor="human", step=step, tier=tier, by=self._person.by, shown=self._keep(shown),
                typed=None if reply.typed is None else self._keep(reply.typed), decision=reply.decision,
                approval=approval, arguments=reply.arguments, waited_us=reply.waited_us,
            )
        )  # fmt: skip

    def _keep(self, text: str) -> str:
        return self._objects.put(text.encode("utf-8", "surrogatepass"))

    # -- acting ---------------------------------------------------------------------------------------
    def executed(self, asked: Asked, window: Window) -> None:
        """A person's own action has the time the person took before it."""
        if self._acting:
            window.approval_us += self._waited_us
            self._waited_us = 0

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """What the evaluator mends after this step."""
        if self._acting or self._gateway is None or self._gateway.stop_reason is not None:
            return
        for mended in self._person.repairs(self._before + asked.step):
            self._gateway.impose(self._gateway.writer(mended.path, mended.content), "repair")
            self._journal.append(
                HumanIntervened(
                    step=asked.step, tier="repair", by="evaluator", shown=self._keep(""),
                    typed=self._objects.put(mended.content), decision="repaired",
                )
            )  # fmt: skip

    def shown(self, asked: Asked, observation: Observation) -> Observation:
        """Where a person takes over, the agent is answered when the work is given back."""
        if self._acting or self._gateway is None or self._gateway.stop_reason is not None:
            return observation
        if not self._wants:
            if not self._person.wants_to_act(self._before + asked.step):
                return observation
            self._note(asked.step, "takeover", Reply("took_over"), "")
        told = self._take_over(self._gateway)
        done = self._gateway.stop_reason is not None
        text = f"{observation.text.rstrip()}\n{told}" if observation.text.strip() else told
        return msgspec.structs.replace(observation, text=text, done=done)

    def _take_over(self, gateway: Gateway) -> str:
        """Let the person act; returns what the agent is told of it."""
        self._wants, self._acting = False, True
        seen: list[str] = []
        total = 0

        def act(tool: str, arguments: dict[str, Any], waited_us: int) -> Observation:
            nonlocal total
            self._meter.person_waited(waited_us)
            self._waited_us += waited_us
            total += waited_us
            observation = gateway.act(tool, arguments)
            self._meter.agent_acts()  # the agent's turn begins when the work is given back
            seen.append(f"{tool} {json.dumps(arguments, ensure_ascii=False)}: {observation.outcome}")
            return observation

        try:
            with gateway.person_acts():
                typed = self._person.acts(act)
        finally:
            self._acting, self._waited_us = False, 0
        done = "\n".join(seen)
        told = f"[A person did this meanwhile and gives the work back to you]\n{done[:TELL]}"
        reply = Reply("gave_back", typed=typed, waited_us=total)
        self._note(gateway.step, "takeover", reply, told)
        return told


def _as_shown(tool: str, arguments: dict[str, Any], reason: str) -> str:
    """The exact call, as a person sees it."""
    lines = [f"The agent asks to be allowed this call: {tool}"]
    lines += [f"  {name} = {json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()]
    return "\n".join([*lines, f"Its reason: {reason}" if reason else "It gives no reason."])
