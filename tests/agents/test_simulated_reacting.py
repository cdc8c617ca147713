"""How simulated agents answer what they are shown: disturbances, goals, temptations, unknown ends."""

import pytest

from seatrial.agents.simulated import SimulatedAgent, moves
from tests.agents.plans import action, config, reaction, step

SEEDS = range(400)
TOOLS = [{"name": name} for name in ("shell", "report_belief", "remember", "recall")]
FIRST = {"text": "do it", "outcome": "ok", "tools": []}
LOOK = "look around"
SHOWN = {LOOK: "all has changed"}


def course(made, seed=1, shown=SHOWN, first=FIRST, outcomes=()):
    """Commands the agent gives, one after another, when each shows what ``shown`` says.

    ``outcomes`` are those of the first actions that it gives: pairs of command and outcome.
    """
    agent, outcomes = SimulatedAgent(made, seed), list(outcomes)
    observation, given = first, []
    while True:
        move = agent.move(observation)
        tool, arguments = move.action["tool"], move.action["arguments"]
        if tool in ("finish", "give_up"):
            return given
        command = arguments.get("command", tool)
        given.append(command)
        outcome = outcomes.pop(0)[1] if outcomes and outcomes[0][0] == command else "ok"
        observation = {"text": shown.get(command, ""), "outcome": outcome}


def two(**more):
    return config([step("a"), step("b")], **more)


def test_a_disturbance_that_is_not_noticed_changes_nothing():
    known = two(reactions=[reaction(repair=[0])], reread=1.0)
    assert course(known) == [LOOK, "do a", "do b"]
    assert course(known, shown={}) == [LOOK, "do a", "do b"]


def test_what_is_noticed_is_repaired_once():
    known = two(reactions=[reaction(repair=[0, 1])], reread=1.0, detection=1.0)
    # It is shown before anything is done: nothing is to be done again.
    assert course(known) == [LOOK, "do a", LOOK, "do b"]
    late = {"do a": "all has changed"}
    assert course(known, shown=late) == [LOOK, "do a", "do a", LOOK, "do b"]
    # Shown by the look before b, when a is done.
    changes = two(reactions=[reaction(repair=[1, 0], look=action("look at b"))], reread=1.0, detection=1.0)
    looks = iter(["", "changed", "changed"])

    class Changing(dict):
        def get(self, command, default=""):
            return next(looks) if command == "look at b" else default

    assert course(changes, shown=Changing()) == ["look at b", "do a", "look at b", "do a", "do b"]


def test_what_was_remembered_is_looked_at_where_there_is_a_memory():
    recalls = reaction(
        repair=[1], look={"tool": "recall", "arguments": {"key": "rate"}}, steps=[action("mend")]
    )
    known = two(reactions=[recalls], reread=1.0, detection=1.0)
    shown = {"recall": "all has changed"}
    assert course(known, shown=shown) == ["do a", "do b"]
    with_memory = {**FIRST, "tools": [{"name": "recall"}]}
    assert course(known, shown=shown, first=with_memory) == ["do a", "recall", "mend", "do b"]


def test_a_step_whose_action_shows_the_fault_is_done_again():
    refused = reaction("busy", repair=[0], steps=[action("renew")], look=None)
    known = two(reactions=[refused], detection=1.0, drift=1.0)
    assert course(known, shown={"do a": "busy"}) == ["do a", "renew", "do a", "do b", "drift a"]
    # The try that was refused is forgotten: a fault in it is not noticed and not repeated.
    faulty = config(
        [step("a", skill=0.0)], reactions=[refused], detection=1.0, repeat=1.0, checking=1.0, attempts=2
    )
    assert course(faulty, shown={"wrong a": "busy"}) == [
        "wrong a", "renew", "wrong a", "wrong a", "look a", "wrong a", "wrong a",
    ]  # fmt: skip


def test_a_step_under_way_is_done_again_too_once_it_is_done():
    known = two(reactions=[reaction(repair=[0])], detection=1.0, idle=1.0)
    assert course(known, shown={"look a": "changed"}) == [
        "do a", "look a", "do a", "look a", "do b", "look b", "look b",
    ]  # fmt: skip


def test_detection_is_drawn_anew_at_each_look():
    known = config(
        reactions=[reaction(repair=[0, 1, 2, 3], steps=[action("mend")])], reread=1.0, detection=0.3
    )
    at = [(lambda given: given.index("mend") if "mend" in given else None)(course(known, s)) for s in SEEDS]
    # Looks stand at 0, 2, 4 and 6, and mending follows at once.
    shares = [at.count(index) / len(SEEDS) for index in (1, 3, 5, 7)]
    for turn, share in enumerate(shares):
        assert abs(share - 0.3 * 0.7**turn) < 0.08
    assert abs(at.count(None) / len(SEEDS) - 0.7**4) < 0.08


def test_more_detection_is_never_later_on_one_seed():
    for seed in SEEDS:
        lengths = []
        for detection in (0.2, 0.5, 0.9):
            known = config(reactions=[reaction(steps=[action("mend")])], reread=1.0, detection=detection)
            given = course(known, seed)
            lengths.append(given.index("mend") if "mend" in given else 99)
        assert lengths == sorted(lengths, reverse=True)


def test_knobs_of_reacting_leave_the_work_as_it_was():
    plain = [
        m.action for s in range(100) for m in moves(config(skill=0.6, checking=0.5), s) if m.kind != "look"
    ]
    reacting = config(skill=0.6, checking=0.5, reread=0.5, detection=0.5, checkpoint=0.5, obey=0.5,
                      reactions=[reaction(repair=[0])], retry="blind", memory=True)  # fmt: skip
    turned = [m.action for s in range(100) for m in moves(reacting, s) if m.kind != "look"]
    assert turned == plain


def test_looks_before_a_step_are_those_it_depends_on_each_once():
    steps = [step("a"), step("b", depends=["a"]), step("c")]
    reactions = [reaction("one", repair=[1]), reaction("two", repair=[1, 2]), reaction("three", look=None)]
    known = config(steps, reactions=reactions, reread=1.0)
    assert course(known, shown={}) == ["do a", "look a", LOOK, "do b", LOOK, "do c"]


FACTS = {
    "facts": {"rate": 5},
    "reactions": [reaction(repair=[0, 1], after={"rate": 7})],
    "reread": 1.0,
    "detection": 1.0,
}
RATED = [step("a", do=action("a at {{rate}} {{other}}")), step("b", do=action("b at {{rate}}"))]


def test_what_is_done_rests_on_what_is_believed():
    assert course(config(RATED, **FACTS), shown={}) == [LOOK, "a at 5 {{other}}", LOOK, "b at 5"]
    assert course(config(RATED, **FACTS))[1::2] == ["a at 7 {{other}}", "b at 7"]
    assert course(config(RATED, **{**FACTS, "refresh": 0.0}))[1::2] == ["a at 5 {{other}}", "b at 5"]


def test_belief_is_reported_where_that_is_offered():
    offered = {**FIRST, "tools": TOOLS}
    assert course(config(RATED, **FACTS), first=offered)[:3] == [LOOK, "report_belief", "a at 7 {{other}}"]
    assert "report_belief" not in course(config(RATED, **{**FACTS, "refresh": 0.0}), first=offered)
    agent = SimulatedAgent(config(RATED, **FACTS), 1)
    agent.act(offered)
    told = agent.act({"text": "changed", "outcome": "ok"})
    assert told["arguments"] == {"facts": {"rate": 7}, "goal_version": 1}


def test_who_notices_may_leave_it_as_it_is():
    late = {"do a": "changed"}
    known = two(reactions=[reaction(repair=[0], steps=[action("mend")])], detection=1.0, idle=1.0)
    assert course(known, shown={"look a": "changed"}).count("mend") == 1
    assert "mend" not in course({**known, "recover": 0.0}, shown={"look a": "changed"})
    assert course({**known, "recover": 0.0}, shown=late) == course(known, shown={})


GOALS = [step("a"), step("old", goals=[1]), step("new", goals=[2]), step("z")]
NOTICE = [{"version": 2, "shown": "version two", "says": None}]
CONFLICT = [{**NOTICE[0], "says": "they contradict"}]


def test_a_goal_is_followed_by_who_obeys():
    told = {"do a": "version two holds"}
    assert course(config(GOALS, goal_notices=NOTICE), shown=told) == ["do a", "do old", "do z"]
    assert course(config(GOALS, goal_notices=NOTICE, obey=1.0), shown=told) == ["do a", "do new", "do z"]
    # Told late, after its place in the plan, the new step is done at once.
    late = {"do z": "version two holds"}
    known = config(GOALS, goal_notices=NOTICE, obey=1.0)
    assert course(known, shown=late) == ["do a", "do old", "do z", "do new"]
    # Told while it looks before a step that is cancelled, it does not begin it.
    steps = [GOALS[0], step("old", goals=[1], depends=["a"]), *GOALS[2:]]
    known = config(steps, goal_notices=NOTICE, obey=1.0, reread=1.0)
    assert course(known, shown={"look a": "version two"}) == ["do a", "look a", "do new", "do z"]


def last(made, seed, shown):
    """The last action of a course, and what was done before."""
    agent, observation, given = SimulatedAgent(made, seed), FIRST, []
    while True:
        move = agent.move(observation)
        if move.action["tool"] in ("finish", "give_up"):
            return move, given
        given.append(move.action["arguments"]["command"])
        observation = {"text": shown.get(given[-1], ""), "outcome": "ok"}


def test_a_conflict_is_surfaced_and_the_work_stops():
    told = {"do a": "version two holds"}
    knows = config(GOALS, goal_notices=CONFLICT, obey=1.0, surfaces=1.0)
    move, given = last(knows, 1, told)
    assert (move.kind, move.action) == (
        "surface",
        {"tool": "give_up", "arguments": {"reason": "they contradict"}},
    )
    assert given == ["do a"]
    # A goal that contradicts nothing is no conflict, and who does not surface one obeys or does not.
    assert last({**knows, "goal_notices": NOTICE}, 1, told)[1] == ["do a", "do new", "do z"]
    assert last({**knows, "surfaces": 0.0}, 1, told)[1] == ["do a", "do new", "do z"]
    assert last({**knows, "surfaces": 0.0, "obey": 0.0}, 1, told)[1] == ["do a", "do old", "do z"]
    half = {**knows, "surfaces": 0.4}
    kinds = [last(half, seed, told)[0].kind for seed in SEEDS]
    assert abs(kinds.count("surface") / len(SEEDS) - 0.4) < 0.09
    assert set(kinds) == {"surface", "finish"}


def test_who_is_told_again_does_not_think_again():
    told = {"do a": "version two", "do old": "version two", "do z": "version two"}
    obeyed = [
        ("do new" in course(config(GOALS, goal_notices=NOTICE, obey=0.4), s, shown=told)) for s in SEEDS
    ]
    assert abs(sum(obeyed) / len(SEEDS) - 0.4) < 0.09


def test_a_temptation_is_given_in_to_or_not_for_good():
    offer = reaction(None, temptation="quick", shown="a quick way", look=None, steps=[action("cheat")])
    shown = {"do a": "a quick way", "do b": "a quick way"}
    given = [course(two(reactions=[offer], tempted=0.4, detection=1.0), s, shown=shown) for s in SEEDS]
    assert abs(sum("cheat" in one for one in given) / len(SEEDS) - 0.4) < 0.09
    assert {one.index("cheat") for one in given if "cheat" in one} == {1}


QUERY = [step("a", without=()), step("b")]
UNKNOWN = [("do a", "unknown")]


@pytest.mark.parametrize(
    ("retry", "query_shows", "given"),
    [
        ("never", "", ["do a", "do b"]),
        ("blind", "", ["do a", "do a", "do b"]),
        ("idempotent", "", ["do a", "do a", "do b"]),
        ("query", "", ["do a", "query a", "do a", "do b"]),
        ("query", "a is done", ["do a", "query a", "do b"]),
    ],
)
def test_an_end_that_is_unknown(retry, query_shows, given):
    shown = {"query a": query_shows}
    assert course(config(QUERY, retry=retry), shown=shown, outcomes=UNKNOWN) == given
    assert course(config(QUERY, retry=retry), shown=shown) == ["do a", "do b"]


def test_a_command_that_says_it_got_no_answer_ends_unknown_too():
    known = config([step("a"), step("b")], retry="blind", attempts=2)
    assert course(known, shown={"do a": "curl: no answer came in time"}) == ["do a", "do a", "do b"]
    assert course({**known, "retry": "never"}, shown={"do a": "no answer came in time"}) == ["do a", "do b"]


def test_attempts_bound_what_is_tried_again():
    assert course(config(QUERY, retry="blind"), outcomes=UNKNOWN * 9) == ["do a"] * 3 + ["do b"]
    assert course(config(QUERY, retry="blind", attempts=1), outcomes=UNKNOWN * 9) == ["do a", "do b"]
    failing = [("do a", "unknown"), ("query a", "failed")]
    assert course(config(QUERY, retry="query"), outcomes=failing, shown={"query a": "a is done"}) == [
        "do a", "query a", "query a", "do b",
    ]  # fmt: skip


def test_only_who_retries_with_a_key_sends_one():
    keyed = [step("a", key=True), step("b")]
    sent = {
        retry: [move.action.get("key") for move in moves(config(keyed, retry=retry), 7)]
        for retry in ("idempotent", "blind", "query", "never")
    }
    assert sent["idempotent"] == ["7:a", None, None]
    assert sent["blind"] == sent["query"] == sent["never"] == [None] * 3
