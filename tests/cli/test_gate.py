"""`seatrial gate`: pass, fail, insufficient evidence, and rules that are wrong."""

import json

import pytest

from seatrial.errors import SpecError, UsageError
from tests.cli.tables import data, line, run, table, trials

TASKS = {f"f{n % 2}/{n:03d}": [True, n % 10 != 0] for n in range(100)}


@pytest.fixture
def records(tmp_path):
    more = {
        "family": lambda task, _: task[:2],
        "money": 1.0,
        "elapsed_us": lambda task, _: 10**6 * int(task[-2:]),
        "hard_violations": 0,
    }
    rows = trials("new", TASKS, **more)
    worse = {task: [result[0], False] for task, result in TASKS.items()}
    return table(tmp_path / "t.csv", rows + trials("old", worse, **more))


def rules(tmp_path, body, head='schema = "seatrial/gate@1"\nsystem = "new"\n'):
    path = tmp_path / "rules.toml"
    path.write_text(head + body)
    return path


def rule(measure, limit, more=""):
    return f'[[rule]]\nmeasure = "{measure}"\n{limit}\n{more}\n'


def judged(path, records, status):
    done = run("gate", path, records, "--json")
    assert done.exit_code == status, done.exception
    return json.loads(done.output)


def test_a_system_passes_on_the_low_end_of_its_interval(tmp_path, records):
    body = rule("success", "at_least = 0.85") + rule("infrastructure", "at_most = 0.05")
    found = judged(rules(tmp_path, body), records, 0)
    assert found["gate"] == "pass" and [one["verdict"] for one in found["findings"]] == ["pass", "pass"]
    assert found["findings"][0]["estimate"]["low"] >= 0.85
    assert "No row says whether constraints were kept: success is strict_success." in found["limits"]


def test_a_rate_above_the_limit_is_not_enough(tmp_path, records):
    found = judged(rules(tmp_path, rule("success", "at_least = 0.94")), records, 1)
    (one,) = found["findings"]
    assert found["gate"] == one["verdict"] == "insufficient evidence"
    assert one["estimate"]["value"] > 0.94 > one["estimate"]["low"] and one["more_trials"] > 0
    done = run("gate", rules(tmp_path, rule("success", "at_least = 0.94")), records)
    assert (
        done.exit_code == 1 and "new: insufficient evidence" in done.output and "leaves open" in done.output
    )


def test_a_failure_is_told_from_lacking_evidence(tmp_path, records):
    body = rule("success", "at_least = 0.99") + rule("success", "at_least = 0.5")
    found = judged(rules(tmp_path, body), records, 1)
    assert found["gate"] == "fail" and [one["verdict"] for one in found["findings"]] == ["fail", "pass"]
    assert "new: fail" in run("gate", rules(tmp_path, body), records).output


def test_every_stratum_is_judged_by_itself(tmp_path, records):
    found = judged(
        rules(tmp_path, rule("success", "at_least = 0.8", 'strata = ["all", "f0", "f1"]')), records, 0
    )
    assert [one["stratum"] for one in found["findings"]] == ["all", "f0", "f1"]
    assert found["findings"][1]["estimate"]["n_tasks"] == 50


def test_costs_and_tails(tmp_path, records):
    body = rule("money_per_success", "at_most = 1.2") + rule(
        "elapsed_seconds_p95", "at_most = 99", "cap = 300"
    )
    found = judged(rules(tmp_path, body), records, 1)
    unit, tail = found["findings"]
    assert unit["verdict"] == "pass" and unit["estimate"]["value"] == pytest.approx(200 / 190)
    assert tail["verdict"] != "pass" and tail["rule"]["measure"] == "elapsed_seconds_p95 capped at 300"


def test_a_cost_is_judged_by_the_outer_ends_of_both_intervals(tmp_path, records):
    (found,) = judged(rules(tmp_path, rule("money_per_success", "at_most = 1.2")), records, 0)["findings"]
    facts = line(data("estimate", "cost", records, "--system", "new"), "new", "money per success")["facts"]
    ends = zip(facts["fieller"], facts["bootstrap"], strict=True)
    least, most = (choose(pair) for choose, pair in zip((min, max), ends, strict=True))
    assert facts["fieller"] != facts["bootstrap"]
    assert (found["estimate"]["low"], found["estimate"]["high"]) == pytest.approx((least, most), rel=1e-3)


def test_a_tail_that_so_few_tasks_cannot_know_passes_nothing(tmp_path, records):
    body = rule("elapsed_seconds_p90", "at_most = 1000") + rule("elapsed_seconds_p99", "at_most = 1000")
    known, beyond = judged(rules(tmp_path, body), records, 1)["findings"]
    assert known["verdict"] == "pass"
    assert beyond["verdict"] == "insufficient evidence" and beyond["estimate"]["high"] is None
    assert (
        "No high end: 100 tasks, and 368 at least would bound it from above." in beyond["estimate"]["notes"]
    )


def test_a_candidate_against_its_baseline(tmp_path, records):
    body = '[regression]\nbaseline = "old"\nsuccess = 0.02\nviolations = 0.1\nunit_cost = 0.1\n'
    found = judged(rules(tmp_path, body), records, 0)
    measures = {one["rule"]["measure"]: one for one in found["findings"]}
    assert set(measures) == {"change in success", "change in violations", "change in unit_cost"}
    assert measures["change in success"]["estimate"]["value"] == pytest.approx(0.45)
    back = rules(tmp_path, body.replace("old", "new"), 'schema = "seatrial/gate@1"\nsystem = "old"\n')
    assert judged(back, records, 1)["gate"] == "fail"


def test_a_spotless_system_passes_a_limit_on_counts(tmp_path, records):
    body = rule("hard_violations", "at_most = 0.5") + rule("hard_violations", "at_most = 0.01")
    found = judged(rules(tmp_path, body), records, 1)
    wide, narrow = found["findings"]
    assert wide["verdict"] == "pass" and 0 < wide["estimate"]["high"] < 0.5
    assert narrow["verdict"] == "insufficient evidence" and narrow["more_trials"] > 0
    assert any("hard_violations is 0 in all 200 trials" in note for note in wide["estimate"]["notes"])
    said = run("gate", rules(tmp_path, body), records).output
    assert "note: hard_violations: hard_violations is 0 in all 200 trials" in said
    never = judged(rules(tmp_path, rule("hard_violations", "at_most = 0")), records, 1)["findings"][0]
    assert never["verdict"] == "insufficient evidence" and "no number of trials" in never["reason"]


def test_an_unknown_count_is_no_zero(tmp_path):
    rows = trials("new", TASKS, hard_violations=lambda task, number: None if number else 0)
    found = judged(
        rules(tmp_path, rule("hard_violations", "at_most = 0.5")), table(tmp_path / "u.csv", rows), 1
    )
    assert found["findings"][0]["estimate"]["high"] is None


def test_what_nobody_watched_passes_nothing(tmp_path):
    path = table(tmp_path / "t.csv", trials("new", TASKS))
    found = judged(rules(tmp_path, rule("any_hard_violation", "at_most = 0.01")), path, 1)
    assert found["gate"] == "insufficient evidence"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "there is no rule"),
        ('[[rule]]\nmeasure = "success"\n', 'rule[0]: "success" has 0 limits'),
        (rule("success", "at_least = 0.5\nat_most = 0.6"), "has 2 limits"),
        (rule("success", "at_least = 0.5", "strata = []"), "rule[0].strata"),
        (rule("success", "at_least = 0.5", "cap = 5"), "rule[0].cap"),
        (rule("success", "atleast = 0.5"), "unknown key"),
        (rule("success", "at_least = nan"), "no usable number"),
        ("level = 2\n" + rule("success", "at_least = 0.5"), "level"),
        ("[regression]\n", "no margin is given"),
        ("[regression]\nsuccess = -1\n", "regression.success"),
        ("[regression]\nviolations = 2\n", "such as 0.02 for 2 %"),
        (rule("infrastructure", "at_most = 2"), "such as 0.02 for 2 %"),
        (rule("success", "at_least = 80"), "such as 0.8 for 80 %"),
        (rule("any_hard_violation", "at_most = -0.1"), "rule[0].at_most"),
        (rule("call_success_rate", "at_least = 95"), "such as 0.95 for 95 %"),
        (rule("money", "at_most = -1"), "at least 0"),
        (rule("money_per_success", "at_most = -1"), "at least 0"),
    ],
)
def test_bad_rules(tmp_path, records, body, said):
    fault = run("gate", rules(tmp_path, body), records).exception
    assert isinstance(fault, SpecError) and said in str(fault) and "rules.toml" in str(fault)


def test_a_rules_file_says_what_it_is(tmp_path, records):
    fault = run("gate", rules(tmp_path, rule("success", "at_least = 0.5"), ""), records).exception
    assert isinstance(fault, SpecError) and "seatrial/gate@1" in str(fault)


def test_what_is_not_in_the_records(tmp_path, records):
    def said(body, head='schema = "seatrial/gate@1"\nsystem = "new"\n'):
        fault = run("gate", rules(tmp_path, body, head), records).exception
        assert isinstance(fault, UsageError), fault
        return str(fault)

    assert "no stratum" in said(rule("success", "at_least = 0.5", 'strata = ["zzzz"]'))
    assert "there is no measure" in said(rule("zzzz", "at_least = 0.5"))
    assert "unknown in every row" in said(rule("output_tokens_per_success", "at_most = 1"))
    named = 'schema = "seatrial/gate@1"\n'
    assert "Name one as system in the rules" in said(rule("success", "at_least = 0.5"), named)
    assert "there is no system" in said(rule("success", "at_least = 0.5"), named + 'system = "zzzz"\n')


def test_a_run_with_arms_is_judged_by_its_baseline_or_the_arm_that_is_named(tmp_path):
    rows = []
    for arm, won in (("baseline", True), ("perturbed:x", False)):
        made = trials("new", {f"t{n}": [won] for n in range(60)}) + trials(
            "old", {f"t{n}": [True] for n in range(60)}
        )
        rows += [{**row, "arm": arm, "trial": f"{arm}/{row['trial']}"} for row in made]
    path = table(tmp_path / "arms.csv", rows)

    def of(system, status, more=""):
        head = f'schema = "seatrial/gate@1"\nsystem = "{system}"\n'
        return judged(rules(tmp_path, rule("success", "at_least = 0.9") + more, head), path, status)

    found = of("new", 0)
    assert found["findings"][0]["estimate"]["n_trials"] == 60
    assert (
        'new is its arm baseline. Others are named with theirs, such as "new, perturbed:x".'
        in found["limits"]
    )
    assert of("new, baseline", 0)["findings"] == found["findings"]
    assert of("new, perturbed:x", 1)["gate"] == "fail"
    against = '[regression]\nbaseline = "old, perturbed:x"\nsuccess = 0.1\n'
    worse = of("new, perturbed:x", 1, against)
    assert worse["findings"][1]["verdict"] == "fail" and worse["system"] == "new, perturbed:x"
    named = rules(tmp_path, rule("success", "at_least = 0.9"), 'schema = "seatrial/gate@1"\n')
    assert 'holds "new", "old", "new, perturbed:x", "old, perturbed:x". Name one' in str(
        run("gate", named, path).exception
    )


def test_a_quantile_says_how_many_trials_leave_it_unknown(tmp_path):
    times = {"elapsed_us": lambda task, _: None if task in ("t1", "t2") else 10**6}
    outcomes = {f"t{n}": [None if n == 3 else True] for n in range(40)}
    path = table(tmp_path / "holes.csv", trials("new", outcomes, **times))
    body = rule("elapsed_seconds_p95", "at_most = 9") + rule("elapsed_seconds_p95", "at_most = 9", "cap = 90")
    plain, capped = judged(rules(tmp_path, body), path, 1)["findings"]
    time = "No quantile: elapsed_seconds is unknown in 2 of 40 valid trials"
    assert plain["reason"].endswith(f"{time}.")
    assert capped["reason"].endswith(f"{time}, and the outcome is unknown in 1 of 40 valid trials.")
    assert (plain["estimate"]["n_tasks"], plain["estimate"]["n_trials"]) == (40, 40)


def test_what_nobody_says_of_people_is_told_once_for_each_system(tmp_path, records):
    body = rule("success", "at_least = 0.8") + '[regression]\nbaseline = "old"\nsuccess = 0.02\n'
    told = [limit for limit in judged(rules(tmp_path, body), records, 0)["limits"] if "nobody says" in limit]
    assert [limit.split(" nobody")[0] for limit in told] == [
        f"Of 200 valid trials of {name}" for name in ("new", "old")
    ]


def test_one_task_passes_nothing_however_many_trials(tmp_path):
    path = table(tmp_path / "one.csv", trials("new", {"t": [True] * 200}))
    (one,) = judged(rules(tmp_path, rule("success", "at_least = 0.9")), path, 1)["findings"]
    assert one["estimate"]["low"] > 0.9 and one["verdict"] == "insufficient evidence"
    assert one["more_trials"] is None and "one task says nothing of others" in one["reason"]


def test_two_clean_systems_leave_a_margin_of_zero_open_and_it_says_why(tmp_path):
    same = {f"t{n}": [True] for n in range(150)}
    rows = [row for name in ("new", "old") for row in trials(name, same, hard_violations=0)]
    path = table(tmp_path / "clean.csv", rows)
    body = '[regression]\nbaseline = "old"\nviolations = {}\n'
    (zero,) = judged(rules(tmp_path, body.format("0.0")), path, 1)["findings"]
    assert zero["more_trials"] is None and "allow a margin" in zero["reason"]
    (some,) = judged(rules(tmp_path, body.format("0.05")), path, 0)["findings"]
    assert some["verdict"] == "pass"


def test_a_mean_is_judged_within_what_it_can_be(tmp_path):
    path = table(
        tmp_path / "t.csv",
        trials("new", {"t1": [True], "t2": [True]}, money=lambda task, _: 5.0 * (task == "t1") + 0.1),
    )
    (one,) = judged(rules(tmp_path, rule("money", "at_most = 2")), path, 1)["findings"]
    assert one["estimate"]["low"] == 0
