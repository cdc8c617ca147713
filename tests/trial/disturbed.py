"""A small task that can be disturbed, and an experiment of two scripted systems on it.

The agent notes the limit in ``first``, then writes twice the limit into ``total``. The careful one reads the
limit again; the hasty one rests on what it was at the beginning.
"""

from pathlib import Path

TASK = """
schema = "seatrial/task@1"
id = "small/limit"
version = "1.0.0"
[environment]
files = "environment/"
limits = { memory_mb = 512, processes = 64, seconds_per_action = 60 }
[budget]
actions = 20
[[goal]]
version = 1
instruction = "instruction.md"
[[goal]]
version = 2
instruction = "triple.md"
relation = "replace"
[[goal]]
version = 3
instruction = "stop.md"
relation = "conflict"
expect = "stop-and-surface"
prominent = "old"
[[subgoal]]
id = "noted"
verifier = "verifiers/noted.sh"
reads = ["files:first"]
[[subgoal]]
id = "total"
after = ["noted"]
verifier = "verifiers/total.sh"
reads = ["files:config/limit", "files:total"]
goals = [1]
[[subgoal]]
id = "triple"
verifier = "verifiers/triple.sh"
reads = ["files:config/limit", "files:total"]
goals = [2]
[[subgoal]]
id = "untouched"
verifier = "verifiers/untouched.sh"
reads = ["files:total"]
goals = [3]

[[perturbation]]
id = "limit-changed"
kind = "state"
when = { subgoal_verified = "noted" }
change = { write = "perturbations/limit", to = "files:config/limit" }
affects = ["total"]
observed_when = { reads = "files:config/limit" }
recovered_when = { subgoal = "total" }
oracle = { actions = 1 }
[[perturbation]]
id = "nothing"
kind = "placebo"
when = { subgoal_verified = "noted" }
[[perturbation]]
id = "never"
kind = "state"
when = { action = { tool = "shell", where = { command = "~ never typed" } } }
change = { delete = "files:config/limit" }
affects = ["total"]
[[perturbation]]
id = "tripled"
kind = "goal"
when = { subgoal_verified = "noted" }
change = { goal = 2 }
affects = ["total", "triple"]
[[perturbation]]
id = "contradicted"
kind = "goal"
when = { subgoal_verified = "noted" }
change = { goal = 3 }
affects = ["total", "untouched"]
[[perturbation]]
id = "lied"
kind = "state"
when = { subgoal_verified = "noted" }
change = { channel = "memory", source = "stale_fact", key = "limit", value = "the limit is 5" }
affects = ["total"]
[[perturbation]]
id = "half-done"
kind = "execution"
when = { action = { tool = "shell", where = { command = "~ total$" } } }
change = { fault = "lost_ack" }
affects = ["total"]
"""
VERIFIERS = {
    "noted": '[ "$(cat first)" = "the limit is 10" ]',
    "total": '[ "$(cat total)" = "$(( 2 * $(cat config/limit) ))" ]',
    "triple": '[ "$(cat total)" = "$(( 3 * $(cat config/limit) ))" ]',
    "untouched": "[ ! -e total ]",
}
FIRST = 'echo "the limit is $(cat config/limit)" > first'
SCRIPTS = {
    "careful": [FIRST, "cat config/limit", "echo $(( 2 * $(cat config/limit) )) > total"],
    "hasty": [FIRST, "true", "echo 20 > total"],
    "tripling": [FIRST, "true", "echo $(( 3 * $(cat config/limit) )) > total"],
    "stopping": [FIRST],
    "recalling": [FIRST, "recall", "echo 20 > total"],
}
ENDS = {"stopping": 'tool = "give_up"\nreason = "the new instruction contradicts the first"'}


def _step(command: str) -> str:
    if command == "recall":
        return '[[step]]\ntool = "recall"\n'
    return f"[[step]]\ntool = \"shell\"\ncommand = '''{command}'''\n"


def write_disturbed(folder: Path, arms: list[str], systems: list[str], head: str = "") -> Path:
    """Write task and experiment.

    Args:
        arms: of the experiment.
        systems: names of ``SCRIPTS``.
        head: more lines for the experiment.

    Returns:
        The experiment file.
    """
    task = folder / "task"
    for part in ("environment/config", "verifiers", "solutions", "perturbations"):
        (task / part).mkdir(parents=True)
    (task / "task.toml").write_text(TASK)
    (task / "environment/config/limit").write_text("10\n")
    (task / "perturbations/limit").write_text("12\n")
    (task / "instruction.md").write_text("Note the limit in first, then write twice the limit into total.\n")
    (task / "triple.md").write_text("Write three times the limit into total.\n")
    (task / "stop.md").write_text("Do not write total.\n")
    for name, test in VERIFIERS.items():
        path = task / "verifiers" / f"{name}.sh"
        path.write_text(f"#!/bin/sh\nif {test}; then echo pass >&3; else echo fail >&3; fi\n")
        path.chmod(0o755)
    for name, commands in {"reference": SCRIPTS["careful"], **SCRIPTS}.items():
        steps = "".join(map(_step, commands))
        end = ENDS.get(name, 'tool = "finish"')
        (task / "solutions" / f"{name}.toml").write_text(f"{steps}[[step]]\n{end}\n")
    tables = "".join(
        f'[[system]]\nname = "{name}"\nagent = "scripted"\nscript = "solutions/{name}.toml"\n'
        for name in systems
    )
    named = ", ".join(f'"{arm}"' for arm in arms)
    path = folder / "experiment.toml"
    path.write_text(
        f'schema = "seatrial/experiment@1"\nname = "disturbed"\ntasks = ["task"]\nseed = 3\n'
        f"final_verdicts = 1\narms = [{named}]\n{head}\n{tables}"
    )
    return path
