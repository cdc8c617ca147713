"""Refuses, before anything is written, what the formats allow and cannot be carried out."""

from collections.abc import Iterator

from seatrial.errors import SpecError
from seatrial.records.arms import BASELINE, COMPACTED, INTERRUPTED, PERTURBED, read_arm
from seatrial.spec.loading import LoadedExperiment, LoadedTask
from seatrial.spec.person import PERSON
from seatrial.spec.verifier_startable import unstartable

AGENTS = ("scripted", "simulated", "python", "chat", PERSON)
ARMS = (BASELINE, PERTURBED, INTERRUPTED, COMPACTED)
_LATER = "Leave it out, or use a release that has it"


def refuse_unsupported(loaded: LoadedExperiment, unsafe: bool) -> None:
    """Raise for the first thing that would silently not happen, or not as promised.

    Args:
        unsafe: whether it is to run without a sandbox.

    Raises:
        SpecError: names file, place, value and remedy.
    """
    for file, place, value in _unsupported(loaded):
        raise SpecError(file, place, f"{value!r} cannot be carried out yet", _LATER)
    if unsafe:
        _refuse_keys(loaded)
    for task in loaded.tasks:
        for place, problem, remedy in unstartable(task):
            raise SpecError(task.file, place, problem, remedy)


def _refuse_keys(loaded: LoadedExperiment) -> None:
    """Without a sandbox every agent of the run could read a key in the environment of the runner."""
    for index, system in enumerate(loaded.spec.system):
        if system.agent == "chat" and (name := system.options.get("api_key_env")) is not None:
            raise SpecError(
                str(loaded.path),
                f"system[{index}].options.api_key_env",
                f"{name!r} would be open to every agent's commands, and through them to the files of the "
                "run, for without a sandbox they can read the environment of the runner",
                "Run it in a sandbox, or use an endpoint that wants no key",
            )


def _unsupported(loaded: LoadedExperiment) -> Iterator[tuple[str, str, object]]:
    spec, file = loaded.spec, str(loaded.path)
    for index, system in enumerate(spec.system):
        if system.agent not in AGENTS:
            yield file, f"system[{index}].agent", system.agent
    for index, arm in enumerate(spec.arms):
        if read_arm(arm).kind not in ARMS:
            yield file, f"arms[{index}]", arm
    if spec.cache != "cold":
        yield file, "cache", spec.cache
    for task in loaded.tasks:
        yield from _unsupported_task(task)


def _unsupported_task(task: LoadedTask) -> Iterator[tuple[str, str, object]]:
    spec, file = task.spec, task.file
    if spec.environment.setup_network != "none":
        yield file, "environment.setup_network", spec.environment.setup_network
