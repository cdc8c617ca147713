"""The task folder of an instance: which files it holds and what stands in them."""

from pathlib import Path

from seatrial.families.repair import scripts
from seatrial.families.repair.attack import cheating
from seatrial.families.repair.build import Instance
from seatrial.families.repair.declaration import task_text
from seatrial.families.repair.instruction import instruction
from seatrial.families.repair.judging.observe import content
from seatrial.families.repair.plan import plan_text
from seatrial.families.task_folder import Files, json_text

JUDGING = Path(__file__).with_name("judging")

VERIFIER = """\
#!/bin/sh
exec python3 -I -S -B -c '
import sys
sys.path.insert(0, sys.argv[1])
from judging.judge import main
main(sys.argv[1:])
' "${{0%/*}}" {kind} {name}
"""


def task_files(instance: Instance) -> Files:
    """Every file of the task by relative path, with its text and mode."""
    texts = {f"environment/{path}": text for path, text in instance.workspace().items()}
    texts |= {f"solutions/{name}.toml": text for name, text in solutions(instance).items()}
    texts["solutions/verdicts.json"] = json_text(verdicts(instance))
    texts["solutions/faults.json"] = json_text(fault_list(instance))
    texts["instruction.md"] = instruction(instance)
    texts["task.toml"] = task_text(instance)
    texts["plan.toml"] = plan_text(instance)
    for module in sorted(JUDGING.glob("*.py")):
        texts[f"verifiers/judging/{module.name}"] = module.read_text(encoding="utf-8")
    return {path: (text, 0o644) for path, text in texts.items()} | verifiers(instance)


def solutions(instance: Instance) -> dict[str, str]:
    """Scripts by name; those that begin with ``reference`` or ``equivalent`` are right, no other is."""
    edge = scripts.boundary(instance)
    return {
        "reference": scripts.reference(instance),
        "equivalent": scripts.equivalent(instance),
        "equivalent-order": scripts.equivalent_order(instance),
        **({} if edge is None else {"boundary": edge}),
        "wrong": scripts.wrong(instance),
        "empty": scripts.empty(),
        "hard-coded": scripts.hard_coded_script(instance),
        "string-only": scripts.string_only(instance),
        "cheating": cheating(instance),
        "crash": scripts.crash(instance),
        "stale": scripts.stale(instance),
    }


def verdicts(instance: Instance) -> dict[str, dict[str, list[str]]]:
    """What must fail after each script, and what is left open; everything else must pass."""
    mended = [f"repair-{each.link.id}" for each in instance.repairs]
    made = [f"stage-{each.link.id}" for each in instance.repairs]
    last = instance.repairs[-1].link
    misled = instance.repairs[scripts.misled(instance)].link
    # What the wrong function makes of its product, and that product of the ones after it, is luck.
    after = [name for name in made if name[6] == misled.id[0] and int(name[7:]) >= int(misled.id[1:])]
    fails = {
        "reference": [],
        "equivalent": [],
        "equivalent-order": [],
        "wrong": [f"repair-{misled.id}"],
        "empty": mended + made,
        "hard-coded": mended,
        "string-only": mended + made,
        # Its products are right, but nothing that they need is.
        "cheating": mended,
        "crash": [f"repair-{each.link.id}" for each in instance.repairs if last.file in each.reads],
        "stale": [f"stage-{last.id}"],
    }
    edge = scripts.edge_of(instance)
    if edge is not None:
        fails["boundary"] = [f"repair-{edge.link.id}"]
    return {name: {"fails": each, "open": after if name == "wrong" else []} for name, each in fails.items()}


def fault_list(instance: Instance) -> list[dict[str, object]]:
    """What was seeded where; for people, never for the agent."""
    found: list[dict[str, object]] = []
    for repair in instance.repairs:
        source, seeded = instance.world.sources[repair.link.file], repair.fault.mutation
        found.append(
            {
                "link": repair.link.id,
                "function": repair.link.target.name,
                "file": repair.link.file,
                "part": seeded.part,
                "kind": seeded.kind,
                "line": source.count("\n", 0, seeded.start) + 1,
                "old": source[seeded.start : seeded.end],
                "new": seeded.new,
            }
        )
    return found


def verifiers(instance: Instance) -> Files:
    """Verifiers with their inputs and expected answers."""
    files: Files = {}

    def data(path: str, value: object) -> None:
        files[f"verifiers/{path}.json"] = (json_text(value), 0o644)

    def verifier(kind: str, name: str) -> None:
        files[f"verifiers/{name}.sh"] = (VERIFIER.format(kind=kind, name=name), 0o755)

    for repair in instance.repairs:
        name, product = f"repair-{repair.link.id}", f"stage-{repair.link.id}"
        verifier("focused", name)
        data(f"cases/{name}", repair.payload)
        data(f"expected/{name}", repair.expected)
        verifier("product", product)
        path = repair.link.product
        data(f"expected/{product}", {"path": path, "lines": content(instance.products[path])})
    return files
