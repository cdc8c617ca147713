"""`seatrial plan`: worked numbers, pilots, and looks at a comparison that still runs."""

import pytest

from seatrial.errors import UsageError
from tests.cli.tables import data, run, table, text, trials

TASKS = [f"t{n:02d}" for n in range(40)]


def refused(*arguments):
    fault = run(*arguments).exception
    assert isinstance(fault, UsageError), fault
    return str(fault)


@pytest.fixture
def pilot(tmp_path):
    rows = trials("a", {task: [n % 2 == 0, n % 3 == 0] for n, task in enumerate(TASKS)})
    return table(
        tmp_path / "pilot.csv",
        rows + trials("b", {task: [n % 5 == 0, False] for n, task in enumerate(TASKS)}),
    )


def test_a_paired_difference():
    found = data("plan", "power", "--difference", 0.05, "--between", 0.04, "--within", 0.15, "--trials", 5)
    # (1.959964 + 0.841621)² · (.04 + .15/5 + .15/5) / .05² is 314 by the normal curve; t takes two more.
    assert found["difference"]["tasks"] == 316 and found["difference"]["trials_per_task"] == 5
    said = text("plan", "power", "--difference", 0.05, "--between", 0.04, "--within", 0.15, "--trials", 5)
    assert said.startswith("316 tasks with 5 trials of each system, paired")


def test_the_plan_is_for_the_test_that_will_be_made():
    asked = ("plan", "power", "--difference", 0.5, "--between", 0, "--within", 0)
    five, one = (data(*asked, "--trials", trials)["difference"] for trials in (5, 1))
    assert five["tasks"] == 6 and five["test"] == "t on task differences"
    assert one["tasks"] > 12 and "McNemar's exact test" in one["test"]
    assert "differing on 50 % of the tasks" in text(*asked)


def test_different_tasks_and_rare_events():
    found = data("plan", "power", "--rates", "0.5:0.6", "--never", 0.001)
    # The design effect of one trial a task is 1: 388 is the textbook's number.
    assert found["rates"]["tasks_each"] == 388 and found["never"]["trials"] == 2995


def test_the_spread_of_a_pilot(pilot):
    found = data(
        "plan", "power", "--difference", 0.1, "--pilot", pilot, "--a", "a", "--b", "b", "--trials", 2
    )
    assert found["difference"]["pilot_tasks"] == 40 and found["difference"]["spread"]["between"] >= 0
    assert found["difference"]["pilot_detects"] > 0.1
    assert "It is from 40 tasks of a and b" in found["difference"]["words"][1]


def test_a_pilot_is_taken_with_the_trials_it_had(pilot):
    asked = ("plan", "power", "--difference", 0.1, "--pilot", pilot, "--a", "a", "--b", "b")
    own, two, one = (data(*asked, *more)["difference"] for more in ((), ("--trials", 2), ("--trials", 1)))
    assert own == two and own["trials_per_task"] == 2 and own["pilot_trials"] == "2 trials"
    # What is planned next changes the tasks needed, not what the pilot could find.
    assert one["tasks"] > own["tasks"] and one["pilot_detects"] == own["pilot_detects"]
    spread = own["spread"]
    per_task = spread["between"] + (spread["within_a"] + spread["within_b"]) / 2
    assert own["pilot_detects"] == pytest.approx(2.801585 * (per_task / 40) ** 0.5, rel=1e-5)
    assert "The pilot itself, 40 tasks with 2 trials of each system" in text(*asked)
    assert "with 1 trial of each system" in text(*asked, "--trials", 1)


def test_a_variance_of_zero_is_said_to_be_an_edge(tmp_path):
    rows = trials("a", {t: [True, False] for t in TASKS}) + trials("b", {t: [False, True] for t in TASKS})
    path = table(tmp_path / "alike.csv", rows)
    asked = ("plan", "power", "--difference", 0.1, "--pilot", path)
    assert data(*asked)["difference"]["spread"]["between"] == 0
    assert "estimated at its lower edge, 0" in text(*asked)
    assert "lower edge" not in text(*asked, "--between", 0.01)
    error = text("plan", "power", "--error", 0.05, "--pilot", path, "--a", "a", "--tasks-available", 400)
    assert "estimated at its lower edge, 0" in error


def test_tasks_come_before_repeats(pilot):
    many = data("plan", "power", "--error", 0.05, "--pilot", pilot, "--a", "a", "--tasks-available", 1000)
    assert many["error"]["plan"]["reached"] and set(many["error"]["plan"]["repeats"].values()) == {1}
    few = data("plan", "power", "--error", 0.06, "--pilot", pilot, "--a", "a", "--tasks-available", 40)
    assert max(few["error"]["plan"]["repeats"].values()) > 1


def test_boundaries_of_four_looks():
    shares = [word for share in (0.25, 0.5, 0.75, 1) for word in ("--information", share)]
    found = data("plan", "sequential", *shares)
    assert [round(look["z"], 3) for look in found["looks"]] == [4.333, 2.963, 2.359, 2.014]
    pocock = data("plan", "sequential", *shares, "--shape", "pocock")
    assert pocock["looks"][0]["z"] < found["looks"][0]["z"]
    assert "error 0.05 over all looks" in text("plan", "sequential", *shares)


def test_a_look_goes_on_then_stops_or_stays_open(pilot, tmp_path):
    options = ("plan", "sequential", "--run", pilot, "--a", "a", "--b", "b")
    first = data(*options, "--planned-tasks", 400)
    assert first["watch"]["state"] == "continue" and first["watch"]["difference"]["n_tasks"] == 40
    assert data(*options, "--planned-tasks", 40)["watch"]["state"] == "stop"
    alike = table(tmp_path / "alike.csv", trials("a", {t: [n % 2 == 0] for n, t in enumerate(TASKS)})
                  + trials("b", {t: [n % 3 == 0] for n, t in enumerate(TASKS)}))  # fmt: skip
    last = data(
        "plan", "sequential", "--run", alike, "--planned-tasks", 40, "--earlier", "0.25:0.1:0.2:10:20"
    )
    assert last["watch"]["state"] == "insufficient" and last["watch"]["look"] == 2
    assert "cannot be told apart yet" in " ".join(last["watch"]["notes"])
    # What a look prints is what the next one takes.
    again = data(*options, "--planned-tasks", 50, "--earlier", first["look"])
    assert again["watch"]["look"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["power"], "nothing to plan for"),
        (["power", "--difference", 0, "--between", 1, "--within", 1], "cannot be looked for"),
        (["power", "--difference", 1e-200, "--between", 1, "--within", 1], "cannot be looked for"),
        (["power", "--difference", 1e-6, "--between", 1, "--within", 1], "Look for a greater difference"),
        (["power", "--rates", "0.5:0.500001"], "Look for a greater difference"),
        (["power", "--difference", 0.1], "spread is not known"),
        (["power", "--difference", 0.1, "--between", -1, "--within", 1], "variances are at least 0"),
        (["power", "--rates", "0.5"], "LOW:HIGH"),
        (["power", "--rates", "0.5:0.5"], "cannot be looked for"),
        (["power", "--error", 0.1], "needs --pilot"),
        (["power", "--never", 2], "(0, 1)"),
        (["sequential"], "no look is planned"),
        (["sequential", "--information", 0.5, "--information", 0.2], "--information 0.5, 0.2 does not rise"),
        (["sequential", "--information", "nan"], "--information nan is out of range. Give a share"),
        (["sequential", "--information", 1, "--alpha", 2], "--alpha 2 is out of range"),
        (["power", "--never", 0.1, "--power", "nan"], "--power nan is out of range"),
        (["sequential", *(w for i in (0.5, 0.500001, 1) for w in ("--information", i))], "Leave one out"),
    ],
)
def test_bad_plans(arguments, said):
    assert said in refused("plan", *arguments)


def test_bad_looks(pilot):
    options = ("plan", "sequential", "--run", pilot, "--a", "a", "--b", "b")
    assert "--planned-tasks" in refused(*options)
    assert "of 10 planned" in refused(*options, "--planned-tasks", 10)
    assert "is no look" in refused(*options, "--planned-tasks", 40, "--earlier", "x")


def test_an_unknown_outcome_stops_a_look(tmp_path):
    rows = trials("a", {t: [True] for t in TASKS}) + trials("b", {t: [None] for t in TASKS})
    path = table(tmp_path / "t.csv", rows)
    assert "40 trials have an unknown strict_success" in refused(
        "plan", "sequential", "--run", path, "--planned-tasks", 40
    )


def test_a_plan_says_what_it_leaves_out_and_mixes(tmp_path):
    rows = trials("a", {t: [n % 2 == 0] for n, t in enumerate(TASKS)}, task_version="1")
    rows += trials("b", {t: [None if n < 3 else n % 3 == 0] for n, t in enumerate(TASKS)}, task_version="2")
    path = table(tmp_path / "t.csv", rows)
    pilot = ("plan", "power", "--difference", 0.1, "--pilot", path, "--a", "a", "--b", "b", "--allow-mixed")
    said = text(*pilot)
    assert "limit: Left out of the pilot: 3 trials whose outcome is unknown." in said
    assert "limit: Left out of the pilot: 3 tasks without a known outcome" in said
    assert "mixed: 40 tasks in several versions" in said and "success is strict_success" in said
    found = data(*pilot)["difference"]
    assert len(found["mixed"]) == 1 and len(found["limits"]) >= 3
    more = trials("b", {t: [n % 3 == 0] for n, t in enumerate(TASKS[:30])})
    looked = table(tmp_path / "l.csv", trials("a", {t: [n % 2 == 0] for n, t in enumerate(TASKS)}) + more)
    look = ("plan", "sequential", "--run", looked, "--a", "a", "--b", "b", "--planned-tasks", 80)
    assert "limit: 10 tasks that" in text(*look) and data(*look)["limits"]
    assert data(*look)["watch"]["difference"]["n_tasks"] == 30
