"""Which perturbations a trial's arm arms, and the injector that delivers them."""

from collections.abc import Callable, Collection

from seatrial.environment.world import World
from seatrial.gateway.disturbing.disturbance import ApprovalHands, Hands, MemoryHands, ServiceHands
from seatrial.gateway.disturbing.injector import Injector
from seatrial.gateway.meter import Meter
from seatrial.journal.writer import JournalWriter
from seatrial.records.arms import PERTURBED, read_arm
from seatrial.spec.interrupting import interruption_arm
from seatrial.spec.task import Perturbation
from seatrial.trial.attempt import Attempt


def armed_by_arm(attempt: Attempt) -> list[Perturbation]:
    """Those that wait for their own triggers: the one that a perturbed arm names."""
    arm = read_arm(attempt.planned.arm)
    return [p for p in attempt.spec.perturbation if arm == (PERTURBED, p.id)]


def armed_while_down(attempt: Attempt) -> list[Perturbation]:
    """Those that fire while the agent is down, in arms that interrupt it."""
    if interruption_arm(attempt.planned.arm) is None:
        return []
    return [p for p in attempt.spec.perturbation if p.id == attempt.interruption.while_down]


def awaited_subgoals(attempt: Attempt) -> set[str]:
    """Subgoals whose first pass triggers something, so that they must be judged while the trial runs."""
    named = (p.when.get("subgoal_verified") for p in armed_by_arm(attempt))
    return {name for name in named if isinstance(name, str)}


def injector_of(
    attempt: Attempt, world: World, journal: JournalWriter, meter: Meter,
    verified: Callable[[], Collection[str]], services: ServiceHands | None, approvals: ApprovalHands | None,
    memory: MemoryHands | None,
) -> Injector | None:  # fmt: skip
    """The injector of an attempt; null where its arm disturbs nothing."""
    perturbations, while_down = armed_by_arm(attempt), armed_while_down(attempt)
    if not perturbations and not while_down:
        return None
    objects = attempt.run.objects

    def file(path: str) -> tuple[bytes, int]:
        digest, mode = attempt.task.files[path]
        return objects.get(digest), mode

    hands = Hands(
        journal=journal, objects=objects, world=world, meter=meter, file=file,
        goals={goal.version: (goal, attempt.instruction(goal.version)) for goal in attempt.spec.goal},
        verified=verified, services=services, approvals=approvals, memory=memory,
    )  # fmt: skip
    return Injector(perturbations, hands, while_down)
