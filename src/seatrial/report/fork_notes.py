"""What must be known beside the numbers of forks: which are copies, and what their agents remember."""

from collections.abc import Iterable

from seatrial.journal.run import ForkOrigin
from seatrial.records.trial import TrialRecord
from seatrial.report.wording import counted

# In a sandbox these have no way to a model: what they do follows from their seed and what they are shown.
WITHOUT_MODEL = ("scripted", "simulated", "python")
NO_MEMORY = "Of agents that remember nothing of the steps before."


def are_copies(fork: ForkOrigin, agent: str, records: Iterable[TrialRecord]) -> bool:
    """Whether forks of one candidate are one trial over again, so that many say no more than one.

    An agent without a model does the same again where its seed and what it sees are the same; a script has no
    use for a seed. Those that ended otherwise than each other show that something else varies, such as time.

    Args:
        fork: where one of them begins.
        agent: kind of the agent that goes on.
        records: of the valid ones.
    """
    ends = {
        (r.strict_success, r.safe_success, r.partial_progress, r.actions, r.stop_reason) for r in records
    }  # fmt: skip
    return len(ends) <= 1 and _repeats(fork, agent)


def _repeats(fork: ForkOrigin, agent: str) -> bool:
    return agent == "scripted" or (fork.same_seed and agent in WITHOUT_MODEL)


def copies_note(fork: ForkOrigin, system: str, agent: str, valid: int, copies: bool) -> str | None:
    """What a shared seed, or a script, means for the forks of one candidate; null: nothing.

    Args:
        valid: how many ended and say something.
        copies: as ``are_copies`` says.
    """
    if not valid:
        return None
    follows = "has a script" if agent == "scripted" else "follows from its one seed and from what it is shown"
    start = f"{fork.candidate}: {system} {follows}"
    if copies and valid > 1:
        return f"{start}: its forks are {valid} copies of one trial. They count as one, without an interval."
    if copies:
        return f"{start}: another fork would be a copy of this one, so there is no interval."
    if _repeats(fork, agent):
        return (
            f"{start}, yet its forks ended differently: something else varies, such as time. Each is counted."
        )
    if fork.same_seed and valid > 1:
        return (
            f"{fork.candidate}: the {valid} forks share a seed. How alike that makes them is up to the model "
            f"of {system}; the intervals take them for independent."
        )
    return None


def memory_note(fork: ForkOrigin, agent: str, other_system: bool) -> str | None:
    """That agents began without memory, and how they could have had it; null where they had it.

    Args:
        fork: any of those that are compared with each other.
        agent: kind of the agent that goes on.
        other_system: another system goes on in some of them, which can have no other's memory.
    """
    if fork.memory != "none":
        return None
    said = (
        "Memory none: these agents began with the instruction alone and know nothing of the "
        f"{counted(fork.step, 'step')} before. The result speaks of such agents, not of one that goes on."
    )
    if other_system:
        return said
    hints = ["an arm that interrupts keeps checkpoints, from which a fork goes on"]
    if agent in WITHOUT_MODEL and not fork.same_seed:
        hints.insert(0, "--same-seed tells this one its past again (unless with --memory none)")
    return f"{said} To have its memory: {'; '.join(hints)}."
