"""The scripts that come with a task: a right solution, another right one, a wrong one."""

from collections.abc import Mapping
from typing import Any

from seatrial.errors import SpecError
from seatrial.families.repair.build import Instance
from seatrial.families.repair.edits import smallest_edit, with_body
from seatrial.families.repair.mutate import Mutation
from seatrial.families.repair.toml_text import table_text

Step = dict[str, Any]


def script_text(head: str, steps: list[Step]) -> str:
    """A script file."""
    return f"# {head}\n\n" + "\n".join(table_text("[step]", step) for step in steps)


def shell(command: str) -> Step:
    return {"tool": "shell", "command": command}


def edit(path: str, before: Mapping[str, str], after: Mapping[str, str]) -> Step:
    old, new = smallest_edit(before[path], after[path])
    return {"tool": "edit_file", "path": path, "old": old, "new": new}


def states(instance: Instance, repairs: list[Mutation | None]) -> list[dict[str, str]]:
    """The package's files before any repair and after each of them."""
    seeded: list[Mutation | None] = [fault.mutation for fault in instance.faults]
    return [instance.sources(repairs[:done] + seeded[done:]) for done in range(len(repairs) + 1)]


def look(instance: Instance) -> list[Step]:
    """Getting to know the place."""
    return [shell("ls -R pipeline data"), {"tool": "read_file", "path": list(instance.pipeline.programs)[-1]}]


def inspect(instance: Instance, index: int) -> list[Step]:
    """Running a stage to see it go wrong and looking at the function it leans on."""
    target, stage = instance.faults[index].target, instance.pipeline.stages[index]
    return [
        shell(f"{stage.command}; head -n 3 {stage.product}"),
        shell(f"grep -n -A 60 'def {target.parts[0]}(' {target.file}"),
    ]


def solve(instance: Instance, repairs: list[Mutation | None], finish: Step) -> list[Step]:
    """Repairs one function after the other and makes each product once what it needs is repaired."""
    files = states(instance, repairs)
    steps = look(instance)
    for index, fault in enumerate(instance.faults):
        steps += inspect(instance, index)
        steps.append(edit(fault.target.file, files[index], files[index + 1]))
        steps.append(shell(instance.pipeline.stages[index].command))
    last = instance.pipeline.stages[-1].product
    return [*steps, shell(f"wc -l out/*; tail -n 3 {last}"), finish]


def reference(instance: Instance) -> str:
    """The faults undone as they were made."""
    done = {
        "tool": "finish",
        "summary": "Repaired three functions and made the report anew.",
        "confidence": 0.95,
    }
    return script_text(
        "Repairs the three functions and runs the stages in order.", solve(instance, [None] * 3, done)
    )


def wrong(instance: Instance) -> str:
    """The second function is changed, but not into what it should be."""
    mistake = instance.faults[1].wrong
    if mistake is None:
        raise SpecError(
            instance.faults[1].target.file, instance.faults[1].target.name, "has one fault only", "Drop it"
        )
    done = {"tool": "finish", "summary": "All three programs run without errors.", "confidence": 0.8}
    head = "Repairs the first and third function; what it does to the second is wrong: stuck at repair-b."
    return script_text(head, solve(instance, [None, mistake, None], done))


def equivalent(instance: Instance) -> str:
    """The same behaviour, written otherwise, partly by shell."""
    steps = look(instance)
    files = instance.sources([fault.mutation for fault in instance.faults])
    for index, fault in enumerate(instance.faults):
        target, before = fault.target, dict(files)
        for part, body in target.equivalents.items():
            files[target.file] = with_body(files[target.file], part, body)
        step = edit(target.file, before, files)
        steps.append(step if index < 2 else by_shell(step))
        steps.append(shell(instance.pipeline.stages[index].command))
    done = {
        "tool": "finish",
        "summary": "Rewrote three functions and made the report anew.",
        "confidence": 0.9,
    }
    return script_text("Rewrites the three functions in another way.", [*steps, done])


def by_shell(step: Step) -> Step:
    """An edit as a shell command."""
    code = (
        f"from pathlib import Path\npath = Path({step['path']!r})\ntext = path.read_text()\n"
        f"old, new = {step['old']!r}, {step['new']!r}\n"
        "assert text.count(old) == 1\npath.write_text(text.replace(old, new))\n"
    )
    return shell(f"python3 - <<'END'\n{code}END")
