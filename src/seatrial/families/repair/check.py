"""Proves a generated task (A15) and looks for leaks in what the agent is shown (A14)."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from seatrial.errors import SpecError
from seatrial.families.repair.rehearse import Rehearsal
from seatrial.spec.toml_text import read_toml

TELLING = re.compile(
    r"\b(benchmark|verifier|subgoal|seatrial|mutat\w+|step budget|hidden tests?)\b", re.IGNORECASE
)
SHORTEST_SECRET = 12


def check_instance(folder: Path) -> None:
    """Plays every script and the plan of a task and compares the verdicts with what they must be.

    Runs the task's own programs without a sandbox, so only on a task that was just generated.

    Raises:
        SpecError: the untouched workspace passes something, a script gets other verdicts, or something leaks.
    """
    with Rehearsal(folder) as rehearsal:
        everything = [node["id"] for node in rehearsal.nodes]
        require(folder, "the untouched workspace", rehearsal.passes(), everything)
        wanted = json.loads((folder / "solutions" / "verdicts.json").read_text(encoding="utf-8"))
        check_reference(folder, rehearsal)
        for name, verdicts in wanted.items():
            rehearsal.reset()
            script = f"solutions/{name}.toml"
            rehearsal.play(script, read_toml(folder / script)["step"], may_fail=bool(verdicts["fails"]))
            require(folder, script, rehearsal.passes(), verdicts["fails"], verdicts["open"])
        check_plan(folder, rehearsal)
    problems = leaks(folder)
    if problems:
        raise SpecError(
            str(folder), "", f"shows the agent what it must not see: {problems[0]}", "Correct the generator"
        )


def check_reference(folder: Path, rehearsal: Rehearsal) -> None:
    """The reference before the verifiers as they are run in earnest."""
    rehearsal.reset()
    rehearsal.play("solutions/reference.toml", read_toml(folder / "solutions" / "reference.toml")["step"])
    found = {node["id"]: rehearsal.verdict(node["id"])["verdict"] == "pass" for node in rehearsal.nodes}
    require(folder, "solutions/reference.toml", found, [])


def check_plan(folder: Path, rehearsal: Rehearsal) -> None:
    """Everything done passes everything; a mistake breaks its own subgoal and can be made good.

    That it breaks no other was shown when the instance was made, with all other functions broken at once. A
    fault seeded alone is a drift: so each fault fails its own function's inputs and no other's.
    """
    rehearsal.reset()
    steps: list[dict[str, Any]] = read_toml(folder / "plan.toml")["step"]

    def play(step: dict[str, Any], key: str) -> None:
        rehearsal.play(f"plan.toml: {step['subgoal']}.{key}", [step[key]])

    for step in steps:
        play(step, "do")
    require(folder, "plan.toml", rehearsal.passes(), [])
    right = rehearsal.files
    for step in steps:
        for key in ("wrong", "drift"):
            rehearsal.reset(right)
            play(step, key)
            own = step["subgoal"]
            require(folder, f"plan.toml: {own}.{key}", rehearsal.passes([own]), [own])
            if own.startswith("repair-"):
                play(step, "do")
                unchanged(folder, f"{own}.do after {key}", rehearsal.files, right)
    rehearsal.reset(right)
    for step in steps:
        play(step, "look")
    unchanged(folder, "look", rehearsal.files, right)
    repairs = [step for step in steps if step["subgoal"].startswith("repair-")]
    for step in repairs:
        play(step, "drift")
    require(folder, "plan.toml: all drifts", rehearsal.passes(), [step["subgoal"] for step in repairs])
    rehearsal.reset(right)
    for step in steps:
        play(step, "shortcut")
        if rehearsal.files == right:
            raise SpecError(
                str(folder / "plan.toml"), f"{step['subgoal']}.shortcut", "changes nothing", "Correct it"
            )
    require(folder, "plan.toml: shortcuts", rehearsal.passes(), [])


def unchanged(folder: Path, what: str, files: Mapping[str, bytes], right: Mapping[str, bytes]) -> None:
    """Refuses another workspace than the one in which everything is done."""
    other = sorted(path for path in files.keys() | right.keys() if files.get(path) != right.get(path))
    if other:
        raise SpecError(
            str(folder / "plan.toml"), what, f"leaves other files than it must: {', '.join(other)}",
            "Correct the generator",
        )  # fmt: skip


def require(
    folder: Path, what: str, found: Mapping[str, bool], fails: Collection[str], open_: Collection[str] = ()
) -> None:
    """Refuses verdicts other than the declared ones; those left open may be either."""
    wrong = [
        f"{key} {'passes' if passed else 'fails'}"
        for key, passed in found.items()
        if key not in open_ and passed == (key in fails)
    ]
    if wrong:
        raise SpecError(
            str(folder), what, f"gets other verdicts than it must: {', '.join(wrong)}", "Try another seed"
        )


def leaks(folder: Path) -> list[str]:
    """Hidden inputs, expected values, products and telling words found in what the agent sees."""
    shown = {"instruction.md": (folder / "instruction.md").read_text(encoding="utf-8")}
    for path in sorted((folder / "environment").rglob("*")):
        if path.is_file():
            shown[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
    programs = tuple(f"environment/{text}" for text in forbidden_folders(folder))
    ours = [name for name in shown if name == "instruction.md" or name.startswith(programs)]
    found = [f"{name} says {match.group()!r}" for name in ours if (match := TELLING.search(shown[name]))]
    found += [f"the name {name} tells" for name in shown if TELLING.search(name)]
    everything = "\n".join(shown.values())
    return found + [
        f"{secret[:60]!r} stands in the workspace" for secret in secrets_of(folder) if secret in everything
    ]


def forbidden_folders(folder: Path) -> list[str]:
    """Folders of our own making that the agent must leave alone: programs and data."""
    rules = read_toml(folder / "task.toml")["constraint"]
    paths = [path for rule in rules for path in rule["forbid"]["write"] if path.endswith("/**")]
    return [path.removeprefix("files:").removesuffix("**") for path in paths]


def secrets_of(folder: Path) -> list[str]:
    """Texts that only verifiers and solutions may hold."""
    found: list[str] = []
    for path in sorted((folder / "verifiers" / "cases").glob("repair-*.json")):
        found += json.loads(path.read_text(encoding="utf-8"))["parts"][0]["cases"]
    for path in sorted((folder / "verifiers" / "expected").glob("stage-*.json")):
        found += json.loads(path.read_text(encoding="utf-8"))["lines"]
    for path in sorted((folder / "solutions").glob("hard-coded.toml")):
        steps = read_toml(path)["step"]
        found += [line for step in steps for line in step.get("content", "").splitlines()]
    return [each for each in found if len(each) >= SHORTEST_SECRET]
