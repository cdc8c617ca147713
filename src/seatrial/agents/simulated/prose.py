"""Where a simulated agent stands, told in words and understood again. Words say less than its state does."""

import json
import re

from .course import Course


def told(course: Course) -> str:
    """A few sentences: steps done, the goal that is followed, what was noticed, what is believed."""
    state = course.state
    done = ", ".join(course.steps[number]["subgoal"] for number in state.done)
    noticed = ", ".join(_name(course, number) for number in state.noticed)
    facts = "".join(f" I hold that {name} is {json.dumps(value)};" for name, value in state.facts.items())
    versions = ", ".join(map(str, state.told))
    return (
        f"I follow version {state.goal} of the goal. I was told of: {versions};{facts} "
        f"I have noticed: {noticed}; I am done with: {done};"
    )


def restore(course: Course, text: str) -> None:
    """Take from such sentences, which may break off anywhere, what is whole; the rest begins anew."""
    state = course.state
    state.resumed = True
    if said := re.search(r"I follow version (\d+) of", text):
        state.goal = int(said[1])
    state.told = [int(version) for version in _listed(text, "was told of") if version.isdigit()]
    for name, value in re.findall(r"I hold that (\w+) is (.+?);", text):
        try:
            state.facts[name] = json.loads(value)
        except ValueError:
            continue
    names = [step["subgoal"] for step in course.steps]
    state.done = [names.index(name) for name in _listed(text, "am done with") if name in names]
    state.standing, state.right = list(state.done), dict.fromkeys(state.done, True)
    noticed = _listed(text, "have noticed")
    state.noticed = [n for n in range(len(course.config["reactions"])) if _name(course, n) in noticed]


def _name(course: Course, reaction: int) -> str:
    about = course.config["reactions"][reaction]
    return str(about["perturbation"] or about["temptation"])


def _listed(text: str, what: str) -> list[str]:
    """The names in a list; the last one of a list that breaks off may be cut, so it does not count."""
    found = re.search(rf"I {what}: ([^;]*)(;?)", text)
    if found is None:
        return []
    names = found[1].split(", ")
    return [name for name in (names if found[2] else names[:-1]) if name]
