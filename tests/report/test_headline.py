"""The headline: both rates, strata, scope, who can be told apart, repeats that say nothing (G1, F1, F3)."""

import json

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from seatrial.cli.show.show import show
from seatrial.journal.run import TrialPlanned
from seatrial.report.build import build_report
from seatrial.report.comparisons import compare_systems
from seatrial.report.headline import headline
from seatrial.report.repeats import idle_repeats
from seatrial.report.show import run_overview
from seatrial.report.tables import cells
from tests.measure.trials import verdicts
from tests.report.runs import RunMaker, all_pass, cell
from tests.report.test_comparisons import PRIMARY, trials

DEEP, SHALLOW = "group: short and deep", "group: long and shallow"


def grouped(system, deep, shallow):
    """Ten deep tasks and ten shallow ones, with that many solved, twice each."""
    found = trials(system, deep, horizon_group="short and deep")
    for record in trials(system, shallow, horizon_group="long and shallow"):
        record.task, record.trial = f"repair/s{record.task[7:]}", f"{record.trial}-s"
        found.append(record)
    return found


def made(records, **experiment):
    groups = cells(records, records)
    return headline(groups, compare_systems(groups, {"seed": 1, **experiment}), {})


def test_strict_and_safe_stand_side_by_side_with_interval_and_denominators():
    records = trials("careful", 9)
    for record in records[:4]:
        record.safe_success = False
    records[-1].terminal_class = "infrastructure"
    records[-2].safe_success = None
    (row,) = made(records).rows
    assert (row.tasks, row.trials, row.valid, row.infrastructure, row.attempts) == (10, 20, 19, 1, 20)
    assert (row.strict.events, row.strict.unknown, row.safe.events, row.safe.unknown) == (18, 0, 14, 1)
    assert row.strict.estimate.unit == "tasks" and row.strict.estimate.low < 0.9 < row.strict.estimate.high
    assert row.safe.estimate.value is None, "bounded both ways, never guessed"


def test_horizon_groups_are_strata_and_are_compared_as_exploration():
    found = made(grouped("careful", 9, 9) + grouped("hasty", 1, 9), primary=PRIMARY)
    assert [row.stratum for row in found.rows] == ["all"] * 2 + [SHALLOW] * 2 + [DEEP] * 2
    assert [t.told_apart for t in found.primary] == [True]
    by_stratum = {(t.stratum, t.measure): t for t in found.exploratory}
    assert by_stratum[DEEP, "safe_success"].words == "can be told apart: careful higher"
    assert by_stratum[SHALLOW, "safe_success"].words == "cannot be told apart yet"
    assert {t.among for t in found.exploratory} == {3}
    assert found.scope.endswith("Instances of one generator estimate that generator only.")


def test_one_group_is_no_stratum():
    records = trials("careful", 9, horizon_group="short and deep")
    assert [row.stratum for row in made(records).rows] == ["all"]


def planned(seed_of):
    return [
        TrialPlanned(trial=f"{t}-{r}", task=f"repair/{t}", system="careful", arm="baseline",
                     seed=seed_of(t, r), repeat=r)
        for t in range(10)
        for r in range(2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "seed_of", "alike", "said"),
    [
        ("scripted", lambda t, r: r, True, "is scripted"),
        ("python", lambda t, r: t, True, "has one seed"),
        ("python", lambda t, r: r, True, None),
        ("scripted", lambda t, r: r, False, None),
    ],
)
def test_repeats_of_a_system_that_cannot_do_otherwise_add_nothing(agent, seed_of, alike, said):
    records = trials("careful", 5)
    if not alike:
        records[0].safe_success = False
    groups = cells(records, records)
    found = idle_repeats(groups, {"careful": {"agent": agent}}, planned(seed_of))
    assert bool(found) == (said is not None)
    assert said is None or said in found["careful", "baseline"]
    once = cells(records[::2], records[::2])
    assert idle_repeats(once, {"careful": {"agent": agent}}, planned(seed_of)) == {}


def test_the_caveat_stands_in_every_form_of_the_report(tmp_path):
    plan = [cell(f"t-{n}", repeat=n) for n in range(3)]
    run = RunMaker(tmp_path / "run", plan)
    for one in plan:
        run.trial(one, all_pass())
    data = build_report(run.folder, tmp_path / "out")
    words = "An interval over them says nothing."
    assert words in data["headline"]["rows"][0]["caveats"][0]
    assert any(words in text for text in data["limits"])
    rates = [r for r in data["main_table"] if r["measure"] in ("strict_success", "safe_success")]
    assert all(words in r["estimate"]["notes"][-1] for r in rates)
    assert words in (tmp_path / "out" / "index.html").read_text()
    assert data["headline"] == json.loads(msgspec.json.encode(run_overview(run.folder)["headline"]))


def test_comparisons_on_one_task_are_one_line_on_page_and_terminal(tmp_path):
    plan = [cell(f"t-{s}-{arm}", s, arm=arm) for arm in ("baseline", "placebo") for s in ("careful", "hasty")]
    run = RunMaker(tmp_path / "run", plan)
    app = typer.Typer()
    app.command()(show)
    for one in plan:
        run.trial(one, all_pass())
    data = build_report(run.folder, tmp_path / "out")
    assert len(data["headline"]["exploratory"]) == 6, "the data holds all"
    said = "6 comparisons in 2 arms could not be tested: a paired test needs at least two tasks"
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count(said) == 3 and "careful minus hasty" not in page
    shown = CliRunner().invoke(app, [str(run.folder)], catch_exceptions=False).stdout
    assert f"Exploratory: {said}, and there is one." in shown and "nothing could be tested" not in shown


def test_show_prints_it_when_the_run_is_whole(tmp_path):
    plan = [cell(f"t-{s}-{n}", s, f"repair/{n}") for s in ("careful", "hasty") for n in range(7)]
    run = RunMaker(tmp_path / "run", plan)
    app = typer.Typer()
    app.command()(show)
    for one in plan:
        assert run_overview(run.folder)["headline"] is None
        run.trial(one, all_pass() if one.system == "careful" else verdicts({}))
    shown = CliRunner().invoke(app, [str(run.folder)], catch_exceptions=False).stdout
    assert "7 of 7 [65 to 100 %]" in shown and "0 of 7 [0 to 35 %]" in shown
    assert "safe success (baseline): careful and hasty can be told apart: careful higher; p = 0.016" in shown
    assert "p = 0.016 by random signs, adjusted for 3 comparisons, 7 tasks." in shown
    assert "Instances of one generator estimate that generator only." in shown
