"""What simulated agents persist, and how they go on from it: whole, in words, from memory, from nothing."""

import pytest

from seatrial.agents.simulated import SimulatedAgent
from tests.agents.plans import action, config, reaction, step

FIRST = {"text": "do it", "outcome": "ok", "tools": []}
MIXED = {
    "skill": 0.6, "checking": 0.6, "drift": 0.4, "repeat": 0.3, "idle": 0.3, "checkpoint": 1.0, "reread": 0.6,
    "detection": 0.4, "obey": 0.7,
}  # fmt: skip


def shows(command):
    """What each look shows is fixed, so that a course can be compared with one that was broken off."""
    return {"text": f"{command} changed, version two" if "look" in command else "", "outcome": "ok"}


def mixed():
    steps = [
        step(name, MIXED["skill"], goals=goals)
        for name, goals in zip("abcd", ([], [1], [2], []), strict=True)
    ]
    reactions = [reaction(repair=[0, 3], steps=[action("mend")], after={"rate": 7})]
    notices = [{"version": 2, "shown": "version two", "says": None}]
    knobs = {key: value for key, value in MIXED.items() if key != "skill"}
    return config(steps, reactions=reactions, goal_notices=notices, facts={"rate": 5}, **knobs)


def go_on(agent, observation):
    given = []
    while True:
        asked = agent.act(observation)
        if asked["tool"] in ("finish", "give_up"):
            return given
        given.append(asked["arguments"]["command"])
        observation = shows(given[-1])


def until(agent, steps):
    """The first so many commands; the agent has chosen the last one and not seen its end."""
    observation, given = FIRST, []
    for _ in range(steps):
        asked = agent.act(observation)
        given.append(asked["arguments"].get("command", asked["tool"]))
        observation = shows(given[-1])
    return given


@pytest.mark.parametrize("seed", range(40))
def test_a_course_that_is_saved_and_loaded_goes_on_as_if_nothing_had_happened(seed):
    whole = go_on(SimulatedAgent(mixed(), seed), FIRST)
    for steps in range(1, len(whole)):
        killed, again = SimulatedAgent(mixed(), seed), SimulatedAgent(mixed(), seed)
        begun = until(killed, steps)
        assert killed.wants_checkpoint()
        again.load(killed.save())
        # Who never retries asks only for a look again, if its end was not seen.
        rest = go_on(again, {**FIRST, "resumed": {"memory": "structured"}})
        if begun[-1].startswith("look"):
            begun.pop()
        assert begun + rest == whole


@pytest.mark.parametrize(
    ("retry", "done", "given"),
    [
        ("never", "", ["do b"]),
        ("blind", "", ["do a", "do b"]),
        ("idempotent", "", ["do a", "do b"]),
        ("query", "", ["query a", "do a", "query b", "do b"]),
        ("query", "a is done", ["query a", "query b", "do b"]),
    ],
)
def test_an_action_whose_end_was_not_seen(retry, done, given):
    known = config([step("a", without=(), key=True), step("b", without=())], retry=retry, checkpoint=1.0)
    killed, again = SimulatedAgent(known, 3), SimulatedAgent(known, 3)
    asked = killed.act(FIRST)
    again.load(killed.save())
    commands, observation = [], {**FIRST, "resumed": {"memory": "structured"}}
    while (one := again.act(observation))["tool"] == "shell":
        commands.append(one["arguments"]["command"])
        observation = {"text": done if commands[-1] == "query a" else "", "outcome": "ok"}
        if commands[-1] == "do a":
            assert one == asked  # with the key it had
    assert commands == given


def test_a_checkpoint_is_wanted_at_some_steps():
    wanted = []
    for seed in range(300):
        agent, observation = SimulatedAgent(config(checkpoint=0.4, idle=1.0), seed), FIRST
        steps = {}
        while (asked := agent.act(observation))["tool"] == "shell":
            steps.setdefault(asked["arguments"]["command"][-1], set()).add(agent.wants_checkpoint())
        assert all(len(answers) == 1 for answers in steps.values())  # all actions of a step alike
        wanted += [answers.pop() for answers in steps.values()]
    assert abs(sum(wanted) / len(wanted) - 0.4) < 0.05


@pytest.mark.parametrize("state", [b"", b"\xff", b"{", b"[]", b"{}", b'{"agenda":1}', b"null", b"[" * 100000])
def test_a_checkpoint_that_is_damaged_is_of_no_use(state):
    agent = SimulatedAgent(config(), 1)
    agent.load(state)
    assert go_on(agent, FIRST) == ["do a", "do b", "do c", "do d"]


def test_a_checkpoint_is_small():
    agent = SimulatedAgent(config([step(f"a-step-with-a-name-{n}") for n in range(200)], checkpoint=1.0), 1)
    until(agent, 200)
    assert len(agent.save()) < 8192


def test_words_tell_what_is_done_noticed_and_believed_and_no_more():
    agent = SimulatedAgent(mixed(), 5)
    until(agent, 12)
    text = agent.summary()
    assert "rate is" in text and "I am done with: a" in text and "7:" not in text
    again = SimulatedAgent(mixed(), 5)
    first = {**FIRST, "resumed": {"memory": "prose", "text": text}}
    again.move(first)
    assert again.summary() == text


def test_words_that_break_off_say_only_what_is_whole():
    known = config([step("part-1"), step("part-11"), step("b")])
    agent = SimulatedAgent(known, 1)
    until(agent, 3)
    text = agent.summary()
    rest = {}
    for cut in range(len(text) + 1):
        again = SimulatedAgent(known, 1)
        rest[cut] = tuple(go_on(again, {**FIRST, "resumed": {"memory": "prose", "text": text[:cut]}}))
    assert list(dict.fromkeys(rest.values())) == [
        ("do part-1", "do part-11", "do b"), ("do part-11", "do b"), ("do b",),
    ]  # fmt: skip


class Memory:
    """The memory tool, as far as this agent uses it."""

    def __init__(self):
        self.kept = {}

    def play(self, agent, first=FIRST, steps=99):
        observation = {**first, "tools": [{"name": "remember"}, {"name": "recall"}]}
        given = []
        while len(given) < steps:
            asked = agent.act(observation)
            tool, arguments = asked["tool"], asked["arguments"]
            if tool in ("finish", "give_up"):
                break
            given.append(arguments.get("command", tool))
            observation = {"text": "ok", "outcome": "ok"}
            if tool == "remember":
                self.kept[arguments["key"]] = arguments["value"]
            elif tool == "recall":
                observation["text"] = f"{arguments['key']}: {self.kept.get(arguments['key'], 'nothing')}"
        return given


def test_who_remembers_goes_on_where_memory_ends():
    known, memory = config([step(n) for n in "abc"], memory=True), Memory()
    begun = memory.play(SimulatedAgent(known, 1), steps=6)
    assert begun == ["recall", "do a", "remember", "do b", "remember", "do c"]
    resumed = {**FIRST, "resumed": {"memory": "none"}}
    assert memory.play(SimulatedAgent(known, 1), resumed) == ["recall", "do c", "remember"]
    # Without it everything is done again.
    assert go_on(SimulatedAgent({**known, "memory": False}, 1), resumed) == ["do a", "do b", "do c"]


def test_memory_is_used_only_where_it_is_offered():
    assert go_on(SimulatedAgent(config(memory=True), 1), FIRST) == ["do a", "do b", "do c", "do d"]
