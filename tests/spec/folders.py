"""Makes task folders and experiments to load: a small valid one, and the same with one thing changed."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from seatrial.errors import SpecError

VERIFIER = "#!/bin/sh\necho pass >&3\n"
TASK: dict[str, Any] = {
    "schema": "seatrial/task@1",
    "id": "ledger/steps",
    "version": "1.0.0",
    "horizon": {"dependency_depth": 2},
    "environment": {"files": "environment/"},
    "goal": [{"version": 1, "instruction": "instruction.md"}],
    "subgoal": [
        {"id": "first-part", "verifier": "verifiers/first.sh", "reads": ["files:a.txt"]},
        {
            "id": "last-part",
            "verifier": "verifiers/last.sh",
            "reads": ["files:b.txt"],
            "after": ["first-part"],
        },
    ],
}
EXPERIMENT: dict[str, Any] = {
    "schema": "seatrial/experiment@1",
    "name": "pilot",
    "tasks": ["tasks/*"],
    "seed": 7,
    "system": [
        {"name": "careful", "agent": "scripted", "script": "solutions/reference.toml"},
        {"name": "hasty", "agent": "scripted", "script": "solutions/wrong.toml"},
    ],
}
SCRIPT = '[[step]]\ntool = "shell"\ncommand = "echo done > a.txt"\n[[step]]\ntool = "finish"\n'


def toml(plain: dict[str, Any]) -> str:
    """Plain data as TOML, with inline tables throughout."""
    return "".join(
        f"{json.dumps(key, ensure_ascii=False)} = {_value(value)}\n" for key, value in plain.items()
    )


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{json.dumps(key, ensure_ascii=False)} = {_value(inner)}" for key, inner in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def changed(plain: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """A copy with values set by key path, such as ``{"subgoal.1.after": ["x"]}``; null removes the key."""
    copy = deepcopy(plain)
    for path, value in change.items():
        *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        node: Any = copy
        for step in way:
            node = node[step] if isinstance(node, list) else node.setdefault(step, {})
        if value is None:
            del node[last]
        elif isinstance(node, list) and last == len(node):
            node.append(value)
        else:
            node[last] = value
    return copy


def write_task(folder: Path, change: dict[str, Any] | None = None) -> Path:
    """Write the small task, changed, and return its folder."""
    for name in ("environment", "verifiers", "solutions"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "task.toml").write_text(toml(changed(TASK, change or {})))
    (folder / "instruction.md").write_text("Write a.txt, then b.txt from it.\n")
    (folder / "environment" / "start.txt").write_text("start\n")
    for name in ("first.sh", "last.sh"):
        (folder / "verifiers" / name).write_text(VERIFIER)
        (folder / "verifiers" / name).chmod(0o755)
    for name in ("reference.toml", "wrong.toml"):
        (folder / "solutions" / name).write_text(SCRIPT)
    return folder


def write_experiment(folder: Path, change: dict[str, Any] | None = None) -> Path:
    """Write the small experiment, changed, beside one task, and return its file."""
    write_task(folder / "tasks" / "one")
    path = folder / "pilot.toml"
    path.write_text(toml(changed(EXPERIMENT, change or {})))
    return path


def assert_error(raised: "pytest.ExceptionInfo[SpecError]", file: Path, place: str, *pieces: str) -> None:
    """The error names file and place, shows each piece, offers a remedy, and is one line."""
    error = raised.value
    assert (error.file, error.place) == (str(file), place)
    for piece in pieces:
        assert piece in str(error)
    assert error.remedy and error.problem and not error.remedy.endswith(".")
    assert str(error).startswith(str(file)) and "\n" not in str(error)
