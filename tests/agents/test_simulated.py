"""What simulated agents do: one knob at a time, from the seed alone, with shared luck."""

from statistics import fmean

import pytest

from seatrial.agents.simulated import SimulatedAgent, moves, uniform
from seatrial.spec.simulated import HARNESS
from tests.agents.plans import config, step

SEEDS = range(300)
MIXED = {
    "checking": 0.5, "drift": 0.3, "forget": 0.1, "shortcut": 0.1, "give_up": 0.05, "premature": 0.05,
    "repeat": 0.2, "idle": 0.2,
}  # fmt: skip


def played(seed, steps=None, skill=1.0, **knobs):
    return [f"{m.kind} {m.subgoal}".strip() for m in moves(config(steps, skill, **knobs), seed)]


def test_without_knobs_it_does_all_and_finishes():
    assert played(1) == ["do a", "do b", "do c", "do d", "finish"]


def test_the_agent_plays_its_moves_whatever_it_is_shown():
    agent, shown = SimulatedAgent(config(skill=0.6, **MIXED), 7), {"text": "no", "outcome": "failed"}
    actions = [agent.act(shown)]
    while actions[-1]["tool"] not in ("finish", "give_up"):
        actions.append(agent.act(shown))
    assert actions == [move.action for move in moves(config(skill=0.6, **MIXED), 7)]


def test_the_seed_decides_and_nothing_else():
    runs = [[played(seed, skill=0.6, **MIXED) for seed in SEEDS] for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(set(map(tuple, runs[0]))) > 100


def test_draws_are_uniform_and_differ_by_name():
    for name in (("skill", "a", "in turn", 1), ("drift", "a")):
        values = sorted(uniform(seed, *name) for seed in range(2000))
        # Kolmogorov's bound at one in a thousand.
        assert max(abs((i + 0.5) / 2000 - v) for i, v in enumerate(values)) < 1.95 / 2000**0.5
        assert values[0] >= 0 and values[-1] < 1
    pairs = [(uniform(seed, "a", 1), uniform(seed, "b", 1)) for seed in range(2000)]
    assert abs(fmean((a - 0.5) * (b - 0.5) for a, b in pairs) * 12) < 0.08
    assert uniform(1, "a", "bc") != uniform(1, "ab", "c")


@pytest.mark.parametrize(
    "knob", ["checking", "drift", "forget", "shortcut", "give_up", "premature", "repeat", "idle"]
)
def test_a_knob_turned_leaves_the_first_try_of_every_step_as_it_was(knob):
    """Common random numbers: where both try a step for the first time, both are right or both are wrong."""
    for seed in SEEDS:
        plain, turned = played(seed, skill=0.6), played(seed, skill=0.6, **{knob: 0.4})
        for name in "abcd":
            first = [
                next((m for m in course if m in (f"do {name}", f"wrong {name}")), None)
                for course in (plain, turned)
            ]
            assert first[1] in (first[0], None)


def test_more_skill_is_never_worse_on_one_seed():
    for seed in SEEDS:
        right = [{m for m in played(seed, skill=skill) if m.startswith("do")} for skill in (0.3, 0.6, 0.9)]
        assert right[0] <= right[1] <= right[2]


def test_a_fault_that_is_noticed_is_looked_at_and_done_again():
    steps = [step("a", skill=0.0)]
    assert played(1, steps) == ["wrong a", "finish"]
    assert played(1, steps, checking=1.0) == ["wrong a", "look a", "wrong a", "look a", "wrong a", "finish"]
    assert played(1, steps, checking=1.0, attempts=1) == ["wrong a", "finish"]
    courses = {tuple(played(seed, [step("a", skill=0.5)], checking=1.0)) for seed in SEEDS}
    assert ("wrong a", "look a", "do a", "finish") in courses


def test_drift_breaks_an_earlier_step_that_stands():
    courses = [played(seed, drift=1.0) for seed in SEEDS]
    assert {course[2] for course in courses} == {"drift a"}
    for course in courses:
        assert len({m for m in course if m.startswith("drift")}) == 3  # never the same one twice
    falls = [course[4] for course in courses]
    assert set(falls) == {"drift b"}  # a is broken by then and does not stand
    last = [played(seed, [step(n) for n in "abc"], drift=1.0, checking=1.0)[-4] for seed in SEEDS]
    assert 100 < last.count("drift a") < 200 and set(last) == {"drift a", "drift b"}


def test_drift_that_is_noticed_is_put_right():
    assert played(1, [step("a"), step("b")], drift=1.0, checking=1.0) == [
        "do a", "do b", "drift a", "look a", "do a", "finish",
    ]  # fmt: skip


def test_a_step_that_cannot_drift_does_not():
    steps = [step("a", without=("drift",)), step("b"), step("c")]
    assert played(1, steps, drift=1.0) == ["do a", "do b", "do c", "drift b", "finish"]


def test_who_forgets_takes_every_shortcut_from_there_on():
    steps = [step("a"), step("b", without=("shortcut",)), step("c")]
    assert played(1, steps, forget=1.0) == ["shortcut a", "do b", "shortcut c", "finish"]
    for seed in SEEDS:
        kinds = [m.split()[0] for m in played(seed, forget=0.3)[:-1]]
        assert kinds == sorted(kinds)  # do … do shortcut … shortcut
    taken = [played(seed, shortcut=0.5)[:-1] for seed in SEEDS]
    assert any(course[0].startswith("shortcut") and course[1].startswith("do") for course in taken)


def test_it_gives_up_or_finishes_before_a_step():
    assert played(1, give_up=1.0) == ["give_up"]
    assert played(1, premature=1.0) == ["finish"]
    ends = {len(played(seed, give_up=0.3)) for seed in SEEDS}
    assert ends == {1, 2, 3, 4, 5}


def test_what_is_repeated_and_looked_at_twice():
    steps = [step("a")]
    assert played(1, steps, repeat=1.0) == ["do a", "do a", "finish"]
    assert played(1, steps, idle=1.0) == ["do a", "look a", "look a", "finish"]
    assert played(1, [step("a", without=("look",))], idle=1.0) == ["do a", "finish"]


def test_a_try_that_fails_where_the_plan_has_no_wrong_does_nothing():
    assert played(1, [step("a", skill=0.0, without=("wrong",)), step("b")]) == ["do b", "finish"]


def test_what_a_seed_leads_to_belongs_to_the_version_of_the_agent():
    """Whoever has to change these lists gives ``spec.simulated.HARNESS`` another number."""
    assert HARNESS == "simulated@2"
    assert uniform(7, "skill", "a", "in turn", 1) == 0.27956337044919777
    assert [played(seed, skill=0.6, **MIXED) for seed in (3, 4)] == [
        ["wrong a", "wrong a", "do b", "do b", "do c", "shortcut d", "drift b", "finish"],
        ["wrong a", "shortcut b", "wrong c", "wrong c", "wrong d", "look d", "do d", "finish"],
    ]
