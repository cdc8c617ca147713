"""`seatrial compare`: what two systems are compared on, and what is refused."""

import msgspec
import pytest

from seatrial.errors import JournalError, SpecError, UsageError
from seatrial.estimate.multiplicity import ADJUSTED_AWAY
from seatrial.importers.load import load_records
from seatrial.journal.run import TaskFrozen, TrialPlanned
from seatrial.report.comparisons import compare_systems
from seatrial.report.tables import cells
from tests.cli.tables import data, line, run, table, text, trials
from tests.measure.trials import WITHOUT_REPAIR, verdicts
from tests.report.runs import RunMaker, all_pass

TASKS = [f"f{n % 2}/{n:02d}" for n in range(20)]
DIFFERENCE = "difference in strict_success"


def better(path, **more):
    """A wins every task by one of two trials."""
    rows = trials("a", {task: [True, True] for task in TASKS}, **more)
    return table(path, rows + trials("b", {task: [True, n % 4 == 0] for n, task in enumerate(TASKS)}, **more))


def refused(kind, *arguments):
    fault = run(*arguments).exception
    assert isinstance(fault, kind), fault
    return str(fault)


def own(folder, system, seed=7, **manifest):
    """A run of our own with one system, three tasks and one trial each."""
    plan = [
        TrialPlanned(
            trial=f"{system}-{n}", task=f"ledger/{n}", system=system, arm="baseline", seed=seed + n, repeat=0
        )
        for n in range(3)
    ]
    made = RunMaker(folder, plan, **manifest)
    for n, planned in enumerate(plan):
        made.trial(planned, all_pass() if n else verdicts(WITHOUT_REPAIR))
    return made


def test_two_systems_told_apart(tmp_path):
    found = data("compare", better(tmp_path / "t.csv"))
    one = line(found, "a − b", DIFFERENCE)
    assert one["estimate"]["value"] == pytest.approx(0.375)
    assert one["facts"]["words"] == "can be told apart: a higher"
    assert (one["facts"]["wins"], one["facts"]["losses"], one["facts"]["ties"]) == (15, 0, 5)
    assert one["facts"]["mcnemar"] is None and one["estimate"]["unit"] == "tasks, paired"
    assert found["settings"]["words"] == "can be told apart: a higher"
    assert one["facts"]["tasks"]["f0/00"] == [1.0, 1.0] and one["facts"]["tasks"]["f1/01"] == [1.0, 0.5]
    swapped = data("compare", tmp_path / "t.csv", "--a", "b", "--b", "a")
    assert line(swapped, "b − a", DIFFERENCE)["facts"]["words"] == "can be told apart: a higher"


def test_strata_and_further_measures_are_exploratory_and_adjusted(tmp_path):
    path = better(
        tmp_path / "t.csv", family=lambda task, _: task[:2], actions=lambda task, n: int(task[-1]) + n
    )
    found = data("compare", path, "--measure", "success", "--measure", "actions")
    strata = [entry for entry in found["lines"] if entry["quantity"].startswith(f"{DIFFERENCE}, f")]
    assert len(strata) == 2 and all("exploratory" in entry["facts"]["role"] for entry in strata)
    assert all(entry["facts"]["p_adjusted"] >= (entry["facts"]["p"] or 0) for entry in strata)
    # How systems worked is compared where both succeeded only.
    process = line(found, "a − b", "difference in actions, where both succeeded")
    assert process["estimate"]["n_tasks"] == 20


def test_all_alike_is_not_told_apart(tmp_path):
    rows = trials("a", {task: [True] for task in TASKS}) + trials("b", {task: [True] for task in TASKS})
    words = text("compare", table(tmp_path / "t.csv", rows))
    assert "cannot be told apart yet" in words and "p = 1" in words


def test_time_and_depth(tmp_path):
    path = better(
        tmp_path / "t.csv", elapsed_us=lambda task, n: int(task[-2:]) * 10**6 + 10**6 * (n + 1),
        dependency_depth=lambda task, _: 1 + int(task[-2:]) // 5, censored=False,
    )  # fmt: skip
    found = data("compare", path, "--axis", "elapsed_seconds", "--depth", "dependency_depth", "--draws", 50)
    time = next(
        entry for entry in found["lines"] if "mean elapsed_seconds until any end" in entry["quantity"]
    )
    assert (
        time["estimate"]["value"] == pytest.approx(0) and time["facts"]["log_rank"][0]["p_tasks"] is not None
    )
    against = line(found, "a − b", "difference in strict_success against dependency_depth")
    assert against["facts"]["finding"] in ("uniform gain", "shifted break", "cannot be told apart")
    assert against["estimate"]["value"] == pytest.approx(0.375)


def test_unknown_ends_of_both_are_read_every_way(tmp_path):
    seconds = {"elapsed_us": lambda _, n: (10 + 30 * n) * 10**6}
    rows = [
        row if row["strict_success"] is None else {**row, "censored": False}
        for system in "ab" for row in trials(system, {t: [None, True] for t in TASKS}, **seconds)
    ]  # fmt: skip
    found = data("compare", table(tmp_path / "t.csv", rows), "--axis", "elapsed_seconds", "--draws", 50)
    time = next(entry for entry in found["lines"] if "until any end" in entry["quantity"])
    # Either's first trials may have ended at 10 s, or gone on.
    assert time["estimate"]["value"] is None and "between -15 and 15." in time["estimate"]["notes"][-1]
    assert len(time["facts"]["log_rank"]) == 9


def test_equal_budgets(tmp_path):
    seconds = {"a": 30, "b": 5}
    rows = []
    for system, spent in seconds.items():
        rows += trials(system, {t: [True, False] for t in TASKS}, elapsed_us=spent * 10**6, censored=False)
    for row in rows[:4]:
        row["censored"] = True  # two failures among them, cut off at 30 s
    path = table(tmp_path / "t.csv", rows)
    found = data("compare", path, "--within", "elapsed_seconds=10", "--within", "elapsed_seconds=60")
    early = line(found, "a − b", f"{DIFFERENCE} within 10 elapsed_seconds")
    assert early["estimate"]["value"] == pytest.approx(-0.5)
    late = line(found, "a − b", f"{DIFFERENCE} within 60 elapsed_seconds")
    assert late["estimate"]["value"] is None and "2 unknown outcomes" in " ".join(late["estimate"]["notes"])
    assert "names no budget" in refused(UsageError, "compare", path, "--within", "elapsed_seconds")


def test_a_declared_comparison_is_called_so(tmp_path):
    one, two = own(tmp_path / "r", "careful"), own(tmp_path / "s", "hasty", experiment_id="f" * 64)
    assert "exploratory: not declared before the results" in text("compare", one.folder, two.folder)
    manifest = one.run.manifest()
    manifest.experiment["primary"] = {
        "measure": "safe_success",
        "compare": ["careful", "hasty"],
        "alpha": 0.01,
    }
    rewrite(one, manifest)
    said = text("compare", one.folder, two.folder)
    assert "declared before the results, at a level of 0.01" in said and "99 % interval" in said
    assert "exploratory: not declared" not in said


def test_three_declared_systems_are_adjusted_together_as_in_the_report(tmp_path):
    names = ["careful", "hasty", "lazy"]
    plan = [
        TrialPlanned(trial=f"{name}-{n}", task=f"ledger/{n}", system=name, arm="baseline", seed=n, repeat=0)
        for name in names
        for n in range(6)
    ]
    made = RunMaker(tmp_path / "r", plan)
    for planned in plan:
        made.trial(planned, all_pass() if planned.system == "careful" else verdicts(WITHOUT_REPAIR))
    manifest = made.run.manifest()
    manifest.experiment["primary"] = {"measure": "strict_success", "compare": names, "alpha": 0.05}
    rewrite(made, manifest)
    found = data("compare", made.folder, "--a", "careful", "--b", "hasty", "--measure", "strict_success")
    facts = line(found, "careful − hasty", "difference in strict_success")["facts"]
    assert facts["p"] == pytest.approx(2 / 2**6) and facts["p_adjusted"] == pytest.approx(3 * 2 / 2**6)
    assert facts["verdict"] == found["settings"]["verdict"] == "cannot be told apart yet"
    assert "adjusted among 3 declared pairs (Holm)" in facts["role"]
    groups = cells(load_records(made.folder).records, load_records(made.folder).every)
    (same,) = [
        one
        for one in compare_systems(groups, manifest.experiment)
        if one.role == "primary" and (one.a, one.b) == ("careful", "hasty")
    ]
    assert (same.p_adjusted, same.verdict) == (pytest.approx(facts["p_adjusted"]), facts["verdict"])
    assert same.estimate.notes[-1] == ADJUSTED_AWAY and ADJUSTED_AWAY in text(
        "compare", made.folder, "--a", "careful", "--b", "hasty", "--measure", "strict_success"
    )


def test_a_declared_comparison_is_of_the_baseline_and_other_arms_are_explored(tmp_path):
    arms, names = ["baseline", "perturbed:x"], ["careful", "hasty"]
    plan = [
        TrialPlanned(trial=f"{name}-{n}-{arm[0]}", task=f"ledger/{n}", system=name, arm=arm, seed=n, repeat=0)
        for arm in arms
        for name in names
        for n in range(6)
    ]
    made = RunMaker(tmp_path / "r", plan)
    for planned in plan:
        made.trial(planned, all_pass() if planned.system == "careful" else verdicts(WITHOUT_REPAIR))
    manifest = made.run.manifest()
    manifest.experiment["primary"] = {"measure": "strict_success", "compare": names, "alpha": 0.05}
    rewrite(made, manifest)

    def role(arm):
        pair = [f"{name}{arm}" for name in names]
        found = data("compare", made.folder, "--a", pair[0], "--b", pair[1], "--measure", "strict_success")
        return line(found, f"{pair[0]} − {pair[1]}", "difference in strict_success")["facts"]["role"]

    assert role("") == "declared before the results, at a level of 0.05"
    assert role(", perturbed:x") == "exploratory: not declared before the results"


def test_two_runs_of_one_system_are_named_by_run(tmp_path):
    one = own(tmp_path / "before", "careful")
    two = own(tmp_path / "after", "careful", experiment_id="f" * 64)
    found = data("compare", one.folder, two.folder)
    names = ("careful (before)", "careful (after)")
    difference = line(found, f"{names[0]} − {names[1]}", "difference in safe_success")
    assert difference["facts"]["words"] == "cannot be told apart yet"
    assert len(found["experiments"]) == 2 and found["mixed"] == []


def test_other_seeds_are_no_pairs(tmp_path):
    one, two = own(tmp_path / "r", "careful"), own(tmp_path / "s", "hasty", seed=100, experiment_id="f" * 64)
    said = refused(SpecError, "compare", one.folder, two.folder)
    assert "3 tasks were run with other seeds: ledger/0" in said and "--allow-mixed" in said
    assert data("compare", one.folder, two.folder, "--allow-mixed")["mixed"][0].startswith("3 tasks")


def test_another_environment_or_goal_is_no_pair(tmp_path):
    one, two = own(tmp_path / "r", "careful"), own(tmp_path / "s", "hasty", experiment_id="f" * 64)
    manifest = two.run.manifest()
    first = manifest.tasks[0]
    manifest.tasks[0] = TaskFrozen(id=first.id, digest="e" * 64, spec=first.spec, files={})
    rewrite(two, manifest)
    said = refused(SpecError, "compare", one.folder, two.folder)
    assert "1 tasks differ in environment, goal, verifiers or budget: ledger/0" in said


def test_another_protocol_is_no_pair(tmp_path):
    one, two = own(tmp_path / "r", "careful"), own(tmp_path / "s", "hasty", experiment_id="f" * 64)
    manifest = two.run.manifest()
    manifest.experiment["stop"] = "first_success"
    rewrite(two, manifest)
    assert 'Protocols differ in stop: "agent" and "first_success"' in refused(
        SpecError, "compare", one.folder, two.folder
    )


def rewrite(made, manifest):
    (made.folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))


def test_versions_are_no_pair(tmp_path):
    rows = trials("a", {"t": [True], "u": [False]}, task_version="1")
    rows += trials("b", {"t": [True], "u": [False]}, task_version="2")
    assert "2 tasks in several versions" in refused(SpecError, "compare", table(tmp_path / "t.csv", rows))


def test_a_third_system_of_another_version_does_not_matter(tmp_path):
    rows = trials("a", {"t": [True], "u": [False]}, task_version="1")
    rows += trials("b", {"t": [True], "u": [True]}, task_version="1")
    rows += trials("c", {"t": [True], "u": [False]}, task_version="2")
    found = data("compare", table(tmp_path / "t.csv", rows), "--a", "a", "--b", "b")
    assert found["mixed"] == []


def test_which_two(tmp_path):
    rows = [row for name in "abc" for row in trials(name, {"t": [True], "u": [False]})]
    path = table(tmp_path / "t.csv", rows)
    assert 'holds 3 systems ("a", "b", "c")' in refused(UsageError, "compare", path)
    assert "holds 3 systems" in refused(UsageError, "compare", path, "--a", "a")
    assert 'Name a system: "a", "b", "c".' in refused(UsageError, "compare", path, "--a", "a", "--b", "zzz")
    assert "with itself" in refused(UsageError, "compare", path, "--a", "a", "--b", "a")


def with_arms(path):
    """A run of two systems with two arms each, of which only the baseline tells them apart."""
    rows = []
    for system, odd in (("a", True), ("b", False)):
        for arm in ("baseline", "perturbed:x"):
            won = {task: [n % 2 == 0 or (odd and arm == "baseline")] for n, task in enumerate(TASKS)}
            rows += [{**row, "arm": arm, "trial": f"{arm}/{row['trial']}"} for row in trials(system, won)]
    return table(path, rows)


def test_a_system_by_itself_is_its_baseline_arm_and_says_so(tmp_path):
    path = with_arms(tmp_path / "t.csv")
    found = data("compare", path, "--a", "a", "--b", "b")
    assert line(found, "a − b", DIFFERENCE)["estimate"]["value"] == pytest.approx(0.5)
    told = "is its arm baseline. Others are named with theirs, such as"
    assert found["limits"][:2] == [f'{name} {told} "{name}, perturbed:x".' for name in "ab"]
    assert data("compare", path, "--a", "a, baseline", "--b", "b, baseline")["lines"] == found["lines"]


def test_another_arm_is_named_behind_its_system(tmp_path):
    path = with_arms(tmp_path / "t.csv")
    found = data("compare", path, "--a", "a, perturbed:x", "--b", "b, perturbed:x")
    assert line(found, "a, perturbed:x − b, perturbed:x", DIFFERENCE)["estimate"]["value"] == 0
    assert "Different arms" in refused(SpecError, "compare", path, "--a", "a", "--b", "a, perturbed:x")
    said = refused(UsageError, "compare", path, "--a", "a", "--b", "zzzzzzzz")
    assert said.endswith('Name a system: "a", "a, perturbed:x", "b", "b, perturbed:x".')
    assert refused(UsageError, "compare", path, "--a", "a", "--b", "b, perturbd:x").endswith(
        'Did you mean "b, perturbed:x"?'
    )
    assert "holds 4 systems and arms" in refused(UsageError, "compare", path)


def test_other_tasks(tmp_path):
    rows = trials("a", {"t": [True], "u": [False]}) + trials("b", {"t": [True], "v": [False]})
    path = table(tmp_path / "t.csv", rows)
    assert "2 tasks have trials of one system only, first u" in refused(SpecError, "compare", path)
    found = data("compare", path, "--common-tasks")
    assert line(found, "a − b", DIFFERENCE)["estimate"]["n_tasks"] == 1
    rows = trials("a", {"t": [True]}) + trials("b", {"v": [False]})
    assert "no task has trials of both" in refused(SpecError, "compare", table(tmp_path / "u.csv", rows))


def test_one_task_says_nothing_of_others(tmp_path):
    path = table(tmp_path / "t.csv", trials("a", {"t": [True, True]}) + trials("b", {"t": [False, False]}))
    one = line(data("compare", path), "a − b", DIFFERENCE)
    assert one["facts"]["p"] is None and one["estimate"]["low"] is None
    assert "nothing could be tested" in one["told"][0] and "One task" in " ".join(one["estimate"]["notes"])


def test_one_table_twice(tmp_path):
    path = better(tmp_path / "t.csv")
    assert "more than once" in refused(JournalError, "compare", path, path)


def test_an_unknown_axis(tmp_path):
    path = better(tmp_path / "t.csv")
    assert "unknown in every row" in refused(UsageError, "compare", path, "--axis", "elapsed_seconds")
    assert "unknown in every row" in refused(UsageError, "compare", path, "--cost", "money")


def test_a_drawing_shows_the_differences(tmp_path):
    path = better(tmp_path / "t.csv", family=lambda task, _: task[:2])
    text("compare", path, "--plot", tmp_path / "d.svg")
    made = (tmp_path / "d.svg").read_text()
    assert "strict_success, f0" in made and "a − b" in made


def test_a_scatter_shows_each_task_and_marks_ties(tmp_path):
    path = better(tmp_path / "t.csv")
    text("compare", path, "--plot", tmp_path / "s.svg", "--scatter")
    made = (tmp_path / "s.svg").read_text()
    # Of 20 tasks 5 are ties at (1, 1) and 15 are won at (0.5, 1): two places, each with its number of tasks.
    for words in ("tie", "a higher", "a: strict_success by task", "b: strict_success by task", ">5<", ">15<"):
        assert words in made
    assert "b higher" not in made
    assert "--plot" in refused(UsageError, "compare", path, "--scatter")


def test_a_declared_range_lets_an_unknown_score_stop_no_comparison(tmp_path):
    rows = trials(
        "a", {f"t{n}": [True] for n in range(12)}, score=lambda task, _: 0.9 if task != "t0" else None
    )
    rows += trials("b", {f"t{n}": [True] for n in range(12)}, score=lambda task, _: 0.1 + int(task[1:]) / 100)
    path = table(tmp_path / "t.csv", rows)
    asked = ("compare", path, "--measure", "score")
    open_ = line(data(*asked), "a − b", "difference in score")["estimate"]
    assert (open_["value"], open_["low"]) == (None, None) and "how large they can be" in open_["notes"][0]
    bounded = line(data(*asked, "--score-bounds", "0:1"), "a − b", "difference in score")
    known = sum(0.8 - n / 100 for n in range(1, 12))
    assert f"Between {(known - 0.1) / 12:.3g} and {(known + 0.9) / 12:.3g}." in bounded["estimate"]["notes"]
    assert bounded["estimate"]["low"] > 0 and bounded["facts"]["words"] == "can be told apart: a higher"
    assert "outside --score-bounds" in refused(UsageError, *asked, "--score-bounds", "0:0.5")
    for bad in ("1:0", "0:inf", "0,1"):
        assert "LOW:HIGH" in refused(UsageError, *asked, "--score-bounds", bad)


def test_repeated_attempts_are_paid_for(tmp_path):
    """A trial that was tried twice costs both attempts, in the frontier as in the cost per success."""
    rows = trials("a", {"t": [True], "u": [True]}, money=1.0) + trials(
        "b", {"t": [True], "u": [True]}, money=2.0
    )
    lost = {**rows[0], "terminal_class": "infrastructure", "strict_success": None, "money": 4.0}
    rows[0]["attempt"] = 2
    path = table(tmp_path / "t.csv", [lost, *rows])
    found = data("compare", path)
    assert line(found, "a", "money per valid trial")["estimate"]["value"] == pytest.approx(3.0)
    per = line(data("estimate", "cost", path), "a", "money per success")
    assert per["estimate"]["value"] == pytest.approx(3.0)


def test_money_that_nobody_priced_makes_no_frontier(tmp_path):
    outcomes = {f"t{n}": [n % 2 == 0] for n in range(4)}
    rows = trials("a", outcomes, money=0.0) + trials("b", outcomes, money=0.0)
    path = table(tmp_path / "free.csv", rows)
    assert not [one for one in data("compare", path)["lines"] if "money" in one["quantity"]]
    asked = data("compare", path, "--cost", "money")
    assert line(asked, "a", "money per valid trial")["estimate"]["value"] == 0
    assert "nothing was priced" in text("estimate", "pareto", path)
    assert "nothing was priced" in text("estimate", "cost", path)
    priced = table(tmp_path / "paid.csv", [{**row, "currency": "EUR"} for row in rows])
    assert line(data("compare", priced), "a", "money per valid trial")["counts"] == "EUR"
