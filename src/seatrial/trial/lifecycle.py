"""A trial from start to end: clean world, agent, gateway, last state. Nothing here decides what is right."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from seatrial.agents.model.recorder import CallRecorder
from seatrial.agents.process import AgentProcess, ModelDoor, Request
from seatrial.environment.confine.host import Host
from seatrial.environment.sandbox import Ground
from seatrial.environment.world import World, open_world
from seatrial.errors import (
    AgentFault,
    EnvironmentFault,
    JournalError,
    SeatrialError,
    StateOverrun,
    out_of_room,
)
from seatrial.gateway.asked import readable
from seatrial.gateway.attend import Observation
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter, Turn
from seatrial.gateway.policy import Policy, masked_paths
from seatrial.gateway.tools import Tool, offered
from seatrial.journal.events import (
    BUDGET,
    AgentExited,
    AgentStarted,
    Cost,
    HarnessFaulted,
    StopReason,
    TrialEnded,
    TrialStarted,
)
from seatrial.journal.run import Manifest, RunFolder, TaskFrozen, TrialPlanned, index_line
from seatrial.journal.writer import JournalWriter
from seatrial.spec.frozen import frozen_task
from seatrial.spec.person import PERSON
from seatrial.spec.task import Task
from seatrial.trial.ground import describe_base, prepare_ground
from seatrial.trial.job import TrialDone, TrialJob, trial_done
from seatrial.trial.models import metering, model_proxy
from seatrial.trial.online import online_judge
from seatrial.trial.systems import agent_program

if TYPE_CHECKING:
    from seatrial.agents.model.proxy import ModelProxy

# While a model call is under way the time left stands still, and is looked at no more often than this.
LOOK_SECONDS = 0.05


@dataclass
class _Trial:
    """Everything one attempt needs while it runs."""

    job: TrialJob
    run: RunFolder
    manifest: Manifest
    planned: TrialPlanned
    task: TaskFrozen
    spec: Task
    host: Host


# Lets somebody act through the gateway until that ends; returns why it ended and notes for the last line.
Converse = Callable[[Gateway, JournalWriter, Meter], tuple[StopReason, dict[str, Any]]]


def run_trial(
    job: TrialJob, run: RunFolder, manifest: Manifest, host: Host, converse: Converse | None = None
) -> TrialDone:
    """Run one attempt and write its journal and its line in the run's index.

    Faults of the world, the agent or the harness end the attempt with a stop reason; they do not raise,
    except when the disk is full: the journal then has no end.

    Args:
        manifest: of the run.
        converse: who acts in place of the system's agent.

    Raises:
        SeatrialError, OSError: there is no room; ``out_of_room`` says so.
    """
    planned = next((p for p in manifest.plan if p.trial == job.trial), None)
    if planned is None:
        raise JournalError(f"{run.folder}: the plan has no trial {job.trial!r}.")
    task = manifest.task(planned.task)
    trial = _Trial(job, run, manifest, planned, task, frozen_task(task, run.folder), host)
    folder = run.attempt_folder(job.trial, job.attempt)
    folder.mkdir(parents=True, exist_ok=True)
    meter = Meter(trial.spec.budget)
    journal = JournalWriter(folder / "journal.jsonl", meter.now_us)
    end, steps = _run(trial, journal, meter, converse)
    line = index_line(job.trial, job.attempt, journal.close(), end)
    run.add_to_index(line)
    return trial_done(line, steps)


def _run(
    trial: _Trial, journal: JournalWriter, meter: Meter, converse: Converse | None
) -> tuple[TrialEnded, int]:
    """The attempt; returns its last line and how many steps it took."""
    gateway: Gateway | None = None
    try:
        ground = prepare_ground(trial.run, trial.task, trial.host)
        with contextlib.ExitStack() as opened:
            sandbox = opened.enter_context(_world(ground, trial.spec))
            fingerprint = sandbox.prove_reset()
            journal.append(_started(trial, ground, sandbox, fingerprint))
            gateway = _gateway(trial, sandbox, journal, meter, opened)
            if converse is None:
                reason, note = _converse(trial, gateway, journal, meter)
            else:
                reason, note = converse(gateway, journal, meter)
            return _end(gateway, sandbox, journal, reason, note)
    except StateOverrun as fault:
        # The agent's files passed a bound: its own doing, so the attempt counts; the last action is unknown.
        return _ended_early(gateway, journal, "safety_stop", readable(str(fault)))
    except (SeatrialError, OSError) as fault:
        if out_of_room(fault):
            raise  # the run stops until there is room; the attempt is not spent on that
        reason = "environment_fault" if isinstance(fault, EnvironmentFault) else "harness_fault"
        return _faulted(trial, gateway, journal, reason, readable(str(fault)))


@contextlib.contextmanager
def _world(ground: Ground, spec: Task) -> Iterator[World]:
    sandbox = open_world(ground, masked=masked_paths(spec, ground.base.state))
    try:
        yield sandbox
    finally:
        sandbox.close()


def _started(trial: _Trial, ground: Ground, sandbox: World, fingerprint: str) -> TrialStarted:
    experiment = trial.manifest.experiment
    conditions: dict[str, Any] = {
        "mode": trial.host.mode,
        "sandboxed": trial.host.mode != "unsafe",
        "watcher": sandbox.watcher.name if sandbox.watcher else None,
        "sees_everything": bool(sandbox.watcher and sandbox.watcher.sees_everything),
        "base": describe_base(ground.base),
        "belief": experiment.get("belief", False),
        "stop": experiment.get("stop", "agent"),
        "cache": experiment.get("cache", "cold"),
        "limits": msgspec.to_builtins(trial.spec.environment.limits),
        "tools": {tool.name: {"idempotent": tool.idempotent} for tool in _tools(trial)},
    }
    planned = trial.planned
    return TrialStarted(
        trial=planned.trial, attempt=trial.job.attempt, task=planned.task, system=planned.system,
        arm=planned.arm, seed=planned.seed, base=ground.base.listing, fingerprint=fingerprint,
        reset_proved=True, conditions=conditions,
    )  # fmt: skip


def _never_ready(trial: _Trial) -> TrialStarted:
    """The first line of an attempt that got no clean world: no base, no fingerprint, nothing proven."""
    planned = trial.planned
    return TrialStarted(
        trial=planned.trial, attempt=trial.job.attempt, task=planned.task, system=planned.system,
        arm=planned.arm, seed=planned.seed, base="", fingerprint="", reset_proved=False,
    )  # fmt: skip


def _gateway(
    trial: _Trial,
    sandbox: World,
    journal: JournalWriter,
    meter: Meter,
    opened: contextlib.ExitStack,
) -> Gateway:
    experiment = trial.manifest.experiment
    offer = Offer({tool.name: tool for tool in _tools(trial)}, _kill_point(trial.job))
    if trial.manifest.systems[trial.planned.system]["agent"] == PERSON:
        offer.actor = "human"
    if experiment.get("stop") == "first_success":
        offer.judge = opened.enter_context(online_judge(trial.run, trial.task, trial.host))
    return Gateway(sandbox, journal, trial.run.objects, Policy(trial.spec, sandbox), meter, offer)


def _tools(trial: _Trial) -> list[Tool]:
    return offered(bool(trial.manifest.experiment.get("belief")), bool(trial.spec.budget.human_requests))


def _kill_point(job: TrialJob) -> Any:
    def die(name: str, step: int) -> None:
        if job.kill_at == (name, step):
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def _converse(
    trial: _Trial, gateway: Gateway, journal: JournalWriter, meter: Meter
) -> tuple[StopReason, dict[str, Any]]:
    """Let the agent act until it ends, a budget ends it, its model fails, or it breaks."""
    recorder = CallRecorder(journal, trial.run.objects, meter, lambda: gateway.step + 1)
    reason: StopReason | None = None
    note: dict[str, Any] = {}
    with model_proxy(trial.manifest.systems[trial.planned.system], trial.host, recorder) as proxy:
        agent = _start_agent(trial, gateway, journal, proxy)
        try:
            meter.agent_thinks()
            reason, note = _serve(agent, gateway, meter, proxy)
        except AgentFault as fault:
            reason, note = "agent_fault", {"problem": str(fault), "started": agent.ready}
        finally:
            gateway.agent_ends()
            status = agent.close()
            if proxy is not None:
                proxy.close()
            if reason == "environment_fault":
                journal.append(HarnessFaulted(where="model", problem=note["problem"]))
            journal.append(AgentExited(status=status, note=note.get("problem", "")))
    return reason, note


def _start_agent(
    trial: _Trial, gateway: Gateway, journal: JournalWriter, proxy: "ModelProxy | None"
) -> AgentProcess:
    program = agent_program(trial.run, trial.manifest, trial.task, trial.planned.system)
    instruction = trial.run.objects.get(trial.task.files[trial.spec.goal[0].instruction][0]).decode()
    first = msgspec.to_builtins(Observation(text=instruction, outcome="ok"))
    first["tools"] = [tool.schema() for tool in gateway.tools]
    if trial.manifest.experiment.get("show_budget"):
        first["budget"] = msgspec.to_builtins(trial.spec.budget)
    hello = {"observation": first, "seed": trial.planned.seed}
    door = None if proxy is None else ModelDoor(proxy.socket_path, proxy.wake)
    agent = AgentProcess(trial.host, program, hello, f"a{os.getpid()}", door)
    system = trial.manifest.systems[trial.planned.system]
    confined = trial.host.mode != "unsafe"
    details = {"files": sorted(program.folder), "privileged": system["privileged"]}
    details["model_calls"] = metering(system, confined)
    journal.append(AgentStarted(agent=system["agent"], confined=confined, details=details))
    return agent


def _serve(
    agent: AgentProcess, gateway: Gateway, meter: Meter, proxy: "ModelProxy | None"
) -> tuple[StopReason, dict[str, Any]]:
    while gateway.stop_reason is None:
        if proxy is not None and proxy.ending is not None:
            gateway.agent_ends()
            if proxy.ending.kind == "fault":
                return "environment_fault", {"problem": proxy.ending.problem}
            gateway.out_of_calls()
            continue
        left = meter.seconds_left()
        request = agent.next_request(None if left is None else max(left, LOOK_SECONDS))
        if request is None and proxy is not None and proxy.ending is not None:
            continue
        if request is None:
            if not agent.gone:
                if (meter.seconds_left() or 0.0) > 0:
                    continue  # a part of the time was the endpoint's, or may yet turn out to be
                gateway.out_of_time()
                break
            gateway.agent_ends()
            problem = agent.problems() or "the agent ended or closed its connection before the work had ended"
            return "agent_fault", {"problem": problem, "started": agent.ready}
        if request.method == "crashed":
            gateway.agent_ends()
            agent.answer(request, {})
            problem = readable(str(request.params.get("traceback", "")))[-4000:]
            return "agent_fault", {"problem": problem, "started": True}
        agent.answer(request, msgspec.to_builtins(_act(gateway, request)))
    assert gateway.stop_reason is not None
    return gateway.stop_reason, {}


def _act(gateway: Gateway, request: Request) -> Observation:
    tool, arguments = request.params.get("tool"), request.params.get("arguments")
    key = request.params.get("key")
    return gateway.act(
        tool if isinstance(tool, str) else repr(tool),
        arguments if isinstance(arguments, dict) else {"arguments": arguments},
        key if isinstance(key, str) else None,
    )


def _end(
    gateway: Gateway, sandbox: World, journal: JournalWriter,
    reason: StopReason, note: dict[str, Any],
) -> tuple[TrialEnded, int]:  # fmt: skip
    """Take in the last effects, audit the state, write the last line."""
    fingerprint = gateway.close()
    equal = sandbox.audit()
    end = TrialEnded(
        stop_reason=reason, fingerprint=fingerprint, audit="equal" if equal else "different",
        censored=reason in BUDGET, summary=gateway.summary, confidence=gateway.confidence,
        details={**note, "processes_lost": sandbox.alive},
        last_turn=_last_turn(gateway),
    )  # fmt: skip
    journal.append(end)
    return end, gateway.step


def _ended_early(
    gateway: Gateway | None, journal: JournalWriter, reason: StopReason, problem: str
) -> tuple[TrialEnded, int]:
    """The last line of an attempt that has no last state."""
    end = TrialEnded(
        stop_reason=reason, fingerprint="", details={"problem": problem}, last_turn=_last_turn(gateway)
    )
    journal.append(end)
    return end, gateway.step if gateway else 0


def _last_turn(gateway: Gateway | None) -> Cost:
    """What the agent spent after its last action; nothing where it never had a turn."""
    turn = Turn(0, 0) if gateway is None else gateway.last_turn
    return Cost(model_us=turn.model_us, queue_us=turn.queue_us)


def _faulted(
    trial: _Trial, gateway: Gateway | None, journal: JournalWriter, reason: StopReason, problem: str
) -> tuple[TrialEnded, int]:
    """The world or the harness broke: say so in the journal and end."""
    if journal.seq == 0:
        journal.append(_never_ready(trial))
    journal.append(HarnessFaulted(where=reason, problem=problem))
    return _ended_early(gateway, journal, reason, problem)
