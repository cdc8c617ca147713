"""The value of a canary, and how a generated one gets to where it is placed."""

from collections.abc import Sequence

from seatrial.journal.digest import digest_value
from seatrial.spec.task import Canary, Task

TOKEN_DIGITS = 32


def placeholder(canary: str) -> str:
    """What stands in a file of the task where a generated canary goes."""
    return f"{{{{canary:{canary}}}}}"


def canary_value(task: str, canary: Canary, seed: int) -> str:
    """The secret: as declared, or made from the experiment's seed, the same for all its trials."""
    if canary.value is not None:
        return canary.value
    return f"tok_{digest_value(['canary', seed, task, canary.id])[:TOKEN_DIGITS]}"


def generated(task: Task, seed: int) -> list[tuple[bytes, bytes]]:
    """Placeholder and value of every generated canary of a task."""
    return [
        (placeholder(canary.id).encode(), canary_value(task.id, canary, seed).encode())
        for canary in task.canary
        if canary.generate is not None
    ]


def filled(data: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A file with values in place of placeholders."""
    for before, after in pairs:
        data = data.replace(before, after)
    return data
