"""All that a simulated agent has in mind, as data: what is written down at a checkpoint, and read again."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

# Something still to be done: its name, then what it is about. Steps and reactions stand by their number.
Task = list[Any]


@dataclass
class State:
    """Steps of the plan are numbered from 0, and so are its reactions.

    Attributes:
        agenda: what is still to be done, the next thing first.
        at: the step under way; null before the first.
        done: steps it is through with, rightly or not.
        standing: those of them that it made right and has not broken since.
        right: step to how its last try went.
        forgotten: whether the constraints are forgotten.
        careful: whether it wants a checkpoint before each action of the step under way.
        resumed: whether it has read this back after a loss.
        goal: the version it follows.
        told: versions it was told of.
        facts: what it believes.
        noticed: reactions it has decided about.
        looks: reaction to how often it was shown.
        pending: the action whose end it has not seen; null between actions.
    """

    agenda: list[Task] = field(default_factory=lambda: [["recall"], ["next"]])
    at: int | None = None
    done: list[int] = field(default_factory=list)
    standing: list[int] = field(default_factory=list)
    right: dict[int, bool] = field(default_factory=dict)
    forgotten: bool = False
    careful: bool = False
    resumed: bool = False
    goal: int = 1
    told: list[int] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    noticed: list[int] = field(default_factory=list)
    looks: dict[int, int] = field(default_factory=dict)
    pending: Task | None = None

    def first(self, *tasks: Task) -> None:
        """Put tasks before all others, in this order."""
        self.agenda[:0] = tasks


def write_state(state: State) -> str:
    """The state as text."""
    return json.dumps(asdict(state), separators=(",", ":"), sort_keys=True)


def read_state(text: str) -> State | None:
    """What ``write_state`` wrote, wherever it stands in a text; null for text that holds no whole state."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        plain = json.loads(text[begin : end + 1])
        known = {one.name for one in fields(State)}
        if not isinstance(plain, dict) or set(plain) != known:
            return None
        numbered = {key: {int(n): value for n, value in plain[key].items()} for key in ("right", "looks")}
        return State(**{**plain, **numbered})
    except (ValueError, AttributeError, RecursionError):
        return None
