"""The experiment id, and what a run folder's manifest freezes: tasks, systems and the plan."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from seatrial.errors import SpecError
from seatrial.journal.digest import canonical_json, digest_bytes, digest_value
from seatrial.journal.run import TaskFrozen, TrialPlanned
from seatrial.records.arms import PERTURBED, Arm, read_arm
from seatrial.spec import chat, simulated
from seatrial.spec.chat import frozen_options
from seatrial.spec.experiment import Interruption, System
from seatrial.spec.folder import FileMap, content
from seatrial.spec.interrupting import why_not
from seatrial.spec.loading import LoadedExperiment, LoadedTask

# Small enough for every reader of JSON: 52 bits.
SEED_DIGITS = 13
ARM_CHARACTERS = 60
# Agents that come with Seatrial: which version of their behaviour a system has.
BUILT_IN = {"chat": chat.HARNESS, "simulated": simulated.HARNESS}


class Frozen(NamedTuple):
    """The part of a manifest that comes from the input files: ``Manifest(**frozen._asdict(), …)``."""

    experiment_id: str
    name: str
    experiment: dict[str, Any]
    tasks: list[TaskFrozen]
    systems: dict[str, dict[str, Any]]
    plan: list[TrialPlanned]


def five_objects(loaded: LoadedExperiment) -> dict[str, Any]:
    """Model, harness, environment, task and budget as plain data (A1).

    Arms, trials per task, the primary comparison, names of files and the experiment's own name are plan or
    label, and not in it.
    """
    spec = loaded.spec
    systems = {system.name: system for system in spec.system}
    return {
        "model": {name: {"agent": s.agent, "options": _options(s)} for name, s in systems.items()},
        "harness": {
            "systems": {name: _harness(loaded, s) for name, s in systems.items()},
            "stop": spec.stop,
            "belief": spec.belief,
            "show_budget": spec.show_budget,
            "retry": spec.retry,
            **({"human": spec.human} if spec.human.tier != "none" else {}),
            # Only where they are used, so that ids of experiments without them stay.
            **({"memory": True} if spec.memory else {}),
            **({"interruption": spec.interruption} if spec.interruption != Interruption() else {}),
            **({"compaction": spec.compaction} if spec.compaction is not None else {}),
        },
        "environment": {
            "tasks": {task.spec.id: task.spec.environment for task in loaded.tasks},
            "seed": spec.seed,
            "cache": spec.cache,
        },
        "task": {
            "tasks": {task.spec.id: task.digest for task in loaded.tasks},
            "final_verdicts": spec.final_verdicts,
        },
        "budget": {task.spec.id: task.spec.budget for task in loaded.tasks},
    }


def experiment_id(loaded: LoadedExperiment) -> str:
    """Digest of the five objects, 64 hex digits: another object, another experiment."""
    return digest_value(five_objects(loaded))


def _options(system: System) -> dict[str, Any]:
    return frozen_options(system.options) if system.agent == "chat" else system.options


def _harness(loaded: LoadedExperiment, system: System) -> dict[str, Any]:
    scripts = {task.spec.id: task.files[system.script][0] for task in loaded.tasks} if system.script else {}
    return {
        "code": system.code,
        "files": loaded.code.get(system.name, {}),
        "scripts": scripts,
        "privileged": system.told_more,
        **({"harness": BUILT_IN[system.agent]} if system.agent in BUILT_IN else {}),
    }


def freeze(loaded: LoadedExperiment) -> Frozen:
    """Everything a manifest holds of the input files. The bytes are those of ``blobs``."""
    return Frozen(
        experiment_id=experiment_id(loaded),
        name=loaded.spec.name,
        # With every default written out: a later release may choose others.
        experiment=_as_read_back(msgspec.to_builtins(loaded.spec)),
        tasks=[freeze_task(task) for task in loaded.tasks],
        systems={system.name: _freeze_system(loaded, system) for system in loaded.spec.system},
        plan=plan(loaded),
    )


def freeze_task(task: LoadedTask) -> TaskFrozen:
    """A task as a manifest holds it."""
    return TaskFrozen(id=task.spec.id, digest=task.digest, spec=_as_read_back(task.raw), files=task.files)


def _freeze_system(loaded: LoadedExperiment, system: System) -> dict[str, Any]:
    frozen = _as_read_back(
        {**msgspec.structs.asdict(system), **_harness(loaded, system), "options": _options(system)}
    )
    return {**frozen, "digest": digest_value(frozen)}


def _as_read_back(plain: dict[str, Any]) -> dict[str, Any]:
    """Plain data as the manifest will give it back: JSON has no tuples and no dates."""
    read: dict[str, Any] = msgspec.json.decode(canonical_json(plain))
    return read


def blobs(loaded: LoadedExperiment) -> Iterator[tuple[str, bytes]]:
    """Digest and bytes of every frozen file, for the run's object store.

    Raises:
        SpecError: a file was changed since it was loaded.
    """
    for task in loaded.tasks:
        yield from _blobs_of(task.folder, task.files)
    for system in loaded.spec.system:
        folder = loaded.code_folder(system)
        if folder is not None:
            yield from _blobs_of(folder, loaded.code[system.name])


def _blobs_of(folder: Path, files: FileMap) -> Iterator[tuple[str, bytes]]:
    for relative, (digest, _) in files.items():
        data = content(folder, relative)
        if digest_bytes(data) != digest:
            raise SpecError(
                str(folder / relative), "", "was changed while the run was prepared", "Start it again"
            )
        yield digest, data


def plan(loaded: LoadedExperiment) -> list[TrialPlanned]:
    """Every trial of the experiment: tasks, then repeats, then arms, then systems.

    All systems and arms of one task and repeat share a seed, so that they are compared in pairs. More
    repeats or arms leave the trials there were as they are. A perturbed arm is planned for the tasks that
    have the perturbation.
    """
    spec = loaded.spec
    tasks = _labels([task.spec.id for task in loaded.tasks])
    systems = _labels([system.name for system in spec.system])
    planned = []
    for task in loaded.tasks:
        known = {Arm(PERTURBED, perturbation.id) for perturbation in task.spec.perturbation}
        arms = [arm for arm in spec.arms if read_arm(arm).kind != PERTURBED or read_arm(arm) in known]
        arms = [arm for arm in arms if why_not(task.spec, task.files, spec, arm) is None]
        for repeat in range(1, spec.trials_per_task + 1):
            seed = seed_of(spec.seed, task.spec.id, repeat)
            for arm in arms:
                for system in systems:
                    label = f"{tasks[task.spec.id]}.{systems[system]}.{_arm_label(arm)}.{repeat}"
                    planned.append(
                        TrialPlanned(
                            trial=label, task=task.spec.id, system=system, arm=arm, seed=seed, repeat=repeat
                        )
                    )
    return planned


def seed_of(experiment_seed: int, task: str, repeat: int) -> int:
    """The seed of one task's repeat, 0 to 2**52 - 1; the same for every system and arm."""
    return int(digest_value([experiment_seed, task, repeat])[:SEED_DIGITS], 16)


def _labels(names: list[str]) -> dict[str, str]:
    """A file-name label for each name; names that would share one get part of their digest."""
    plain = {name: re.sub(r"[^A-Za-z0-9_-]", "-", name) for name in names}
    uses = Counter(plain.values())
    return {
        name: label if uses[label] == 1 else f"{label}-{digest_value(name)[:8]}"
        for name, label in plain.items()
    }


def _arm_label(arm: str) -> str:
    """Like a label, but of this arm alone, so that an arm added later renames nothing."""
    kind, subject = read_arm(arm)
    label = re.sub(r"[^A-Za-z0-9_-]", "-", subject)[:ARM_CHARACTERS]
    if label != subject:
        label += f"-{digest_value(subject)[:8]}"
    return f"{kind}-{label}" if subject else kind
