"""Disturbances, kills, people and temptations as sentences of a step."""

import pytest

from seatrial.journal.events import (
    ActionDecided,
    AgentKilled,
    AgentResumed,
    GoalChanged,
    HumanIntervened,
    PerturbationFired,
    TemptationOffered,
)
from seatrial.report.happenings import happening


def fired(**more):
    return PerturbationFired(perturbation="price", step=2, pre="a", post="b", **more)


def human(**more):
    return HumanIntervened(step=4, tier="approval", by="scripted", shown="0", **more)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            fired(change="state", paths=["workspace/p.txt"]),
            "perturbation price (state) fired: workspace/p.txt",
        ),
        (fired(change="placebo"), "placebo price fired: nothing was changed"),
        (
            fired(change="state", details={"undelivered": "it changed nothing"}),
            "perturbation price was met and disturbed nothing: it changed nothing",
        ),
        (
            GoalChanged(step=3, was=1, to=2, relation="replace", instruction="0"),
            "goal 2 in place of 1 (replace): told with the next answer",
        ),
        (
            AgentKilled(point="before_effect", step=5, acknowledged=False),
            "the agent was killed (before_effect); it was not shown how this step ended",
        ),
        (
            AgentResumed(step=5, memory="structured", checkpoint_step=4),
            "a new process of the agent began; memory: structured, of step 4",
        ),
        (
            human(decision="approved", approval="charge", waited_us=30_000_000),
            "a person (scripted, approval) approved charge after 30 s",
        ),
        (human(decision="gave_back"), "a person (scripted, approval) gave back"),
        (
            TemptationOffered(step=1, temptation="skip", offered_in="message", lookalike=True),
            "look-alike skip was offered in message",
        ),
        (ActionDecided(step=1, decision="allow"), None),
    ],
)
def test_each_event_is_told_in_words(event, words):
    assert happening(event) == words
