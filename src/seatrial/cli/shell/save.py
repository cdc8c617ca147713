"""Writes what a person did in a session as a script: a solution is born."""

import os
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.errors import UsageError
from seatrial.spec.faults import NAME, NAME_RULE
from seatrial.spec.toml_text import table_text

FOLDER = "solutions"
HEAD = "# From a person's session in `seatrial shell`: the steps that changed the state or broke a rule.\n"
ENDING = {"tool": "finish", "summary": "done as a person did it"}


@dataclass(frozen=True)
class Deed:
    """One action of the session.

    Attributes:
        step: its number in the journal.
        changed: whether the state was another afterwards, or a process was left that may change it.
    """

    step: int
    tool: str
    arguments: dict[str, Any]
    outcome: str
    exit_code: int | None
    changed: bool


def kept(deeds: Sequence[Deed], broke: Collection[int]) -> list[Deed]:
    """What a solution is made of: what changed the state, what broke a rule, if only by looking, and what
    was given leave to.
    """
    return [
        deed
        for deed in deeds
        if deed.changed or deed.step in broke or (deed.tool == "request_approval" and deed.outcome == "ok")
    ]


def save_solution(task: Path, name: str, deeds: Sequence[Deed]) -> Path:
    """Write steps and a ``finish`` as ``solutions/NAME.toml``.

    Args:
        task: the task's folder.
        name: with or without ``.toml``.
        deeds: what to write, see ``kept``.

    Returns:
        The new file.

    Raises:
        UsageError: the name is none or is taken, nothing has changed yet, or it cannot be written.
    """
    name = name.removesuffix(".toml")
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a solution's name. {NAME_RULE}.")
    steps = [{"tool": deed.tool, **deed.arguments} for deed in deeds]
    if not steps:
        raise UsageError("no step has changed anything yet, or broken a rule. Do the work, then save it.")
    steps.append(ENDING)
    text = HEAD + "\n".join(table_text("[step]", step) for step in steps)
    try:
        if tomllib.loads(text)["step"] != steps:
            raise ValueError
    except ValueError:
        raise UsageError("a step holds characters that TOML cannot. Do it in another way.") from None
    path = task / FOLDER / f"{name}.toml"
    try:
        path.parent.mkdir(exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise UsageError(f"{path}: exists. Give another name.") from None
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path
