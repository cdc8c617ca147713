"""Which perturbations a trial's arm arms, and the injector that delivers them."""

from collections.abc import Callable, Collection

from seatrial.environment.world import World
from seatrial.gateway.disturbing.disturbance import ApprovalHands, Hands, MemoryHands
from seatrial.gateway.disturbing.injector import Injector
from seatrial.gateway.meter import Meter
from seatrial.gateway.recalling import Past
from seatrial.journal.events import PerturbationArmed, SubgoalJudged
from seatrial.journal.writer import JournalWriter
from seatrial.records.arms import PERTURBED, read_arm
from seatrial.spec.interrupting import interruption_arm
from seatrial.spec.task import Perturbation, Task
from seatrial.trial.attempt import Attempt


def waiting_perturbations(attempt: Attempt) -> list[Perturbation]:
    """Those that wait for their own triggers: the one that a perturbed arm names; of a fork, what its plan
    says.
    """
    fork, arm = attempt.planned.fork, read_arm(attempt.planned.arm)
    if fork is not None:
        return [p for p in attempt.spec.perturbation if p.id in fork.armed]
    return [p for p in attempt.spec.perturbation if arm == (PERTURBED, p.id)]


def armed_while_down(attempt: Attempt) -> list[Perturbation]:
    """Those that fire while the agent is down, in arms that interrupt it."""
    if interruption_arm(attempt.planned.arm) is None:
        return []
    return [p for p in attempt.spec.perturbation if p.id == attempt.interruption.while_down]


def awaited_subgoals(attempt: Attempt, past: Past) -> set[str]:
    """Subgoals whose first pass triggers something, so that they must be judged while the trial runs.

    What a fork's original awaited and saw pass is not awaited again; what is armed anew waits from now on.
    """
    seen = passed(past)
    before = {event.perturbation for event in past.events if isinstance(event, PerturbationArmed)}
    named = ((p.id in before, p.when.get("subgoal_verified")) for p in waiting_perturbations(attempt))
    return {name for is_old, name in named if isinstance(name, str) and not (is_old and name in seen)}


def passed(past: Past) -> set[str]:
    """Subgoals that passed while what is past ran, as far as it was looked at."""
    return {e.subgoal for e in past.events if isinstance(e, SubgoalJudged) and e.verdict == "pass"}


def revoking(spec: Task) -> dict[str, str]:
    """Perturbations that take an approval back, with that approval."""
    return {p.id: str(p.change["revoke"]) for p in spec.perturbation if "revoke" in p.change}


def injector_of(
    attempt: Attempt, world: World, journal: JournalWriter, meter: Meter,
    verified: Callable[[], Collection[str]], approvals: ApprovalHands, memory: MemoryHands, past: Past,
) -> Injector | None:  # fmt: skip
    """The injector of an attempt; null where its arm, and of a fork its past, disturbs nothing."""
    waiting, while_down = waiting_perturbations(attempt), armed_while_down(attempt)
    still = {perturbation.id for perturbation in waiting}
    known = still | {event.perturbation for event in past.events if isinstance(event, PerturbationArmed)}
    if not known and not while_down:
        return None
    objects = attempt.run.objects
    services = None if world.services is None else world.services.services

    def file(path: str) -> tuple[bytes, int]:
        digest, mode = attempt.task.files[path]
        return objects.get(digest), mode

    hands = Hands(
        journal=journal, objects=objects, world=world, meter=meter, file=file,
        goals=attempt.goals,
        verified=verified, services=services, approvals=approvals, memory=memory,
    )  # fmt: skip
    injector = Injector([p for p in attempt.spec.perturbation if p.id in known], hands, while_down)
    if past.events:
        injector.recall(past, still)
    return injector
