"""`seatrial estimate` on small tables: what every answer carries, and every kind once."""

import json
import re

import pytest

from seatrial.errors import UsageError
from tests.cli.tables import data, line, run, table, text, trials

MIXED = {"fa/1": [True, True], "fa/2": [True, False], "fb/3": [False, False], "fb/4": [True, True]}


@pytest.fixture
def small(tmp_path):
    """Two systems on four tasks of two families; lengths, costs and depths by task."""
    length = {"fa/1": 2.0, "fa/2": 10.0, "fb/3": 100.0, "fb/4": 30.0}
    more = {
        "family": lambda task, _: task[:2],
        "human_minutes": lambda task, _: length[task],
        "dependency_depth": lambda task, _: int(task[-1]),
        "money": lambda task, number: 1.0 + number,
        "elapsed_us": lambda task, number: int(length[task] * 1e6) + number,
        "censored": lambda task, _: task == "fb/3",
        "score": lambda task, number: {"1": 1.0, "2": 0.95, "3": 0.2, "4": 1.0}[task[-1]],
        "stop_reason": "finished",
    }
    other = {task: [not one for one in found] for task, found in MIXED.items()}
    rows = trials("one", MIXED, **more) + trials("two", other, **more)
    return table(tmp_path / "small.csv", rows)


def test_every_answer_says_what_it_rests_on(small):
    one = line(data("estimate", "rate", small), "one", "strict_success")
    assert {"value", "low", "high", "level", "method", "unit", "n_tasks", "n_trials", "notes"} == set(
        one["estimate"]
    )
    assert one["estimate"]["value"] == pytest.approx(5 / 8)
    assert (one["estimate"]["unit"], one["estimate"]["n_tasks"], one["estimate"]["n_trials"]) == (
        "tasks",
        4,
        8,
    )
    assert one["beside"][0]["method"].startswith("clustered t")
    assert one["denominators"]["events"] == 5 and one["denominators"]["censored"] == 2
    words = text("estimate", "rate", small)
    for part in ("62.5 %", "95 % interval", "sampling unit: tasks", "infrastructure", "censoring unknown",
                 "limit: No row says whether constraints were kept: success is strict_success."):  # fmt: skip
        assert part in words


def test_infrastructure_and_unknown_stay_apart(tmp_path):
    rows = trials("one", {"a": [True, False], "b": [True, None]})
    rows[0]["terminal_class"], rows[0]["strict_success"] = "infrastructure", None
    found = line(data("estimate", "rate", table(tmp_path / "t.csv", rows)), "one", "strict_success")
    counted = found["denominators"]
    assert (counted["trials"], counted["infrastructure"], counted["valid"]) == (4, 1, 3)
    assert (counted["unknown"], counted["events"], counted["censoring_unknown"]) == (1, 1, 3)
    assert found["estimate"]["value"] is None and found["words"].startswith("unknown [")


def test_the_same_seed_gives_the_same_numbers(small):
    assert data("estimate", "rate", small, "--seed", 5) == data("estimate", "rate", small, "--seed", 5)
    assert data("estimate", "rate", small, "--seed", 5)["lines"] != data("estimate", "rate", small)["lines"]


def test_a_score_is_shown_at_its_thresholds_too(small):
    found = data("estimate", "rate", small, "--measure", "score", "--at-least", 0.1)
    values = {
        entry["quantity"]: entry["estimate"]["value"] for entry in found["lines"] if entry["system"] == "one"
    }
    assert values == {
        "mean score": pytest.approx(0.7875),
        "score >= 0.1": 1.0,
        "score >= 0.95": 0.75,
        "score >= 1": 0.5,
    }


def test_strata_stand_below_the_whole(small):
    found = data("estimate", "rate", small, "--by", "family", "--system", "one")
    assert [entry["facts"]["stratum"] for entry in found["lines"]] == ["all", "family fa", "family fb"]
    assert line(found, "one", "strict_success, family fa")["estimate"]["value"] == pytest.approx(0.75)


def test_population_weights(small):
    found = data("estimate", "rate", small, "--population", "fa=3", "--population", "fb=1")
    weighted = line(found, "one", "population mean of strict_success")
    assert weighted["estimate"]["value"] == pytest.approx(0.75 * 0.75 + 0.25 * 0.5)
    assert line(found, "one", "macro mean of strict_success")["estimate"]["value"] == pytest.approx(5 / 8)


def test_saturated_systems_and_silent_tasks_are_flagged(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {f"t{n}": [True] for n in range(100)}))
    found = data("estimate", "rate", path, "--draws", 10)
    assert any(limit.startswith("one is saturated") for limit in found["limits"])
    assert any(limit.startswith("100 tasks every trial solved and 0 none did") for limit in found["limits"])


def test_one_system_alone_is_not_said_to_tell_systems_apart(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True, True], "b": [False], "c": [True, False]}))
    limits = " ".join(data("estimate", "rate", path)["limits"])
    assert "1 tasks every trial solved and 1 none did; more trials, or another system" in limits
    assert "can tell systems apart" not in limits


def test_an_unknown_outcome_stops_no_population_mean(tmp_path):
    outcomes = {"f/a": [True, None], "f/b": [False], "g/a": [True], "g/b": [True]}
    path = table(tmp_path / "t.csv", trials("one", outcomes, family=lambda task, _: task[0]))
    found = data("estimate", "rate", path, "--population", "f=0.8", "--population", "g=0.2")
    mean = line(found, "one", "population mean of strict_success")["estimate"]
    assert mean["value"] is None and 0 < mean["low"] < mean["high"] <= 1
    assert "Between 0.4 and 0.6: 1 unknown outcome." in mean["notes"]


def test_originals_against_their_variants(tmp_path):
    outcomes = (
        {f"t{n}": [True] for n in range(8)} | {f"t{n}-again": [n < 2] for n in range(8)} | {"u": [True]}
    )

    def of(task, _):
        return task.removesuffix("-again") if task.endswith("-again") else None

    path = table(tmp_path / "t.csv", trials("one", outcomes, variant_of=of))
    found = data("estimate", "variants", path)
    gap = line(found, "one", "gap, original − variant")
    assert (gap["estimate"]["value"], gap["estimate"]["n_tasks"]) == (0.75, 8)
    # McNemar: six originals solved whose variants were not, none the other way: 2/2⁶.
    assert gap["facts"]["p"] == 2 / 64 and gap["facts"]["words"].startswith("does better on the originals")
    assert line(found, "one", "strict_success on their variants")["estimate"]["value"] == 0.25
    assert "one: 1 tasks without a variant are left out: u." in found["limits"]


def test_variants_that_have_no_original(tmp_path):
    none = table(tmp_path / "none.csv", trials("one", {"a": [True], "b": [False]}))
    assert "no row has variant_of" in str(run("estimate", "variants", none).exception)
    alone = table(tmp_path / "alone.csv", trials("one", {"a": [True]}, variant_of="elsewhere"))
    assert "e.g. elsewhere" in str(run("estimate", "variants", alone).exception)
    chain = trials("one", {"a": [True]}) + trials("one", {"b": [True]}, variant_of="a")
    chain += trials("one", {"c": [True]}, variant_of="b")
    assert "a variant itself" in str(run("estimate", "variants", table(tmp_path / "c.csv", chain)).exception)
    two = trials("one", {"a": [True]}) + trials("one", {"b": [True, True]}, variant_of=lambda _, n: "ac"[n])
    assert "one original" in str(run("estimate", "variants", table(tmp_path / "two.csv", two)).exception)


def test_horizon_sensitivity(small):
    found = data(
        "estimate", "horizon", small, "--sensitivity", "--system", "one", "--chance", 0.5, "--draws", 50
    )
    (one,) = found["lines"]
    choices = {variant["choice"] for variant in one["facts"]["variants"]}
    assert {"ridge", "weighting", "without family"} <= choices
    assert "success by human minutes" in one["told"][0] and "under other choices: ridge 0:" in one["told"][1]


def test_a_rising_curve_is_said_to_rise_and_gives_no_horizon(tmp_path):
    outcomes = {f"t{n}": [i < 12 + n for i in range(20)] for n in range(4)}
    rows = trials(
        "s", outcomes, human_minutes=lambda task, _: 8 ** (1 + int(task[1:])), family=lambda t, _: t
    )
    path = table(tmp_path / "t.csv", rows)
    found = line(data("estimate", "horizon", path), "s", "horizon at 50 %")
    assert found["facts"]["rises"] is True and found["facts"]["fitted"] is None
    printed = text("estimate", "horizon", path)
    assert "none (the curve rises)" in printed and "< 8" not in printed
    assert "fitted success does not fall with length; it stays below 80 % in the measured range" in printed


def test_pass_at_k_with_selection_and_cost(small):
    found = data("estimate", "passk", small, "--select", "score", "--cost", "money")
    assert line(found, "one", "pass@2")["estimate"]["value"] == pytest.approx(0.75)
    assert line(found, "one", "pass^2")["estimate"]["value"] == pytest.approx(0.5)
    assert line(found, "one", "select@2")["estimate"]["value"] == pytest.approx(5 / 8)
    assert line(found, "one", "pass@2")["facts"]["spend"]["value"] == pytest.approx(3.0)
    with pytest.raises(Exception, match="k"):
        text("estimate", "passk", small, "--k", 3)


def test_cost_per_success_counts_failures_too(small):
    found = data("estimate", "cost", small, "--system", "one", "--cap", 5)
    per = line(found, "one", "money per success")
    assert per["estimate"]["value"] == pytest.approx(12 / 5)
    assert line(found, "one", "P99 of money until a success, others at 5")["words"].startswith(">= 5")
    without = data("estimate", "cost", small, "--system", "one")
    assert line(without, "one", "P50 of money of a trial")["estimate"]["value"] == pytest.approx(1.0)


def test_no_success_costs_without_bound(tmp_path):
    rows = trials("one", {"a": [False], "b": [False]}, money=1.0)
    found = data("estimate", "cost", table(tmp_path / "t.csv", rows))
    per = line(found, "one", "money per success")
    assert per["estimate"]["value"] is None and per["words"].startswith("unbounded")
    assert any("unbounded" in note for note in per["estimate"]["notes"])


def test_frontier_and_utility(small):
    found = data("estimate", "pareto", small)
    one = line(found, "one", "strict_success")
    assert one["facts"]["on_frontier"] is True
    assert line(found, "two", "strict_success")["facts"]["dominated_by"] == ["one"]
    worth = data("estimate", "utility", small, "--worth", "money=0.1,1")
    assert line(worth, "one", "utility in successes")["estimate"]["value"] == pytest.approx(5 / 8 - 0.15)
    assert worth["settings"]["map"]["stable"] is True


def test_depth_and_failures(small):
    found = data("estimate", "depth", small, "--system", "one", "--edge", 3)
    assert line(found, "one", "S(3)")["estimate"]["value"] == pytest.approx(0.5)
    half = line(found, "one", "h50 on dependency_depth")
    assert half["estimate"]["value"] == 2
    buckets = half["facts"]["failures"]
    assert [bucket["n_failures"] for bucket in buckets] == [1, 2]
    assert buckets[1]["failures"] == {"cut off by a limit": 2}


def test_depth_within_strata(small):
    found = data("estimate", "depth", small, "--system", "one", "--by", "family")
    assert line(found, "one, family fa", "S(1)")["estimate"]["value"] == pytest.approx(0.75)
    assert line(found, "one, family fb", "h50 on dependency_depth")["estimate"]["n_tasks"] == 2


def test_a_second_attempt_at_what_acts_outside_is_none(small):
    found = data("estimate", "passk", small, "--system", "one", "--side-effects", "fb/3")
    assert line(found, "one", "pass@2")["estimate"]["n_tasks"] == 3
    assert line(found, "one", "pass^2")["estimate"]["n_tasks"] == 4
    assert "fb/3" in " ".join(line(found, "one", "pass@2")["estimate"]["notes"])
    with pytest.raises(UsageError, match="there is no task"):
        text("estimate", "passk", small, "--side-effects", "zz")


def test_time_to_success_takes_cuts_as_censored(small):
    found = data("estimate", "survival", small, "--system", "one", "--within", 50)
    # Cut off at 100 s, so at risk throughout: 5 of 8 have succeeded by 50 s.
    assert line(found, "one", "success within 50 seconds")["estimate"]["value"] == pytest.approx(5 / 8)
    assert line(found, "one", "half have succeeded by")["estimate"]["value"] == pytest.approx(30.0, abs=1e-3)
    area = data("estimate", "budget", small, "--system", "one", "--between", "2:30", "--target", 0.9)
    assert line(area, "one", "least budget for 90 %")["estimate"]["value"] is None


def test_unknown_outcomes_and_cuts_are_taken_every_way(tmp_path):
    rows = trials("one", {"a": [True, False], "b": [None, True]}, elapsed_us=10**7, censored=False)
    rows[1]["censored"] = None
    path = table(tmp_path / "t.csv", rows)
    one = line(
        data("estimate", "survival", path, "--within", 10, "--draws", 50), "one", "success within 10 seconds"
    )
    assert one["facts"]["taken_every_way"] == 2 and one["estimate"]["value"] is None
    # As a failure, and as a success; a failure that was perhaps cut off counts as ended, or is censored.
    assert one["facts"]["as_failures"]["value"] == pytest.approx(0.5)
    assert one["facts"]["as_successes"]["value"] >= 0.75
    assert "taken every way: between 0.5 and" in " ".join(one["estimate"]["notes"])


def test_a_trial_nobody_knows_the_end_of_may_still_have_been_running(tmp_path):
    seconds = {"elapsed_us": lambda _, n: (10 + 30 * n) * 10**6}
    rows = trials("one", {"a": [None, True], "b": [None, True]}, **seconds)
    path = table(
        tmp_path / "t.csv", [{**row, "censored": False} if row["strict_success"] else row for row in rows]
    )
    found = data("estimate", "survival", path, "--draws", 50)
    mean = line(found, "one", "mean until any end, up to 40 seconds")
    assert mean["facts"]["as_failures"]["value"] == mean["facts"]["as_successes"]["value"] == 25
    assert mean["facts"]["as_still_running"]["value"] == 40
    assert mean["estimate"]["value"] is None and "between 25 and 40." in mean["estimate"]["notes"][-1]


def test_trials_without_a_place_are_in_no_curve_and_counted(tmp_path):
    rows = trials("one", {"a": [True, False], "b": [True]}, elapsed_us=10**7, censored=False)
    rows[0]["elapsed_us"] = None
    found = data("estimate", "survival", table(tmp_path / "t.csv", rows), "--within", 10, "--draws", 50)
    assert line(found, "one", "success within 10 seconds")["estimate"]["n_trials"] == 2
    assert "1 valid trials of one have no elapsed_seconds and are in no curve." in found["limits"]


def test_an_empirical_scale_is_labelled_so(small):
    found = data("estimate", "irt", small)
    one, two = (line(found, name, "ability in logits")["estimate"]["value"] for name in ("one", "two"))
    assert one > two and any("Empirical" in limit for limit in found["limits"])
    assert set(found["settings"]["tasks"]) == set(MIXED)


def test_a_mixed_model_is_labelled_a_model(small):
    found = data("estimate", "mixed", small, "--reference", "two")
    assert line(found, "one", "log-odds against two")["estimate"]["value"] > 0
    assert any("A model" in note for note in found["lines"][0]["estimate"]["notes"] + found["limits"])


def test_lost_trials_void_the_headline(tmp_path):
    rows = trials("one", {f"t{n}": [True, False] for n in range(6)})
    for row in rows[:4]:
        row["terminal_class"], row["strict_success"] = "infrastructure", None
    found = data("estimate", "missing", table(tmp_path / "t.csv", rows), "--limit", 0.1)
    lost = line(found, "one", "lost trials")
    assert lost["estimate"]["value"] == pytest.approx(1 / 3) and lost["facts"]["void"] is True
    assert any("headline is void" in told for told in lost["told"])


def test_drift_needs_anchors_and_fresh_tasks(tmp_path, small):
    then = table(tmp_path / "then.csv", trials("one", {task: [False, False] for task in ("fa/1", "fa/2")}))
    found = data("estimate", "drift", small, "--system", "one", "--then", then)
    assert line(found, "one", "anchors now − then")["estimate"]["value"] == pytest.approx(0.75)
    with pytest.raises(Exception, match="4 anchors and 0 fresh tasks"):
        text("estimate", "drift", small, "--system", "one", "--then", small)


@pytest.mark.parametrize(
    "kind", ["rate", "horizon", "passk", "cost", "pareto", "depth", "survival", "budget"]
)
@pytest.mark.parametrize("ending", ["svg", "html"])
def test_a_drawing_holds_the_systems_and_needs_no_network(small, tmp_path, kind, ending):
    path = tmp_path / f"drawing.{ending}"
    assert f"drawn: {path}" in text("estimate", kind, small, "--draws", 20, "--plot", path)
    made = path.read_text()
    assert "one" in made and "<svg" in made if ending == "svg" else "vega" in made
    assert "https://cdn" not in made


def test_a_drawing_cannot_be_made_to_run_a_script(tmp_path):
    name = "</script><script>alert(1)</script>&\u2028seatrialEscape"
    path = table(tmp_path / "named.csv", trials(name, {f"t{n}": [n % 2 == 0] for n in range(6)}))
    text("estimate", "rate", path, "--draws", 20, "--plot", tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text()
    assert "alert(1)" in page and "<script>alert" not in page and "\u2028seatrial" not in page
    (spec,) = re.findall(r"const spec = (.*);\n", page)
    assert not set("<>&") & set(spec)
    assert name in json.dumps(json.loads(spec), ensure_ascii=False)


def test_json_has_no_infinity(small):
    made = run("estimate", "horizon", small, "--draws", 30, "--json").output

    def refuse(word):
        raise AssertionError(word)

    json.loads(made, parse_constant=refuse)
    assert "Infinity" not in made and "NaN" not in made


def columns(printed, quantity):
    """The first row about a quantity, by the heading of its column."""
    lines = printed.splitlines()
    place = next(n for n, one in enumerate(lines) if one.startswith("system "))
    head = lines[place]
    row = next(one for one in lines[place:] if quantity in one)
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S", re.sub(r"(?<=\S) (?=\S)", "_", head))]
    cuts = list(zip(starts, [*starts[1:], None], strict=True))
    return {head[a:b].strip(): row[a:b].strip() for a, b in cuts}


def test_values_have_their_unit_beside_them(small, tmp_path):
    assert columns(text("estimate", "horizon", small), "horizon at 50 %")["unit"] == "minutes"
    said = text("estimate", "survival", small, "--within", 20, "--draws", 50)
    assert "success within 20 seconds" in said
    assert columns(said, "half have succeeded by")["unit"] == "seconds"
    assert columns(said, "success within 20 seconds")["unit"] == ""
    assert "unit" not in columns(text("estimate", "rate", small), "strict_success")
    priced = trials("one", MIXED, money=1.0, currency="EUR")
    found = text("estimate", "rate", table(tmp_path / "paid.csv", priced), "--measure", "money")
    assert columns(found, "mean money")["unit"] == "EUR"


def test_intervals_of_one_quantity_are_told_apart(small):
    said = text("estimate", "rate", small)
    assert columns(said, "strict_success ")["by"] == "Wilson on the effective number of trials"
    rows = [one for one in said.splitlines() if one.strip().startswith("or ")]
    for row, word in zip(rows[:3], ("clustered t", "bootstrap over tasks ", "(conservative)"), strict=True):
        assert word in row


def test_tasks_without_a_family_are_told_of(tmp_path, small):
    rows = trials("one", MIXED, human_minutes=lambda task, _: 2.0 ** int(task[-1]))
    said = text("estimate", "horizon", table(tmp_path / "t.csv", rows))
    assert "4 tasks have no family for one: each stands for a family of its own" in said
    assert "no family" not in text("estimate", "horizon", small)


def test_imported_variants_by_a_column_of_their_source(tmp_path):
    source, mapping, folder = tmp_path / "s.csv", tmp_path / "m.toml", tmp_path / "run"
    rows = [f"q{n},,one,true\nq{n}b,q{n},one,{'true' if n else 'false'}\n" for n in range(5)]
    source.write_text("question,base,model,right\n" + "".join(rows))
    mapping.write_text(
        'schema = "seatrial/mapping@1"\n[columns]\ntask = "question"\nvariant_of = "base"\nsystem = "model"\n'
        'strict_success = "right"\n'
    )
    assert run("import", "csv", source, "--mapping", mapping, "-o", folder).exit_code == 0
    gap = line(data("estimate", "variants", folder), "one", "gap, original − variant")
    assert (gap["estimate"]["value"], gap["estimate"]["n_tasks"]) == (pytest.approx(0.2), 5)
    assert (gap["facts"]["wins"], gap["facts"]["losses"], gap["facts"]["ties"]) == (1, 0, 4)
