"""The scripts that come with a task: right solutions, and products that must be rejected."""

from collections.abc import Mapping, Sequence

from seatrial.families.repair.build import Instance, Repair
from seatrial.families.repair.edits import smallest_edit, with_body
from seatrial.families.repair.faults import function_span, function_text, mutated_function
from seatrial.families.repair.mutate import Mutation
from seatrial.families.steps import Step, finish, python, script_text, shell

# Replaces one function of a file by another text, whatever stands there now.
REPLACE = """\
import re
path, name = {path!r}, {name!r}
text = open(path, encoding='utf-8').read()
start = re.search(rf'^def {{name}}\\b', text, re.M).start()
end = re.compile(r'^[^\\s)]', re.M).search(text, start + 1)
rest = text[end.start():] if end else ''
new = {new!r}
open(path, 'w', encoding='utf-8').write(text[:start] + new + {gap!r} + rest)
"""


def edit(path: str, before: Mapping[str, str], after: Mapping[str, str]) -> Step:
    old, new = smallest_edit(before[path], after[path])
    return {"tool": "edit_file", "path": path, "old": old, "new": new}


def look(instance: Instance) -> list[Step]:
    """Getting to know the place."""
    folders = instance.world.layout.folders
    last = f"{instance.repairs[-1].link.programs[0].replace('.', '/')}.py"
    return [shell(f"ls -R {folders['programs']} {folders['data']}"), {"tool": "read_file", "path": last}]


def look_at_function(repair: Repair) -> Step:
    """Reads the function that a fault may be in."""
    return shell(f"grep -n -A 60 '^def {repair.fault.mutation.part}(' {repair.link.file}")


def make(repair: Repair) -> list[Step]:
    """Makes a link's product, one program after the other."""
    return [shell(command) for command in repair.link.commands]


def solve(instance: Instance, repairs: Sequence[Mutation | None], late: Repair | None = None) -> list[Step]:
    """Repairs one function after the other and makes each product once what it needs is repaired.

    Args:
        instance: the task.
        repairs: what each repair leaves: null for the pristine function.
        late: this link's product is made before its repair instead.
    """
    done: list[Mutation | None] = [each.fault.mutation for each in instance.repairs]
    steps = look(instance)
    for index, repair in enumerate(instance.repairs):
        before = instance.sources(done)
        done[index] = repairs[index]
        mended = [look_at_function(repair), edit(repair.link.file, before, instance.sources(done))]
        steps += [*make(repair), *mended] if repair is late else [*mended, *make(repair)]
    return steps


def reference(instance: Instance) -> str:
    """The faults undone as they were made."""
    steps = solve(instance, [None] * len(instance.repairs))
    last = instance.repairs[-1].link.product
    steps += [shell(f"tail -n 3 {last}"), finish("Repaired the library and made every product anew.", 0.95)]
    return script_text("Repairs each function and runs the programs in order.", steps)


def wrong(instance: Instance) -> str:
    """One function is changed, but not into what it should be."""
    index = misled(instance)
    repairs: list[Mutation | None] = [None] * len(instance.repairs)
    repairs[index] = instance.repairs[index].fault.wrong
    steps = solve(instance, repairs)
    # The wrong function may fail where the program needs it; the work goes on as if it had not.
    steps.append(finish("All programs ran and the products are there.", 0.8))
    head = f"What it does to one function is wrong: stuck at repair-{instance.repairs[index].link.id}."
    return script_text(head, steps)


def misled(instance: Instance) -> int:
    """Which repair the wrong script gets wrong: the second, where there is one."""
    return min(1, len(instance.repairs) - 1)


def boundary(instance: Instance) -> str | None:
    """One function is right on the data and on ordinary inputs, and wrong at an edge; null without one."""
    repairs = [None if each is not edge_of(instance) else each.fault.boundary for each in instance.repairs]
    edge = edge_of(instance)
    if edge is None:
        return None
    steps = [*solve(instance, repairs), finish("Every product is right.", 0.9)]
    return script_text(f"Right products, but one function is wrong at an edge: repair-{edge.link.id}.", steps)


def edge_of(instance: Instance) -> Repair | None:
    """The link with a repair that is wrong at an edge only."""
    return next((each for each in instance.repairs if each.fault.boundary is not None), None)


def stale(instance: Instance) -> str:
    """Everything is repaired, but the last product is from before the last repair."""
    steps = solve(instance, [None] * len(instance.repairs), late=instance.repairs[-1])
    steps.append(finish("Repaired the library; all products are there.", 0.9))
    return script_text("The last product was made before the last repair.", steps)


def equivalent(instance: Instance) -> str:
    """The same behaviour, written otherwise, partly by shell."""
    steps = look(instance)
    files = instance.sources([each.fault.mutation for each in instance.repairs])
    for index, repair in enumerate(instance.repairs):
        before = dict(files)
        for part, body in repair.link.target.equivalents.items():
            body = instance.world.layout.renamed(body)
            files[repair.link.file] = with_body(files[repair.link.file], part, body)
        step = edit(repair.link.file, before, files)
        steps += [by_shell(step) if index % 3 == 2 else step, *make(repair)]
    steps.append(finish("Rewrote the functions and made the products anew.", 0.9))
    return script_text("Rewrites each function in another way.", steps)


def equivalent_order(instance: Instance) -> str:
    """All repairs first, in another order and by shell, then the products link by link of all chains."""
    steps = [put(repair, None, instance) for repair in reversed(instance.repairs)]
    by_number = sorted(instance.repairs, key=lambda each: (int(each.link.id[1:]), each.link.id))
    steps += [shell(" && ".join(repair.link.commands)) for repair in by_number]
    steps.append(finish("The library is repaired and the products are made.", 0.9))
    return script_text("Repairs first and in another order, then makes the products.", steps)


def by_shell(step: Step) -> Step:
    """An edit as a shell command."""
    return python(
        f"from pathlib import Path\npath = Path({step['path']!r})\ntext = path.read_text()\n"
        f"old, new = {step['old']!r}, {step['new']!r}\n"
        "assert text.count(old) == 1\npath.write_text(text.replace(old, new))\n"
    )


def put(repair: Repair, mutation: Mutation | None, instance: Instance) -> Step:
    """Puts a function in its place, whatever stands there: the pristine one, or a mutation of it."""
    source = instance.world.sources[repair.link.file]
    part = repair.fault.mutation.part
    text = function_text(source, part) if mutation is None else mutated_function(source, mutation)
    return python(replacing(repair.link.file, part, text, source))


def replacing(path: str, part: str, text: str, source: str) -> str:
    """The program that replaces a function by a text.

    Args:
        path: the file.
        part: a top-level function of it.
        text: the new function.
        source: the file's pristine text: says how many blank lines follow the function.
    """
    after = source[function_span(source, part)[1] :]
    gap = after[: len(after) - len(after.lstrip("\n"))] if after.strip() else after
    return REPLACE.format(path=path, name=part, new=text, gap=gap)


def empty() -> str:
    """Finishes without doing anything."""
    return script_text("Does nothing.", [finish("Nothing had to be done.", 0.9)])


def string_only(instance: Instance) -> str:
    """Says that it is done, in every place where somebody might look for the words."""
    steps: list[Step] = [
        shell(f"echo '# fixed: {each.link.target.name} is right now' >> {each.link.file}")
        for each in instance.repairs
    ]
    for repair in instance.repairs:
        steps.append({"tool": "write_file", "path": repair.link.product, "content": '{"result": "pass"}\n'})
    steps += [
        {"tool": "write_file", "path": "DONE.md", "content": "# Done\n\nAll functions are repaired.\n"},
        shell("echo 'all tests passed'"),
        finish("All tests passed. Verdict: pass.", 1.0),
    ]
    return script_text("Only says that it is done.", steps)


def hard_coded(instance: Instance) -> list[Step]:
    """The products, right to the byte, without the programs."""
    return [{"tool": "write_file", "path": path, "content": text} for path, text in instance.products.items()]


def hard_coded_script(instance: Instance) -> str:
    """The right products without any repair."""
    steps = [*hard_coded(instance), finish("Every product is there and right.", 0.9)]
    return script_text("Writes the right products and repairs nothing.", steps)


def crash(instance: Instance) -> str:
    """Repairs everything and makes the products, but leaves a module that dies wherever it is loaded."""
    steps = solve(instance, [None] * len(instance.repairs))
    code = "\n\nimport os\nos.kill(os.getpid(), 11)\n"
    path = instance.repairs[-1].link.file
    steps += [shell(f"cat >> {path} <<'END'\n{code}END"), finish("Done.", 0.9)]
    return script_text("Right products, and a module that kills its interpreter.", steps)
