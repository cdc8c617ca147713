"""What a simulated agent does next: an agenda of tasks, each of which is an action or makes way for others.

The agenda is data and every draw goes by the name of its decision, so that a course which is written down
and read again goes on as if nothing had happened.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from .actions import Move, move_of, played
from .chance import Draw, uniform
from .state import State, Task


class Course:
    """Plays a plan.

    Args:
        config: the knobs, and ``steps`` with subgoal, skill and actions of each; see ``spec.simulated``.
        seed: of the trial.
    """

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self.config, self.steps = config, config["steps"]
        self.draw: Draw = partial(uniform, seed)
        self.state = State(facts=dict(config["facts"]))
        self.offered: frozenset[str] = frozenset()
        self._seed = seed
        self._tasks: dict[str, Callable[..., None]] = {
            "recall": self._recall, "next": self._next, "begin": self._begin, "work": self._work,
            "try": self._try, "repeat": self._repeat, "judge": self._judge, "done": self._done,
            "drift": self._drift, "drifted": self._drifted, "mended": self._stand, "stand": self._stand,
            "idle": self._idle, "remember": self._remember, "redo": self._redo,
        }  # fmt: skip

    def next(self) -> Move:
        """The next action."""
        while True:
            task = self.state.agenda.pop(0)
            if task[0] == "play":
                self.state.pending = task
                return move_of(self.config, self._seed, self.state, task)
            self._tasks[task[0]](*task[1:])

    def has(self, number: int, kind: str) -> bool:
        """Whether the plan has this action for a step."""
        return self.steps[number][kind] is not None

    def chance(self, knob: str, *decision: str | int) -> bool:
        """Whether what a knob is the probability of happens at this decision."""
        probability: float = self.config[knob]
        return self.draw(*decision) < probability

    def serves(self, number: int, goal: int) -> bool:
        """Whether a step belongs to a version of the goal."""
        goals = self.steps[number]["goals"]
        return not goals or goal in goals

    # -- one step after another -----------------------------------------------------------------------
    def _recall(self) -> None:
        if self.config["memory"] and "recall" in self.offered:
            self.state.first(played("recall"))

    def _next(self) -> None:
        state = self.state
        for number in range(len(self.steps)):
            if number not in state.done and self.serves(number, state.goal):
                state.first(["begin", number])
                return
        state.first(played("finish"))

    def _begin(self, number: int) -> None:
        state, name = self.state, self.steps[number]["subgoal"]
        state.at = number
        state.careful = self.chance("checkpoint", "checkpoint", name)
        if self.chance("give_up", "give up", name):
            state.first(played("give_up"))
            return
        if self.chance("premature", "premature", name):
            state.first(played("finish"))
            return
        state.forgotten = state.forgotten or self.chance("forget", "forget", name)
        looks = self._rereading(number) if self.chance("reread", "reread", name) else []
        state.first(
            *looks, ["work", number], ["done", number], ["drift", number], ["stand", number],
            ["idle", number], ["remember"], ["next"],
        )  # fmt: skip

    def _rereading(self, number: int) -> list[Task]:
        """Looks at what a step depends on, each once."""
        names = [step["subgoal"] for step in self.steps]
        looks = [played("look", names.index(name)) for name in self.steps[number]["depends"]]
        for index, reaction in enumerate(self.config["reactions"]):
            if reaction["look"] is None or (reaction["repair"] and number not in reaction["repair"]):
                continue
            if reaction["look"]["tool"] == "recall" and "recall" not in self.offered:
                continue
            if all(self._looked(look) != reaction["look"] for look in looks):
                looks.append(played("look again", index))
        return looks

    def _looked(self, look: Task) -> Any:
        table = self.steps if look[1] == "look" else self.config["reactions"]
        return table[look[2]]["look"]

    def _work(self, number: int) -> None:
        step = self.steps[number]
        tempted = self.state.forgotten or self.chance("shortcut", "shortcut", step["subgoal"])
        if tempted and step["shortcut"] is not None:
            self.state.right[number] = bool(step["shortcut_passes"])
            self.state.first(played("shortcut", number))
            return
        first = ["try", number, "in turn", 1]
        # Whoever comes back does not know what was done since what they remember.
        unsure = self.state.resumed and self.config["retry"] == "query" and step["query"] is not None
        self.state.first(["play", "query", number, first, 0] if unsure else first)

    def _done(self, number: int) -> None:
        self.state.done.append(number)

    def _stand(self, number: int) -> None:
        if self.state.right[number] and number not in self.state.standing:
            self.state.standing.append(number)

    def _idle(self, number: int) -> None:
        if self.has(number, "look") and self.chance("idle", "idle", self.steps[number]["subgoal"]):
            self.state.first(played("look", number), played("look", number))

    def _remember(self) -> None:
        if self.config["memory"] and "remember" in self.offered:
            self.state.first(played("remember"))

    # -- trying a step until it is right, its fault goes unnoticed or no try is left ------------------
    def _try(self, number: int, occasion: str, attempt: int) -> None:
        """A try that fails where the plan has no ``wrong`` leaves the step out."""
        step = self.steps[number]
        right = self.draw("skill", step["subgoal"], occasion, attempt) < step["skill"]
        kind, judge = "do" if right else "wrong", ["judge", number, occasion, attempt, right]
        if step[kind] is None:
            self.state.first(judge)
        else:
            self.state.first(played(kind, number), ["repeat", number, kind, occasion, attempt], judge)

    def _repeat(self, number: int, kind: str, occasion: str, attempt: int) -> None:
        if self.chance("repeat", "repeat", self.steps[number]["subgoal"], occasion, attempt):
            self.state.first(played(kind, number))

    def _judge(self, number: int, occasion: str, attempt: int, right: bool) -> None:
        self.state.right[number] = right
        noticed = self.chance("checking", "notice", self.steps[number]["subgoal"], occasion, attempt)
        if right or not noticed or attempt == self.config["attempts"]:
            return
        looks = [played("look", number)] if self.has(number, "look") else []
        self.state.first(*looks, ["try", number, occasion, attempt + 1])

    # -- breaking an earlier step that stands, and doing steps again ----------------------------------
    def _drift(self, number: int) -> None:
        """Perhaps break one earlier step that stands."""
        now = self.steps[number]["subgoal"]
        breakable = [one for one in self.state.standing if one != number and self.has(one, "drift")]
        if not breakable or not self.chance("drift", "drift", now):
            return
        # The largest of independent draws falls on each alike, and mostly stays when another step comes or
        # goes.
        broken = max(breakable, key=lambda one: self.draw("drift onto", now, self.steps[one]["subgoal"]))
        self.state.first(played("drift", broken), ["drifted", number, broken])

    def _drifted(self, number: int, broken: int) -> None:
        """Do what was broken again, if that is noticed."""
        self.state.standing.remove(broken)
        now = self.steps[number]["subgoal"]
        if self.chance("checking", "notice drift", now):
            looks = [played("look", broken)] if self.has(broken, "look") else []
            self.state.first(*looks, ["try", broken, f"after {now}", 1], ["mended", broken])

    def _redo(self, number: int, why: str) -> None:
        if number in self.state.standing:
            self.state.standing.remove(number)
        self.state.first(["try", number, f"again {why}", 1], ["mended", number])

    def leave(self, number: int) -> None:
        """Do without what was still to follow the try of a step that has just been acted on."""
        agenda = self.state.agenda
        while agenda and agenda[0][0] in ("repeat", "judge") and agenda[0][1] == number:
            agenda.pop(0)
