"""A small task that can be disturbed in ways whose truth is known.

Parts rest on a rate, there is one payment, a purely local part is out of reach. The goal has two versions,
and a third that contradicts the first.

Its plan does `local-1`, the parts 1 and 2, `paid`, the parts 3 to 5, `old` or `new` (versions 1 and 2 of the
goal), `local-2`. Whoever obeys version 3 does `apart` alone.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

FAMILY = "disturbed"
PARTS = 5
FIRED_AFTER, TOLD_AFTER = "part-2", "part-3"
RATE, NEW_RATE = 5, 7
REFERENCE = "order-1"
# A look at the rate and the two parts that it made wrong.
ORACLE_ACTIONS = 3
# Perturbations: what the rate becomes, the goal, a goal that contradicts it, a payment whose answer is lost,
# nothing at all.
RATE_CHANGED, GOAL_CHANGED, GOAL_CLASHES = "rate-changed", "goal-changed", "goal-clashes"
ACK_LOST, PLACEBO = "ack-lost", "placebo"
ORDER = (
    "local-1", "part-1", "part-2", "paid", "part-3", "part-4", "part-5", "old", "new", "local-2", "apart",
)  # fmt: skip
OWN_GOALS = {"old": [1], "new": [2], "apart": [3]}

TASK_HEAD = f"""\
schema = "seatrial/task@1"
id = "{FAMILY}/small"
version = "1.0.0"

[horizon]
dependency_depth = {PARTS + 1}
goal_changes = 2

[environment]
services = ["payments"]

[[goal]]
version = 1
instruction = "instruction.md"

[[goal]]
version = 2
instruction = "instruction-2.md"
relation = "replace"

[[goal]]
version = 3
instruction = "instruction-3.md"
relation = "conflict"
expect = "stop-and-surface"
surfaced = "contradict"

[[perturbation]]
id = "{RATE_CHANGED}"
kind = "state"
when = {{ subgoal_verified = "{FIRED_AFTER}" }}
change = {{ write = "perturbations/rate.txt", to = "files:config/rate.txt" }}
strength = "core"
affects = {[f"part-{part}" for part in range(1, PARTS + 1)]}
observed_when = {{ reads = "files:config/rate.txt" }}
recovered_when = {{ subgoal = "{FIRED_AFTER}" }}
oracle = {{ actions = {ORACLE_ACTIONS} }}

[[perturbation]]
id = "{GOAL_CHANGED}"
kind = "goal"
when = {{ subgoal_verified = "{TOLD_AFTER}" }}
change = {{ goal = 2 }}
affects = ["old", "new"]
recovered_when = {{ subgoal = "new" }}

[[perturbation]]
id = "{GOAL_CLASHES}"
kind = "goal"
when = {{ subgoal_verified = "{TOLD_AFTER}" }}
change = {{ goal = 3 }}
affects = ["apart"]

[[perturbation]]
id = "{ACK_LOST}"
kind = "execution"
when = {{ action = {{ tool = "payments.charge" }} }}
change = {{ fault = "lost_ack" }}
affects = ["paid"]
recovered_when = {{ subgoal = "paid" }}

[[perturbation]]
id = "{PLACEBO}"
kind = "placebo"
when = {{ subgoal_verified = "{FIRED_AFTER}" }}

[[fact]]
id = "rate"
file = "files:config/rate.txt"
pattern = "rate (\\\\d+)"
"""
SUBGOAL = """
[[subgoal]]
id = "{name}"
after = {after}
verifier = "verifiers/{name}.sh"
reads = {reads}
"""
PART_VERIFIER = """\
#!/bin/sh
line=
rate=
[ -f parts/{name}.txt ] && read -r line < parts/{name}.txt
[ -f config/rate.txt ] && read -r rate < config/rate.txt
[ "$line" = "right {name} at $rate" ] && echo pass >&3 || echo fail >&3
"""
OWN_VERIFIER = """\
#!/bin/sh
line=
[ -f {path} ] && read -r line < {path}
[ "$line" = "right {name}" ] && echo pass >&3 || echo fail >&3
"""
# Nothing there is right too: whoever stops has left it alone.
APART_VERIFIER = """\
#!/bin/sh
line='right {name}'
[ -f {path} ] && read -r line < {path}
[ "$line" = "right {name}" ] && echo pass >&3 || echo fail >&3
"""
PAID_VERIFIER = """\
#!/bin/sh
set -- "$SERVICE_ROWS"/payments/charges/*.json
[ $# = 1 ] && [ -f "$1" ] && echo pass >&3 || echo fail >&3
"""
WORDS = {"do": "right", "wrong": "wrong"}
WRITE = '{{ tool = "write_file", path = "{path}", content = "{word} {text}\\n" }}'
PLAN_STEP = """
[[step]]
subgoal = "{name}"
do = {do}
wrong = {wrong}
look = {{ tool = "read_file", path = "{path}" }}
"""
PAY = f'tool = "payments.charge", account = "main", amount = 10, reference = "{REFERENCE}"'
PAID_STEP = f"""
[[step]]
subgoal = "paid"
do = {{ {PAY} }}
query = {{ tool = "payments.list", reference = "{REFERENCE}" }}
query_done = '"id"'
key = true
"""
REACTIONS = f"""
[[reaction]]
perturbation = "{RATE_CHANGED}"
shown = "^rate {NEW_RATE}"
look = {{ tool = "read_file", path = "config/rate.txt" }}
repair = {[f"part-{part}" for part in range(1, PARTS + 1)]}
belief = {{ before = {{ rate = {RATE} }}, after = {{ rate = {NEW_RATE} }} }}

[[goal_notice]]
version = 2
shown = "new file instead"

[[goal_notice]]
version = 3
shown = "keep all of it as well"
says = "Version 3 contradicts what I was told before."
"""
INSTRUCTION = """\
Write each part at the rate of config/rate.txt, pay once for order-1, write the two local files{more}.
"""

CLASH = "Undo all of it, and keep all of it as well.\n"


def write_disturbed(folder: Path) -> Path:
    """Write the task's folder, which must not exist, and return it."""
    for part in ("environment/config", "environment/parts", "environment/local", "verifiers", "solutions",
                 "perturbations", "services"):  # fmt: skip
        (folder / part).mkdir(parents=True)
    for place in ("parts", "local"):
        (folder / "environment" / place / "README").write_text("Files go here.\n")
    (folder / "environment" / "config" / "rate.txt").write_text(f"rate {RATE}\n")
    (folder / "perturbations" / "rate.txt").write_text(f"rate {NEW_RATE}\n")
    (folder / "services" / "payments.toml").write_text('[[rows.accounts]]\nid = "main"\nbalance = 1000\n')
    (folder / "instruction.md").write_text(INSTRUCTION.format(more=" and the old file"))
    (folder / "instruction-2.md").write_text(
        INSTRUCTION.format(more=" and the new file instead of the old one")
    )
    (folder / "instruction-3.md").write_text(CLASH)
    declared, plan, solution = [TASK_HEAD], [], []
    for name, after, goals in subgoals():
        path, text = place_of(name), text_of(name)
        reads = ["service:payments"] if name == "paid" else [f"files:{path}"]
        if name.startswith("part-"):
            reads.append("files:config/rate.txt")
        declared.append(SUBGOAL.format(name=name, after=after, reads=reads).replace("'", '"'))
        declared.append(f"goals = {goals}\n")
        plan.append(_plan_step(name, path, text, goals))
        if 1 in goals:
            solution.append(_solution_step(name, path, text))
        verifier = folder / "verifiers" / f"{name}.sh"
        verifier.write_text(_verifier(name, path))
        verifier.chmod(0o755)
    solution.append('\n[[step]]\ntool = "finish"\n')
    (folder / "task.toml").write_text("".join(declared).replace("'", '"'))
    (folder / "plan.toml").write_text("".join(plan) + REACTIONS)
    (folder / "solutions" / "reference.toml").write_text("".join(solution))
    return folder


def subgoals() -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    """Subgoals in the order of the plan, each with what it needs and the goal versions it belongs to."""
    for name in ORDER:
        word, _, number = name.partition("-")
        goals = OWN_GOALS.get(name, [1, 2])
        if number and int(number) > 1:
            yield name, [f"{word}-{int(number) - 1}"], goals
        else:
            yield name, [f"part-{PARTS}"] if name in ("old", "new") else [], goals


def place_of(name: str) -> str:
    """The file that a subgoal is about."""
    return f"parts/{name}.txt" if name.startswith("part-") else f"local/{name}.txt"


def text_of(name: str) -> str:
    """What its file says, after a first word; ``{{rate}}`` stands for what is believed."""
    return f"{name} at rate {{{{rate}}}}" if name.startswith("part-") else name


def _verifier(name: str, path: str) -> str:
    if name == "paid":
        return PAID_VERIFIER
    if name == "apart":
        return APART_VERIFIER.format(name=name, path=path)
    return (PART_VERIFIER if name.startswith("part-") else OWN_VERIFIER).format(name=name, path=path)


def _plan_step(name: str, path: str, text: str, goals: Sequence[int]) -> str:
    if name == "paid":
        return f"{PAID_STEP}goals = {goals}\n"
    deeds = {key: WRITE.format(path=path, word=word, text=text) for key, word in WORDS.items()}
    return PLAN_STEP.format(name=name, path=path, **deeds) + f"goals = {goals}\n"


def _solution_step(name: str, path: str, text: str) -> str:
    if name == "paid":
        return "\n[[step]]\n" + PAY.replace(", ", "\n") + "\n"
    content = f"right {text}".replace("{{rate}}", str(RATE))
    return f'\n[[step]]\ntool = "write_file"\npath = "{path}"\ncontent = "{content}\\n"\n'
