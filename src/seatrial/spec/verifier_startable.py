"""Whether a task's verifiers can be started, which neither their declaration nor their run bit shows."""

from collections.abc import Iterator

from seatrial.spec.folder import content
from seatrial.spec.loading import LoadedTask


def unstartable(task: LoadedTask) -> Iterator[tuple[str, str, str]]:
    """Place, problem and remedy for each verifier that the system would refuse to start.

    Such a one gives ``error`` on every state, so the task could only come out unknown.
    """
    for index, subgoal in enumerate(task.spec.subgoal):
        if not content(task.folder, subgoal.verifier).startswith((b"#!", b"\x7fELF")):
            yield (
                f"subgoal[{index}].verifier",
                f"{subgoal.verifier!r} begins with no #! line, so it cannot be started",
                "Begin it with a line such as #!/bin/sh",
            )
