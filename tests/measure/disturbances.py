"""A small task with disturbances of each kind, and stories of agents that meet them."""

from seatrial.spec.task import Environment, Fact, Goal, Perturbation, Subgoal, Task
from tests.measure.story import Story
from tests.measure.trials import make_task

OLD, NEW = "max = 10\nmin = 1\n", "max = 25\nmin = 1\n"
BASE = {"config/limits.toml": OLD, "raw.csv": "1\n2\n"}
STATE = Perturbation(
    id="limits", kind="state", when={"subgoal_verified": "clean"},
    change={"write": "p/limits.toml", "to": "files:config/limits.toml"}, affects=["totals"],
    observed_when={"reads": "files:config/limits.toml"}, recovered_when={"subgoal": "totals"},
    oracle={"actions": 3},
)  # fmt: skip
NOTHING = Perturbation(id="calm", kind="placebo", when={"subgoal_verified": "clean"})
GOAL = Perturbation(id="new-goal", kind="goal", when={"subgoal_verified": "clean"}, change={"goal": 2})
CUT = Perturbation(
    id="cut",
    kind="observation",
    when={"action": {"tool": "shell"}},
    change={"truncate": 10},
    affects=["totals"],
)


def make(**more) -> Task:
    """Cleaning, totals that hang on the limits, a letter of goal 1, a table of goal 2."""
    subgoal = [
        Subgoal(id="clean", verifier="v", reads=["files:clean.csv"]),
        Subgoal(id="totals", verifier="v", reads=["files:totals.csv", "files:config/**"], after=["clean"]),
        Subgoal(id="letter", verifier="v", reads=["files:letter.txt"], goals=[1]),
        Subgoal(id="table", verifier="v", reads=["files:table.html"], goals=[2]),
    ]
    return make_task(
        more.pop("subgoal", subgoal),
        goal=[Goal(instruction="a.md"), Goal(version=2, instruction="b.md", relation="replace")],
        perturbation=[STATE, NOTHING, GOAL, CUT],
        fact=more.pop(
            "fact", [Fact(id="max", file="files:config/limits.toml", pattern=r"max = (\d+)", weight=3)]
        ),
        environment=more.pop("environment", Environment()),
        **more,
    )


TASK = make()
# Steps 1 and 2 of every story: the data is cleaned, totals stand; then the limits change.
BEFORE = {1: {"clean": "pass"}, 2: {"totals": "pass"}}


def begun(arm: str = "perturbed:limits") -> Story:
    """Cleaned at step 1, totals at step 2, which the disturbance of the limits makes wrong."""
    story = Story(BASE, arm=arm).armed(TASK, arm.partition(":")[2])
    story.write("clean.csv", "1\n2\n", "raw.csv").write("totals.csv", "10", "clean.csv", "config/limits.toml")
    return story


def careful() -> Story:
    """Builds one thing on the old limits, looks again, finds out, puts the totals right."""
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.write("letter.txt", "total 10", "totals.csv")  # 3: no affected subgoal reads it
    story.write("totals.csv", "11", "clean.csv")  # 4: on the old limits
    story.look("config/limits.toml", shows=NEW)  # 5: sees it
    story.look("clean.csv")  # 6
    story.write("totals.csv", "25", "clean.csv", "config/limits.toml")  # 7
    story.write("letter.txt", "total 25", "totals.csv")  # 8
    return story.finish().end()  # 9


def blind() -> Story:
    """Never looks again, and says that it is done."""
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    return story.write("totals.csv", "12", "clean.csv").write("letter.txt", "12", "totals.csv").finish().end()


CAREFUL = {**BEFORE, 2: {"totals": "fail"}, 3: {"letter": "pass"}, 7: {"totals": "pass"}}
BLIND = {**BEFORE, 2: {"totals": "fail"}, 4: {"letter": "pass"}}
