"""Estimates, comparisons and gates over trials in which people had a part (C6)."""

import json
from pathlib import Path

import pytest

from seatrial.errors import UsageError
from tests.cli.tables import data, line, run, table, text, trials
from tests.report.with_people import run_with_people

JOINT = "s (human-machine)"
TASKS = [f"f{n % 2}/{n:02d}" for n in range(40)]
CALM = {"human_machine": False, "human_tier": "none"}
ACTED = {"human_machine": True, "human_tier": "takeover"}
# A person takes over whatever the system would fail: every fourth task.
TAKEN = {task for n, task in enumerate(TASKS) if n % 4 == 0}


def by_people(task: str, number: int) -> bool:
    return task in TAKEN


def rows(system: str = "s", **more) -> list[dict]:
    """One trial a task, all of them successes, those of TAKEN a person's."""
    return trials(
        system, {task: [True] for task in TASKS}, human_machine=by_people,
        human_tier=lambda task, _: "takeover" if task in TAKEN else "none",
        actions=lambda task, _: 100 if task in TAKEN else 10, family=lambda task, _: task[:2], **more,
    )  # fmt: skip


def other(system: str = "b") -> list[dict]:
    """Nobody touches its trials: it fails the tasks of TAKEN."""
    return trials(
        system, {task: [task not in TAKEN] for task in TASKS}, human_machine=False, human_tier="none",
        actions=10, family=lambda task, _: task[:2],
    )  # fmt: skip


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return table(tmp_path / "one.csv", rows())


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return table(tmp_path / "two.csv", rows() + other())


def refused(*arguments: object) -> str:
    fault = run(*arguments).exception
    assert isinstance(fault, UsageError), fault
    return str(fault)


def test_rates_and_means_and_costs_are_of_each_population_by_itself(one):
    rate = data("estimate", "rate", one)
    own, joint = (line(rate, name, "strict_success") for name in ("s", JOINT))
    assert (own["denominators"]["valid"], joint["denominators"]["valid"]) == (30, 10)
    assert [found["system"] for found in rate["lines"]] == ["s", JOINT]
    means = data("estimate", "rate", one, "--measure", "actions")
    assert [found["estimate"]["value"] for found in means["lines"]] == [10, 100]
    costs = {
        found["system"]: found["estimate"]["value"]
        for found in data("estimate", "cost", one, "--of", "actions")["lines"]
        if found["quantity"] == "actions per success"
    }
    assert costs == {"s": 10, JOINT: 100}


def test_the_limits_say_what_left_and_how_far_that_leaves_it_open(one):
    (said, *_) = (limit for limit in data("estimate", "rate", one)["limits"] if "stand apart" in limit)
    assert said.startswith("s (baseline): in 10 of 40 trials a person edited a call or acted.")
    assert said.endswith("its strict success would be between 75.0 % and 100.0 %, as a mean over tasks.")
    # Also where only the system itself is asked for.
    assert said in data("estimate", "rate", one, "--system", "s")["limits"]
    assert data("estimate", "rate", one, "--system", JOINT)["lines"][0]["denominators"]["trials"] == 10


def test_who_people_help_shortens_nobodys_range_and_takes_no_task(two):
    found = data("estimate", "survival", two, "--axis", "actions")
    assert found["settings"]["until"] == 10
    common = data("estimate", "rate", two, "--common-tasks")
    counts = {one["system"]: one["denominators"]["valid"] for one in common["lines"]}
    assert counts == {"s": 30, "b": 30}


@pytest.mark.parametrize(
    "kind",
    [("pareto", "--cost", "actions", "--common-tasks"), ("irt",), ("mixed",)],
    ids=lambda kind: kind[0],
)
def test_whoever_sets_systems_side_by_side_leaves_them_out(tmp_path, kind):
    # Both fail at some of what they did by themselves, partly the same, as the models need it.
    lost = {"s": ("03", "13", "21", "22", "33"), "b": ("03", "07", "13", "17", "33", "37", "38")}
    failed = {"strict_success": False, "terminal_class": "failure"}
    path = table(
        tmp_path / "t.csv",
        [{**row, **(failed if row["task"][-2:] in lost[row["system"]] else {})} for row in rows() + other()],
    )
    found = data("estimate", *kind[:1], path, *kind[1:])
    # A model speaks of each system against one of reference.
    systems = {one["system"] for one in found["lines"]} | {found["settings"].get("reference", "s")}
    assert systems == {"s", "b"}


def test_tiers_within_one_system_are_told_and_can_be_divided(tmp_path):
    helped = trials(
        "s", {task: [True] for task in TASKS}, human_machine=False,
        human_tier=lambda task, _: "approval" if task in TAKEN else "none",
    )  # fmt: skip
    path = table(tmp_path / "t.csv", helped)
    found = data("estimate", "rate", path, "--by", "human_tier")
    assert (
        "s (baseline), the most help that people gave in a valid trial: approval 10, none 30. Its numbers "
        "are of that mix; `estimate rate --by human_tier` divides it."
    ) in found["limits"]
    parts = {one["quantity"]: one["denominators"]["valid"] for one in found["lines"]}
    assert parts == {
        "strict_success": 40, "strict_success, human_tier approval": 10,
        "strict_success, human_tier none": 30,
    }  # fmt: skip


def test_a_table_that_says_nothing_of_people_is_pooled_and_says_so(tmp_path):
    path = table(tmp_path / "t.csv", trials("s", {task: [True] for task in TASKS}))
    found = data("estimate", "rate", path)
    assert [one["system"] for one in found["lines"]] == ["s"]
    assert (
        "Of 40 valid trials of s nobody says whether a person edited a call or acted. Their source says so "
        "of no trial, and they count as its own."
    ) in found["limits"]
    unsaid = trials(
        "s", {task: [True] for task in TASKS}, human_machine=lambda t, _: None if t in TAKEN else False
    )
    apart = data("estimate", "rate", table(tmp_path / "u.csv", unsaid))
    counts = {one["system"]: one["denominators"]["valid"] for one in apart["lines"]}
    assert counts == {"s": 30, "s (human-machine unknown)": 10}


def test_pairs_are_of_systems_by_themselves(two):
    found = data("compare", two)
    difference = line(found, "s − b", "difference in strict_success")
    # With the trials of people s would win ten tasks and be told apart.
    assert difference["estimate"]["n_tasks"] == 30
    assert (difference["facts"]["wins"], difference["facts"]["ties"]) == (0, 30)
    assert (
        "10 tasks are left out: of one of the two, people had a part in all trials on them."
        in found["limits"]
    )
    assert not any("help: " in one["quantity"] for one in found["lines"])
    pooled = [{**row, **CALM} for row in rows()] + other()
    told = data("compare", table(two.parent / "pooled.csv", pooled))
    assert told["settings"]["words"] == "can be told apart: s higher"


def test_a_population_with_people_is_compared_with_nobody(two):
    assert f'"{JOINT}" is compared with nobody' in refused("compare", two, "--a", "b", "--b", JOINT)
    plan = refused("plan", "power", "--difference", "0.1", "--pilot", two, "--a", JOINT, "--b", "b")
    assert "compared with nobody" in plan


def test_a_pilot_is_what_the_system_did_by_itself(one):
    words = text("plan", "power", "--error", "0.05", "--pilot", one, "--tasks-available", "400")
    assert "s (baseline): in 10 of 40 trials a person edited a call or acted." in words


def gate(folder: Path, body: str, *runs: Path):
    rules = folder / "rules.toml"
    rules.write_text('schema = "seatrial/gate@1"\n' + body)
    return run("gate", rules, *runs, "--json")


def test_no_system_passes_a_gate_because_a_person_took_over_its_failures(tmp_path, one):
    rule = '[[rule]]\nmeasure = "success"\nat_least = 0.8\n'
    done = gate(tmp_path, rule, one)
    found = json.loads(done.output)
    assert (done.exit_code, found["gate"], found["system"]) == (1, "insufficient evidence", "s")
    estimate = found["findings"][0]["estimate"]
    assert (estimate["value"], estimate["n_trials"], estimate["high"]) == (None, 40, 1.0)
    assert "Between 0.75 and 1: 10 unknown outcomes." in estimate["notes"]
    assert any(limit.startswith("To decide on the system") for limit in found["limits"])
    # What the system did by itself, or all trials pooled, would have passed.
    calm = table(tmp_path / "calm.csv", [{**row, **CALM} for row in rows()])
    assert json.loads(gate(tmp_path, rule, calm).output)["gate"] == "pass"
    means = gate(tmp_path, '[[rule]]\nmeasure = "actions"\nat_most = 1000\n', one)
    assert json.loads(means.output)["gate"] == "insufficient evidence"
    lost = gate(tmp_path, '[[rule]]\nmeasure = "infrastructure"\nat_most = 0.2\n', one)
    assert (json.loads(lost.output)["gate"], lost.exit_code) == ("pass", 0)


def test_a_regression_is_judged_with_them_unknown(tmp_path, two):
    body = 'system = "s"\n[regression]\nbaseline = "b"\nsuccess = 0.1\n'
    found = json.loads(gate(tmp_path, body, two).output)
    estimate = found["findings"][0]["estimate"]
    assert estimate["n_tasks"] == 40 and "Between 0 and 0.25." in estimate["notes"]
    assert any(limit.startswith("To decide on the system") for limit in found["limits"])


def test_a_part_that_people_chose_is_no_stratum_of_a_gate_and_no_candidate(tmp_path, one):
    rule = '[[rule]]\nmeasure = "success"\nat_least = 0.8\n'
    named = gate(tmp_path, f'system = "{JOINT}"\n{rule}', one).exception
    assert isinstance(named, UsageError) and "cannot be judged" in str(named)
    every = table(tmp_path / "every.csv", [{**row, **ACTED} for row in rows()])
    assert "cannot be judged" in str(gate(tmp_path, rule, every).exception)
    helped = [{**row, **CALM} for row in rows()]
    stratum = gate(tmp_path, rule + 'strata = ["help: none"]\n', table(tmp_path / "h.csv", helped)).exception
    assert isinstance(stratum, UsageError) and "no stratum" in str(stratum)


def test_a_real_run_with_a_person_who_edits_and_takes_over(tmp_path):
    folder = run_with_people(tmp_path)
    rate = data("estimate", "rate", folder)
    counts = {
        one["system"]: (one["denominators"]["events"], one["denominators"]["valid"]) for one in rate["lines"]
    }
    assert counts == {"leaning": (2, 2), "alone": (3, 4), "leaning (human-machine)": (2, 2)}
    compared = line(data("compare", folder), "leaning − alone", "difference in safe_success")
    assert (compared["estimate"]["n_tasks"], compared["facts"]["wins"]) == (2, 0)
    done = gate(tmp_path, 'system = "leaning"\n[[rule]]\nmeasure = "success"\nat_least = 0.3\n', folder)
    found = json.loads(done.output)
    # Of four trials pooled the interval would begin at 0.51, of its own two at 0.34.
    assert (found["gate"], found["findings"][0]["estimate"]["n_trials"]) == ("insufficient evidence", 4)


def test_a_takeover_counts_for_nobody_where_only_the_tier_says_it(tmp_path):
    path = table(tmp_path / "t.csv", [{**row, "human_machine": None} for row in rows()])
    rate = data("estimate", "rate", path)
    assert [found["denominators"]["valid"] for found in rate["lines"]] == [30, 10]
