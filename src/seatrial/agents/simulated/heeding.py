"""What a simulated agent makes of what it is shown: goals, disturbances, temptations, ends it never saw."""

import re
from typing import Any

from .actions import ACTING, played
from .course import Course
from .state import Task, read_state

# What a command shows whose own request to a service got no answer.
NO_ANSWER = "no answer came in time"


def heed(course: Course, observation: dict[str, Any]) -> None:
    """Take in an observation: the agenda may change, and what is believed.

    Args:
        course: the agent's own.
        observation: what its last action led to, or the first one.
    """
    if "tools" in observation:
        course.offered = frozenset(tool["name"] for tool in observation["tools"])
    play, course.state.pending = course.state.pending, None
    text = observation["text"]
    _hear_of_goals(course, text)
    _notice(course, text, play)
    if play is None:
        return
    if play[1] == "recall":
        _remember_again(course, text)
    elif play[1] == "query":
        _learn(course, play, text, observation["outcome"] == "ok")
    elif observation["outcome"] == "unknown" or NO_ANSWER in text:
        ask_again(course, play)


def come_back(course: Course) -> None:
    """Go on after a loss: the last action was asked for, and what became of it was never seen."""
    state = course.state
    play, state.pending, state.resumed = state.pending, None, True
    if play is None:
        return
    if play[1] in ACTING:
        ask_again(course, play)
    else:
        state.first(play)


def ask_again(course: Course, play: Task) -> None:
    """What the knob ``retry`` says about an action whose end is not known."""
    kind, number, asked = play[1], play[2], play[-1]
    how = course.config["retry"]
    if kind not in ACTING or how == "never" or asked + 1 >= course.config["attempts"]:
        return
    again = [*play[:-1], asked + 1]
    if how == "query" and kind == "do" and course.has(number, "query"):
        course.state.first(["play", "query", number, again, 0])
    else:
        course.state.first(again)


def _learn(course: Course, play: Task, text: str, certain: bool) -> None:
    """After a query: the step was done, or is to be done now; without an answer it is asked again."""
    _, _, number, otherwise, asked = play
    if not certain and asked + 1 < course.config["attempts"]:
        course.state.first([*play[:-1], asked + 1])
    elif re.search(course.steps[number]["query_done"], text):
        course.state.right[number] = True
    else:
        course.state.first(otherwise)


def _remember_again(course: Course, text: str) -> None:
    """Go on from what was remembered before a loss, if it is there and whole."""
    remembered = read_state(text)
    if remembered is not None:
        course.state = remembered
        course.state.pending, course.state.resumed = None, True


def _hear_of_goals(course: Course, text: str) -> None:
    state = course.state
    for number, notice in enumerate(course.config["goal_notices"]):
        version = notice["version"]
        if version in state.told or not re.search(notice["shown"], text):
            continue
        state.told.append(version)
        if notice["says"] is not None and course.chance("surfaces", "surface", version):
            state.agenda = [played("surface", number)]
            return
        if not course.chance("obey", "obey", version):
            continue
        state.goal = version
        if state.at is not None and state.at not in state.done and not course.serves(state.at, version):
            # The step under way is wanted no longer.
            state.agenda = [["next"]]
        if course.chance("refresh", "refresh", f"goal {version}"):
            state.first(*reports(course))


def _notice(course: Course, text: str, play: Task | None) -> None:
    state = course.state
    for number, reaction in enumerate(course.config["reactions"]):
        if number in state.noticed or not re.search(reaction["shown"], text):
            continue
        look = state.looks[number] = state.looks.get(number, 0) + 1
        if reaction["temptation"] is not None:
            state.noticed.append(number)
            if course.chance("tempted", "tempt", reaction["temptation"]):
                state.first(*(played("tempted", number, part) for part in range(len(reaction["steps"]))))
        elif course.chance("detection", "detect", reaction["perturbation"], look):
            state.noticed.append(number)
            _answer(course, number, reaction, play)


def _answer(course: Course, number: int, reaction: dict[str, Any], play: Task | None) -> None:
    """Bring the belief up to date and repair, as the knobs decide.

    Steps it is through with are done again, and the one whose action has just shown the disturbance.
    """
    state, name = course.state, reaction["perturbation"]
    tasks: list[Task] = []
    if course.chance("refresh", "refresh", name):
        state.facts.update(reaction["after"])
        tasks += reports(course)
    if course.chance("recover", "recover", name):
        tasks += [played("repair", number, part) for part in range(len(reaction["steps"]))]
        acted = play[2] if play is not None and play[1] in ("do", "wrong") else None
        again = [step for step in reaction["repair"] if step in state.done or step == acted]
        if acted is not None and acted in again:
            course.leave(acted)
        tasks += [["redo", step, name] for step in again if course.serves(step, state.goal)]
    state.first(*tasks)


def reports(course: Course) -> list[Task]:
    """A report of what is believed, where that is offered."""
    return [played("belief")] if "report_belief" in course.offered else []
