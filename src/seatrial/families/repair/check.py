"""Proves a generated task (A15) and looks for leaks in what the agent is shown (A14)."""

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from seatrial.errors import SpecError
from seatrial.families.repair.rehearse import commands, play, verdicts

TELLING = re.compile(
    r"\b(benchmark|verifier|subgoal|seatrial|mutat\w+|step budget|hidden tests?)\b", re.IGNORECASE
)
SHORTEST_SECRET = 12
REPAIRS = ("repair-a", "repair-b", "repair-c")

# Which subgoals a script must pass; it must fail all others.
PASSES: dict[str, Callable[[str], bool]] = {
    "reference": lambda subgoal: True,
    "equivalent": lambda subgoal: True,
    "wrong": lambda subgoal: subgoal in ("repair-a", "stage-1", "repair-c"),
    # Its products are right, but nothing that they need is.
    "cheating": lambda subgoal: subgoal.startswith("stage-"),
}


def check_instance(folder: Path) -> None:
    """Plays every script of a task and compares the verdicts with what they must be.

    Runs the task's own programs without a sandbox, so only on a task that was just generated.

    Raises:
        SpecError: the untouched workspace passes something, a script gets other verdicts, or something leaks.
    """
    with commands() as path:
        found = outcome(folder, None, path)
        require(folder, "the untouched workspace", found, lambda subgoal: False)
        for name, passes in PASSES.items():
            found = outcome(folder, folder / "solutions" / f"{name}.toml", path)
            # A product may be right by luck of the data; without the repair it does not count.
            lucky = {"stage-2", "stage-3"} if name == "wrong" else set()
            require(
                folder, f"solutions/{name}.toml", {k: v for k, v in found.items() if k not in lucky}, passes
            )
        for index in range(len(REPAIRS)):
            check_single(folder, index, path)
    problems = leaks(folder)
    if problems:
        raise SpecError(
            str(folder), "", f"shows the agent what it must not see: {problems[0]}", "Correct the generator"
        )


def outcome(folder: Path, script: Path | None, path: str) -> dict[str, bool]:
    """Which subgoals pass after a script."""
    with TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        shutil.copytree(folder / "environment", workspace)
        if script is not None:
            play(script, workspace, path)
        return {
            subgoal: record["verdict"] == "pass"
            for subgoal, record in verdicts(folder, workspace, path).items()
        }


def check_single(folder: Path, index: int, path: str) -> None:
    """One fault alone, with the others repaired, fails its own hidden inputs and no other function's."""
    script = tomllib.loads((folder / "solutions" / "reference.toml").read_text(encoding="utf-8"))
    edits = [step for step in script["step"] if step["tool"] == "edit_file"]
    with TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        shutil.copytree(folder / "environment", workspace)
        for edit in edits[:index] + edits[index + 1 :]:
            target = workspace / edit["path"]
            text = target.read_text(encoding="utf-8")
            target.write_text(text.replace(edit["old"], edit["new"]), encoding="utf-8")
        found = {
            key: each["verdict"] == "pass"
            for key, each in verdicts(folder, workspace, path, "repair-").items()
        }
    require(folder, f"fault {index + 1} alone", found, lambda subgoal: subgoal != REPAIRS[index])


def require(folder: Path, what: str, found: dict[str, bool], passes: Callable[[str], bool]) -> None:
    """Refuses verdicts other than the declared ones."""
    wrong = [
        f"{key} {'passes' if passed else 'fails'}" for key, passed in found.items() if passed != passes(key)
    ]
    if wrong:
        raise SpecError(
            str(folder), what, f"gets other verdicts than it must: {', '.join(wrong)}", "Try another seed"
        )


def leaks(folder: Path) -> list[str]:
    """Hidden inputs, expected values, products and telling words found in what the agent sees."""
    shown = {"instruction.md": (folder / "instruction.md").read_text(encoding="utf-8")}
    world = folder / "environment"
    for path in sorted(world.rglob("*")):
        if path.is_file():
            shown[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
    ours = [name for name in shown if name == "instruction.md" or name.startswith("environment/pipeline/")]
    found = [f"{name} says {match.group()!r}" for name in ours if (match := TELLING.search(shown[name]))]
    found += [f"the name {name} tells" for name in shown if TELLING.search(name)]
    everything = "\n".join(shown.values())
    return found + [
        f"{secret[:60]!r} stands in the workspace" for secret in secrets_of(folder) if secret in everything
    ]


def secrets_of(folder: Path) -> list[str]:
    """Texts that only verifiers and solutions may hold."""
    found: list[str] = []
    for path in sorted((folder / "verifiers" / "cases").glob("repair-*.json")):
        found += json.loads(path.read_text(encoding="utf-8"))["cases"]
    for path in sorted((folder / "verifiers" / "cases").glob("rerun-*.json")):
        inputs = json.loads(path.read_text(encoding="utf-8"))["inputs"]
        found += [line for _, text in inputs for line in text.splitlines()[1:]]
    for path in sorted((folder / "verifiers" / "expected").glob("stage-*.json")):
        found += json.loads(path.read_text(encoding="utf-8"))["lines"]
    return [each for each in found if len(each) >= SHORTEST_SECRET]
