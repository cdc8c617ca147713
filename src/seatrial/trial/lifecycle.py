"""A trial from start to end: clean world, agent, gateway, last state. Nothing here decides what is right."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.environment.ground import Ground
from seatrial.environment.world import World, open_world
from seatrial.errors import (
    EnvironmentFault,
    JournalError,
    SeatrialError,
    StateOverrun,
    TaskFault,
    out_of_room,
)
from seatrial.gateway.asked import readable
from seatrial.gateway.gateway import Gateway, KillPoint, Offer
from seatrial.gateway.meter import Meter, Turn
from seatrial.gateway.policy import Policy, masked_paths
from seatrial.gateway.recalling import Past
from seatrial.gateway.services import ServiceDoor
from seatrial.gateway.tools import Tool, offered, service_tools
from seatrial.journal.entries import State
from seatrial.journal.events import (
    BUDGET,
    TASK_FAULT,
    Cost,
    HarnessFaulted,
    StopReason,
    TrialEnded,
    TrialStarted,
)
from seatrial.journal.run import Manifest, RunFolder, index_line
from seatrial.journal.writer import JournalWriter
from seatrial.spec.frozen import frozen_task
from seatrial.spec.person import PERSON
from seatrial.spec.task import Task
from seatrial.trial.aids import Aids, aids_of
from seatrial.trial.attempt import Attempt
from seatrial.trial.conversation import converse as let_agent_act
from seatrial.trial.disturbing import awaited_subgoals, injector_of, passed, revoking
from seatrial.trial.forks.forking import Beginning, beginning_of
from seatrial.trial.ground import describe_base, prepare_ground
from seatrial.trial.job import TrialDone, TrialJob, trial_done
from seatrial.trial.online import OnlineJudge, online_judge

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
    trial = Attempt(job, run, manifest, planned, task, frozen_task(task, run.folder), host)
    folder = run.attempt_folder(job.trial, job.attempt)
    folder.mkdir(parents=True, exist_ok=True)
    meter = Meter(trial.spec.budget)
    journal = JournalWriter(folder / "journal.jsonl", meter.now_us)
    end, steps = _run(trial, journal, meter, converse)
    line = index_line(job.trial, job.attempt, journal.close(), end)
    run.add_to_index(line)
    return trial_done(line, steps)


def _run(
    trial: Attempt, journal: JournalWriter, meter: Meter, converse: Converse | None
) -> tuple[TrialEnded, int]:
    """The attempt; returns its last line and how many steps it took."""
    gateway: Gateway | None = None
    try:
        ground = prepare_ground(trial.run, trial.task, trial.host)
        begins = beginning_of(trial, ground)
        meter.budget, journal.goal_version = begins.budget, begins.goal_version
        with contextlib.ExitStack() as opened:
            sandbox = opened.enter_context(_world(ground, trial.spec, begins.delta))
            fingerprint = begins.prove(sandbox)
            aids = aids_of(trial, journal, meter)
            journal.append(_started(trial, begins, sandbox, fingerprint, aids))
            gateway = _gateway(trial, sandbox, journal, meter, opened, aids, begins.past)
            if begins.past.events:
                gateway.recall(begins.past, revoking(trial.spec))
                aids.recall(begins.past)
            if converse is None:
                reason, note = let_agent_act(trial, gateway, journal, meter, aids, begins)
            else:
                reason, note = converse(gateway, journal, meter)
            return _end(gateway, sandbox, journal, aids.constraining.conclude(reason), note)
    except StateOverrun as fault:
        # The agent's files passed a bound: its own doing, so the attempt counts; the last action is unknown.
        return _ended_early(gateway, journal, "safety_stop", readable(str(fault)))
    except TaskFault as fault:
        return _faulted(trial, gateway, journal, TASK_FAULT, readable(str(fault)))
    except (SeatrialError, OSError) as fault:
        if out_of_room(fault):
            raise  # the run stops until there is room; the attempt is not spent on that
        reason = "environment_fault" if isinstance(fault, EnvironmentFault) else "harness_fault"
        return _faulted(trial, gateway, journal, reason, readable(str(fault)))


@contextlib.contextmanager
def _world(ground: Ground, spec: Task, delta: State) -> Iterator[World]:
    sandbox = open_world(ground, delta, masked_paths(spec, ground.base.state))
    try:
        yield sandbox
    finally:
        sandbox.close()


def _started(trial: Attempt, begins: Beginning, sandbox: World, fingerprint: str, aids: Aids) -> TrialStarted:
    experiment = trial.manifest.experiment
    conditions: dict[str, Any] = {
        "mode": trial.host.mode,
        "sandboxed": trial.host.mode != "unsafe",
        "watcher": sandbox.watcher.name if sandbox.watcher else None,
        "sees_everything": bool(sandbox.watcher and sandbox.watcher.sees_everything),
        "base": describe_base(sandbox.ground.base),
        "belief": experiment.get("belief", False),
        "stop": experiment.get("stop", "agent"),
        "cache": experiment.get("cache", "cold"),
        "limits": msgspec.to_builtins(trial.spec.environment.limits),
        "tools": {tool.name: {"idempotent": tool.idempotent} for tool in _tools(trial, aids)},
        **aids.conditions,
        **begins.conditions(),
    }
    planned = trial.planned
    return TrialStarted(
        trial=planned.trial, attempt=trial.job.attempt, task=planned.task, system=planned.system,
        arm=planned.arm, seed=planned.seed, base=begins.listing, fingerprint=fingerprint,
        reset_proved=True, conditions=conditions,
    )  # fmt: skip


def _never_ready(trial: Attempt) -> TrialStarted:
    """The first line of an attempt that got no clean world: no base, no fingerprint, nothing proven."""
    planned = trial.planned
    return TrialStarted(
        trial=planned.trial, attempt=trial.job.attempt, task=planned.task, system=planned.system,
        arm=planned.arm, seed=planned.seed, base="", fingerprint="", reset_proved=False,
    )  # fmt: skip


def _gateway(
    trial: Attempt,
    sandbox: World,
    journal: JournalWriter,
    meter: Meter,
    opened: contextlib.ExitStack,
    aids: Aids,
    past: Past,
) -> Gateway:
    """The attempt's door, with its attendants in order: who judges, since others wait for its verdicts; the
    injector; who adds to what is shown; the agent's aids; and last, who looks at what was shown in the end.
    """
    experiment = trial.manifest.experiment
    offer = Offer({tool.name: tool for tool in _tools(trial, aids)}, _kill_point(trial.job))
    offer.handlers.update(aids.handlers())
    door = _door(sandbox, journal, trial)
    if door is not None:
        offer.handlers.update(door.handlers())
    if trial.manifest.systems[trial.planned.system]["agent"] == PERSON:
        offer.actor = "human"
    policy = Policy(trial.spec, sandbox)
    aids.constraining.prepare(trial, policy, offer, journal, meter)
    gateway = Gateway(sandbox, journal, trial.run.objects, policy, meter, offer)
    aids.constraining.attach(gateway)
    if door is not None:
        if aids.constraining.canaries:
            door.heard.append(aids.constraining.canaries.requested)
        door.attach(gateway)
    online: OnlineJudge | None = None
    watched = set(aids.watched) - passed(past)
    awaited, early = watched | awaited_subgoals(trial, past), experiment.get("stop") == "first_success"
    if awaited or early:
        base = sandbox.tracker.state()
        online = opened.enter_context(online_judge(trial, journal, base, awaited, early))
        online.listeners.append(lambda name, step: aids.verified(name, step) if name in watched else None)
        gateway.on_change.append(online.moved)
        offer.attendants.append(online)
        offer.succeeded = online.succeeded if early else None
    injector = injector_of(
        trial, sandbox, journal, meter, verified=lambda: () if online is None else online.fresh,
        approvals=policy.approvals, memory=aids.memory, past=past,
    )  # fmt: skip
    if injector is not None:
        injector.arm(gateway)
        aids.disturbed_by(injector)
        if door is not None:
            door.admitted.append(injector.service_called)
        offer.attendants.append(injector)
    within = aids.constraining
    offer.attendants.extend([*within.altering, *aids.attendants(), *within.watching])
    return gateway


def _tools(trial: Attempt, aids: Aids) -> list[Tool]:
    granted = {*aids.offered}
    if trial.manifest.experiment.get("belief"):
        granted.add("report_belief")
    return [*offered(granted), *service_tools(trial.spec.environment.services)]


def _door(sandbox: World, journal: JournalWriter, trial: Attempt) -> ServiceDoor | None:
    """The way to the world's services; null where the task has none."""
    if sandbox.services is None:
        return None
    limits = sandbox.ground.limits
    shown = limits.output_kb * 1024
    return ServiceDoor(sandbox.services, journal, trial.run.objects, limits.seconds, shown)


def _kill_point(job: TrialJob) -> KillPoint:
    def die(name: str, step: int) -> None:
        if job.kill_at == (name, step):
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def _end(
    gateway: Gateway, sandbox: World, journal: JournalWriter,
    reason: StopReason, note: dict[str, Any],
) -> tuple[TrialEnded, int]:  # fmt: skip
    """Take in the last effects, audit the state, write the last line."""
    if sandbox.services is not None:
        sandbox.services.server.close()
    # What runs on would change the state between the last look and the audit of it.
    with sandbox.frozen():
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
    trial: Attempt, gateway: Gateway | None, journal: JournalWriter, reason: StopReason, problem: str
) -> tuple[TrialEnded, int]:
    """The world or the harness broke: say so in the journal and end."""
    if journal.seq == 0:
        journal.append(_never_ready(trial))
    journal.append(HarnessFaulted(where=reason, problem=problem))
    return _ended_early(gateway, journal, reason, problem)
