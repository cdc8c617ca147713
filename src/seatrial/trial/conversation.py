"""The agent's side of an attempt: start its process, serve its requests, kill it and start another one."""

import base64
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from seatrial.agents.model.recorder import CallRecorder
from seatrial.agents.process import AgentProcess, ModelDoor, Request
from seatrial.errors import AgentFault
from seatrial.gateway.asked import readable
from seatrial.gateway.attend import Observation
from seatrial.gateway.gateway import Gateway
from seatrial.gateway.meter import Meter
from seatrial.journal.entries import State
from seatrial.journal.events import AgentExited, AgentResumed, AgentStarted, HarnessFaulted, StopReason
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Budget
from seatrial.trial.aids import Aids
from seatrial.trial.attempt import Attempt
from seatrial.trial.forks.forking import Beginning, persisted
from seatrial.trial.forks.retelling import retell
from seatrial.trial.keeping.checkpoints import BadCheckpoint
from seatrial.trial.keeping.compaction import BadReport
from seatrial.trial.models import metering, model_proxy
from seatrial.trial.systems import agent_program

if TYPE_CHECKING:
    from seatrial.agents.model.proxy import ModelProxy

# While a model call is under way the time left stands still, and is looked at no more often than this.
LOOK_SECONDS = 0.05
# A new process must have taken its state in by then; no budget counts that time.
RESUME_SECONDS = 60.0
INTERRUPTED = "You were interrupted and go on now."
NOTES = "What you had written down for yourself:"

End = tuple[StopReason, dict[str, Any]]


def converse(
    attempt: Attempt, gateway: Gateway, journal: JournalWriter, meter: Meter, aids: Aids, begins: Beginning
) -> End:
    """Let the agent act until it ends, a budget ends it, its model fails, or it breaks.

    Returns:
        Why it ended, and notes for the last line.
    """
    recorder = CallRecorder(journal, attempt.run.objects, meter, lambda: gateway.step + 1)
    with model_proxy(attempt.system, attempt.host, recorder) as proxy:
        return _Conversation(attempt, gateway, journal, meter, aids, begins, proxy).hold()


class _Conversation:
    """One attempt's agent, whichever process it lives in."""

    def __init__(
        self, attempt: Attempt, gateway: Gateway, journal: JournalWriter, meter: Meter, aids: Aids,
        begins: Beginning, proxy: "ModelProxy | None",
    ) -> None:  # fmt: skip
        self._attempt, self._gateway, self._journal, self._meter = attempt, gateway, journal, meter
        self._aids, self._begins, self._proxy = aids, begins, proxy
        self._program = agent_program(attempt.run, attempt.manifest, attempt.task, attempt.planned.system)
        self._resumed = self._is_told_again = False
        if begins.forget:
            self._carry_out_forced()
        self._agent = self._start()

    def hold(self) -> End:
        """See ``converse``."""
        reason: StopReason | None = None
        note: dict[str, Any] = {}
        try:
            if self._begins.replayed and self._gateway.stop_reason is None:
                self._is_told_again = True
                retell(self._agent, self._begins.replayed)
                self._is_told_again = False
            self._meter.agent_thinks()
            reason, note = self._serve()
        except AgentFault as fault:
            reason, note = "agent_fault", {"problem": readable(str(fault)), "started": self._is_started}
        finally:
            self._gateway.agent_ends()
            status = self._agent.close()
            if self._proxy is not None:
                self._proxy.close()
            if reason == "environment_fault":
                self._journal.append(HarnessFaulted(where="model", problem=note["problem"]))
            self._journal.append(AgentExited(status=status, note=note.get("problem", "")))
        return reason, note

    @property
    def _is_started(self) -> bool:
        """Whether an agent came to act: what a later process of it does is its own doing."""
        return self._resumed or (self._agent.ready and not self._is_told_again)

    # -- processes ------------------------------------------------------------------------------------
    def _start(self) -> AgentProcess:
        first, state = self._first_observation(*self._begins.told), None
        if self._begins.kept is not None:
            first["resumed"], state, prose = persisted(self._begins.kept, self._attempt.run.objects)
            first["text"] = "\n\n".join([first["text"], INTERRUPTED, *([NOTES, prose] if prose else [])])
        agent = self._new_process(f"a{os.getpid()}", first, state)
        system = self._attempt.system
        confined = self._attempt.host.mode != "unsafe"
        details = {"files": sorted(self._program.folder), "privileged": system["privileged"]}
        details["model_calls"] = metering(system, confined)
        self._journal.append(AgentStarted(agent=system["agent"], confined=confined, details=details))
        return agent

    def _new_process(self, name: str, first: dict[str, Any], state: bytes | None) -> AgentProcess:
        hello: dict[str, Any] = {"observation": first, "seed": self._attempt.planned.seed}
        if self._aids.checkpoints is not None:
            kept = self._aids.checkpoints
            hello["checkpoints"] = first["checkpoints"] = {"memory": kept.memory, "bytes": kept.limit}
        if state is not None:
            hello["state"] = base64.b64encode(state).decode()
        proxy = self._proxy
        door = None if proxy is None else ModelDoor(proxy.socket_path, proxy.wake)
        agent = AgentProcess(self._attempt.host, self._program, hello, name, door)
        if self._aids.killer is not None:
            self._aids.killer.kill = agent.kill
        return agent

    def _first_observation(self, goal_version: int, budget: Budget) -> dict[str, Any]:
        first: dict[str, Any] = msgspec.to_builtins(
            Observation(text=self._attempt.instruction(goal_version), outcome="ok")
        )
        first["tools"] = [tool.schema() for tool in self._gateway.tools]
        if self._attempt.manifest.experiment.get("show_budget"):
            first["budget"] = msgspec.to_builtins(budget)
        return first

    # -- requests -------------------------------------------------------------------------------------
    def _serve(self) -> End:
        gateway, meter, proxy = self._gateway, self._meter, self._proxy
        while gateway.stop_reason is None:
            if proxy is not None and proxy.ending is not None:
                gateway.agent_ends()
                if proxy.ending.kind == "fault":
                    return "environment_fault", {"problem": proxy.ending.problem}
                gateway.out_of_calls()
                continue
            left = meter.seconds_left()
            request = self._agent.next_request(None if left is None else max(left, LOOK_SECONDS))
            if request is None and proxy is not None and proxy.ending is not None:
                continue
            if request is None:
                if not self._agent.gone:
                    if (meter.seconds_left() or 0.0) > 0:
                        continue  # a part of the time was the endpoint's, or may yet turn out to be
                    gateway.out_of_time()
                    break
                gateway.agent_ends()
                problem = self._agent.problems()
                problem = problem or "the agent ended or closed its connection before the work had ended"
                return "agent_fault", {"problem": problem, "started": self._is_started}
            if request.method == "crashed":
                gateway.agent_ends()
                self._agent.answer(request, {})
                problem = readable(str(request.params.get("traceback", "")))[-4000:]
                return "agent_fault", {"problem": problem, "started": True}
            self._take(request)
        assert gateway.stop_reason is not None
        return gateway.stop_reason, {}

    def _take(self, request: Request) -> None:
        """Do what is asked and answer it, unless the agent is dead by then."""
        if request.method == "act":
            if not self._dies_of("act"):
                observation = self._act(request)
                if not self._is_down():
                    self._agent.answer(request, msgspec.to_builtins(observation))
        else:
            with self._meter.aside():
                answer = self._persist(request)
            if not self._dies_of(request.method) and answer is not None:
                self._agent.answer(request, answer)
        if self._is_down() and self._gateway.stop_reason is None:
            with self._meter.aside():
                self._resume()

    def _carry_out_forced(self) -> None:
        """Before an agent that is to know nothing of what was before it: it begins in what comes of that."""
        while self._begins.forced and self._gateway.stop_reason is None:
            call = self._begins.forced.popleft()
            self._gateway.act(call["tool"], call["arguments"], forced={})

    def _act(self, request: Request) -> Observation:
        tool, arguments = request.params.get("tool"), request.params.get("arguments")
        if self._begins.forced:
            call = self._begins.forced.popleft()
            asked = {"tool": tool, "arguments": arguments}
            return self._gateway.act(call["tool"], call["arguments"], forced=asked)
        key = request.params.get("key")
        return self._gateway.act(
            tool if isinstance(tool, str) else repr(tool),
            arguments if isinstance(arguments, dict) else {"arguments": arguments},
            key if isinstance(key, str) else None,
        )

    def _persist(self, request: Request) -> dict[str, Any] | None:
        """A checkpoint, or the report of a compaction; null when it was refused."""
        step, kept = self._gateway.step, self._aids.checkpoints
        try:
            if request.method == "compacted":
                self._aids.compactions.report(request.params, step)
                return {}
            if kept is None:
                raise BadCheckpoint("checkpoints are not offered")
            return {**kept.take(request.params, step, self._gateway.fingerprint)}
        except (BadCheckpoint, BadReport) as fault:
            self._agent.refuse(request, str(fault))
            return None

    # -- interruption ---------------------------------------------------------------------------------
    def _dies_of(self, method: str) -> bool:
        """Whether this request is one too many."""
        killer = self._aids.killer
        if killer is not None and not self._is_down():
            killer.requests(method, self._gateway.step)
        return self._is_down()

    def _is_down(self) -> bool:
        """Whether the agent was killed and no new process has taken its place."""
        killer = self._aids.killer
        return killer is not None and killer.killed is not None and not self._resumed

    def _resume(self) -> None:
        """Start a process that has what was persisted and nothing else."""
        killer, gateway = self._aids.killer, self._gateway
        assert killer is not None
        gateway.settle()
        before = gateway.look()[1]
        for happens in self._aids.down:
            happens()
        first, form = self._first_observation(*self._begins.told), killer.plan.memory
        kept = None if self._aids.checkpoints is None else self._aids.checkpoints.kept
        first["resumed"] = {"memory": form}
        text = [first["text"], INTERRUPTED]
        if form == "prose":
            prose = "" if kept is None else kept.data.decode()
            prose = self._aids.memory.hand_summary(prose, gateway.step)
            first["resumed"]["text"] = prose
            text += [NOTES, prose] if prose else []
        first["resumed"]["notices"] = self._aids.untold()
        first["text"] = "\n\n".join(text + first["resumed"]["notices"])
        self._resumed = True
        state = kept.data if kept is not None and form == "structured" else None
        self._agent = self._new_process(f"a{os.getpid()}r", first, state)
        self._agent.await_ready(RESUME_SECONDS)
        self._journal.append(
            AgentResumed(
                step=gateway.step, memory=form, checkpoint_step=None if kept is None else kept.step,
                state=None if kept is None else kept.state, size=0 if kept is None else len(kept.data),
                down_us=(time.monotonic_ns() - killer.since_ns) // 1000,
                changed=_changed(before, gateway.look()[1]),
            )
        )  # fmt: skip


def _changed(before: State, after: State) -> list[str]:
    """Paths in which two differences from the base differ."""
    return sorted(
        path
        for path in before.keys() | after.keys()
        if path not in before or path not in after or before[path].identity() != after[path].identity()
    )
