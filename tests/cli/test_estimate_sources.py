"""Estimates from what is no table of trials: journals, raters, products of a calibration."""

import math

import msgspec
import pytest

from seatrial.calibrate.record import Calibration, Outcome, ProductResult, write_calibration
from seatrial.errors import SpecError, UsageError
from seatrial.spec.task import HumanMinutes
from tests.cli.tables import data, line, run, table, text, trials
from tests.measure.trials import WITHOUT_REPAIR, hard, make_task, verdicts
from tests.report.runs import RunMaker, all_pass, cell


@pytest.fixture
def own(tmp_path):
    """Four trials of one system: three state a confidence; two are cut off, one still getting on."""
    plan = [cell(f"t-{n}", task=f"ledger/{n}", repeat=0) for n in range(4)]
    made = RunMaker(tmp_path / "own", plan)
    made.trial(plan[0], all_pass(), confidence=0.9)
    made.trial(plan[1], verdicts(WITHOUT_REPAIR), confidence=0.8)
    rising = verdicts({step: {f"s{step - 1}": "pass"} for step in (2, 3, 4, 5)})
    made.trial(plan[2], rising, steps=5, stop="budget_actions", censored=True, confidence=0.1)
    still = verdicts({1: {"s1": "pass"}})
    made.trial(plan[3], still, steps=9, stop="budget_actions", censored=True)
    return made.folder


def test_confidence_is_read_from_the_journals(own):
    found = data("estimate", "calibration", own, "--bins", 2, "--draws", 50)
    ece = line(found, "careful", "ECE")
    # Bins: .1 with no success of 1; .8 and .9 with 1 success of 2.
    assert ece["estimate"]["value"] == pytest.approx(1 / 3 * 0.1 + 2 / 3 * 0.35)
    assert ece["facts"]["unstated"] == 1 and "1 valid trials stated no confidence" in ece["told"][0]
    brier = line(found, "careful", "Brier score")["estimate"]["value"]
    assert brier == pytest.approx((0.1**2 + 0.8**2 + 0.1**2) / 3)
    assert "risk-coverage" in text("estimate", "calibration", own, "--draws", 50)


def test_runs_that_were_cut_off_while_still_getting_on(own):
    found = data("estimate", "slope", own)
    one = line(found, "careful", "censored runs still advancing")
    assert one["facts"]["counts"] == {"advancing": 1, "stalled": 1, "falling": 0, "unknown": 0}
    assert one["estimate"]["value"] == pytest.approx(0.5) and one["denominators"]["censored"] == 2


@pytest.mark.parametrize("kind", ["calibration", "slope"])
def test_what_has_no_journals_cannot_tell(tmp_path, kind):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True]}))
    fault = run("estimate", kind, path).exception
    assert isinstance(fault, UsageError) and "has no journals" in str(fault)


AT_HALF = "horizon at 50 %"
RATINGS = "item,rater,rating\n" + "\n".join(
    f"{item},{rater},{word}"
    for item, words in {"a": "gg", "b": "bb", "c": "gb", "d": "gg", "e": "bb"}.items()
    for rater, word in zip("xy", words, strict=True)
)


def test_raters(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS + "\n")
    found = data("estimate", "agreement", path, "--draws", 100)
    # Observed 0.8; x says g 3 of 5, y 2 of 5, so by chance 0.48.
    assert line(found, "raters", "Cohen's kappa")["estimate"]["value"] == pytest.approx((0.8 - 0.48) / 0.52)
    assert {entry["quantity"] for entry in found["lines"]} == {
        "Krippendorff's alpha",
        "Cohen's kappa",
        "Fleiss' kappa",
    }
    assert line(found, "raters", "Cohen's kappa")["estimate"]["unit"] == "items"


def test_raters_on_a_scale(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,rating\na,x,1\na,y,2\nb,x,4\nb,y,4\nc,x,\nc,y,3\n")
    found = data("estimate", "agreement", path, "--scale", "interval", "--draws", 50)
    assert "No ICC: not every rater rated every item." in found["limits"]
    assert any("1 ratings missing" in limit for limit in found["limits"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("item,rater\na,x\n", "the column rating is missing"),
        ("item,rater,rating\na,x,1\na,x,2\n", "x rated a before"),
        ("item,rater,rating\na,x,1\nb,x,2\n", "there is one rater"),
        ("item,rater,rating\na,x,high\na,y,1\n", "no finite number"),
        ("item,rater,rating\na,x,nan\na,y,1\n", "no finite number"),
    ],
)
def test_bad_ratings(tmp_path, content, said):
    path = tmp_path / "ratings.csv"
    path.write_text(content)
    fault = run("estimate", "agreement", path, "--scale", "ordinal").exception
    assert isinstance(fault, SpecError) and said in str(fault) and "ratings.csv" in str(fault)


def test_a_verifier_on_known_products(tmp_path):
    path = tmp_path / "products.csv"
    good = "".join(f"g{n},good,{'false' if n == 0 else 'true'}\n" for n in range(10))
    bad = "".join(f"b{n},bad,{'true' if n == 0 else 'false'}\n" for n in range(10))
    path.write_text("product,quality,accepted\n" + good + bad)
    rows = table(tmp_path / "t.csv", trials("one", {f"t{n}": [n < 5] for n in range(10)}))
    found = data("estimate", "verifier-error", path, "--run", rows, "--draws", 200)
    assert line(found, "verifier", "recall on good products")["estimate"]["value"] == pytest.approx(0.9)
    assert line(found, "verifier", "recall on bad products")["estimate"]["value"] == pytest.approx(0.9)
    # Rogan and Gladen: (.5 + .9 − 1)/(.9 + .9 − 1).
    assert line(found, "one", "strict_success, corrected")["estimate"]["value"] == pytest.approx(0.5)


def test_a_verifier_from_a_calibration(tmp_path):
    def product(name, expected, *strict, broken=0):
        safe = [one and not broken for one in strict]
        made = [
            Outcome(terminal_class="success" if kept else "failure", strict_success=one, safe_success=kept,
                    stop_reason="finished", hard_violations=broken)
            for one, kept in zip(strict, safe, strict=True)
        ]  # fmt: skip
        right = set(safe) == {expected == "accepted"}
        return ProductResult(name=name, expected=expected, outcomes=made, right=right)

    products = [
        product("reference", "accepted", True, True), product("no-op", "rejected", False, False),
        product("wrong", "rejected", False, True),
        # Right by its final state: that a verifier accepts it is no error.
        product("cheat", "rejected", True, True, broken=1),
    ]  # fmt: skip
    write_calibration(
        tmp_path,
        Calibration(task="ledger/five", version="1", digest="d", created="", seatrial="0", rounds=2,
                    products=products, flaky=[], mutation=None, passed=False),
    )  # fmt: skip
    found = data("estimate", "verifier-error", tmp_path)
    bad = line(found, "verifier", "recall on bad products")["estimate"]
    assert (bad["value"], bad["n_tasks"]) == (pytest.approx(0.75), 2)
    assert line(found, "verifier", "idempotence")["estimate"]["value"] == pytest.approx(2 / 3)
    assert any(
        "1 product that must be rejected and broke" in said and "cheat" in said for said in found["limits"]
    )


def test_a_task_that_was_never_calibrated(tmp_path):
    fault = run("estimate", "verifier-error", tmp_path).exception
    assert isinstance(fault, SpecError) and "never calibrated" in str(fault)


def test_bad_products(tmp_path):
    path = tmp_path / "products.csv"
    path.write_text("product,quality,accepted\na,fine,true\n")
    fault = run("estimate", "verifier-error", path).exception
    assert isinstance(fault, SpecError) and "'fine' is not known" in str(fault)
    path.write_text("product,quality,accepted\na,good,maybe\n")
    assert "'maybe' is not known" in str(run("estimate", "verifier-error", path).exception)


def test_the_spread_of_human_times_is_taken_from_the_tasks(tmp_path):
    """Twelve tasks, each twice as long as the one before, with times far apart; the longer half failed."""
    plan = [cell(f"t-{n}", task=f"ledger/{n:02d}") for n in range(12)]
    task = make_task(constraint=[hard()], human_minutes=HumanMinutes(times=[1.0]))
    made = RunMaker(tmp_path / "own", plan, task=task)
    for n, planned in enumerate(plan):
        made.trial(planned, all_pass() if (n < 6 and n != 2) or n == 8 else verdicts(WITHOUT_REPAIR))
    manifest = made.run.manifest()
    for n, frozen in enumerate(manifest.tasks):
        frozen.spec["human_minutes"]["times"] = [2.0**n / 16, 2.0**n * 16]
    (made.folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    stated, drawn = (
        line(
            data("estimate", "horizon", made.folder, "--draws", 400, "--level", 0.5, "--chance", 0.5, *more),
            "careful",
            AT_HALF,
        )
        for more in ((), ("--human-times",))
    )
    assert stated["estimate"]["value"] == drawn["estimate"]["value"] and stated["facts"]["longest"] == 960
    widths = [math.log(one["estimate"]["high"] / one["estimate"]["low"]) for one in (stated, drawn)]
    assert widths[1] > widths[0] and "human times resampled" in drawn["estimate"]["method"]


def test_no_single_human_times(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True], "b": [False]}, human_minutes=5.0))
    fault = run("estimate", "horizon", path, "--human-times").exception
    assert isinstance(fault, UsageError) and "no task declares single human times" in str(fault)
