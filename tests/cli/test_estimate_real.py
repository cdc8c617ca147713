"""The estimate commands on real records, where they are: the known answers of their sources."""

import math

import pytest

from tests.cli.tables import data, line, run, text
from tests.importers.conftest import TAUBENCH, real

__all__ = ["real"]

SONNET = "Claude 3.5 Sonnet (New)"
CLAUDE, GEMINI = "Claude 4.5 Opus medium (20251101)", "Gemini 3 Pro Preview (2025-11-18)"
DROID, ORCHESTRATOR = "20250924_droid_gpt-5", "20250902_orchestrator_claude-4-sonnet"


@pytest.fixture
def metr(real, tmp_path):
    assert (
        run("import", "metr", real / "metr" / "early_suite_runs.jsonl.gz", "-o", tmp_path / "m").exit_code
        == 0
    )
    return tmp_path / "m"


@pytest.fixture
def swebench(real, tmp_path):
    folder = real / "swebench"
    sources = [folder / "claude-4.5-opus-medium.json", folder / "gemini-3-pro.json"]
    assert run("import", "swebench", *sources, "-o", tmp_path / "s").exit_code == 0
    return tmp_path / "s"


@pytest.fixture
def terminal_bench(real, tmp_path):
    sources = sorted((real / "terminal-bench").glob("*.tar.gz"))
    assert run("import", "terminal-bench", *sources, "-o", tmp_path / "t").exit_code == 0
    return tmp_path / "t"


@pytest.fixture
def taubench(tmp_path):
    assert run("import", "taubench", TAUBENCH, "-o", tmp_path / "tau").exit_code == 0
    return tmp_path / "tau"


def test_the_early_suite_gives_the_published_horizons(metr):
    found = data("estimate", "horizon", metr, "--ridge", 0.1, "--draws", 1000)
    # How far ends of 1,000 draws scatter is tested with the estimator; here that they are these ends.
    for system, value, low, high in (
        (SONNET, 60.52, 14.96, 232.0),
        ("o1", 42.45, 1.32, 245.2),
        ("GPT-4o", 6.98, 0.61, 28.3),
    ):
        estimate = line(found, system, "horizon at 50 %")["estimate"]
        assert estimate["value"] == pytest.approx(value, rel=1e-3)
        assert abs(math.log(estimate["low"] / low)) < 0.6 and abs(math.log(estimate["high"] / high)) < 0.3
    assert found["settings"] == {"measure": "strict_success", "ridge": 0.1, "weighting": "invsqrt"}


def test_a_horizon_outside_the_range_is_no_number_and_odd_draws_are_counted(metr):
    found = data("estimate", "horizon", metr, "--ridge", 0.1)
    below = line(found, "gpt-3.5-turbo-instruct", "horizon at 50 %")
    assert below["estimate"]["value"] is None and below["words"].startswith("< 1 (below range)")
    facts = below["facts"]
    assert facts["draws"] == 1000 and facts["draws_below"] == 1000
    assert facts["draws_all_failure"] > 100 and facts["draws_rising"] > 0
    assert facts["fitted"] == pytest.approx(2e-6, rel=0.5)
    words = text("estimate", "horizon", metr, "--ridge", 0.1, "--system", "gpt-3.5-turbo-instruct")
    assert "< 1 (below range)" in words and "all failure" in words and "rising" in words
    assert line(found, "davinci-002", "horizon at 50 %")["estimate"]["notes"][0].startswith(
        "All trials failed"
    )


def test_people_are_left_out_of_agents_and_that_is_said(metr):
    found = data("estimate", "rate", metr, "--draws", 10)
    assert "human" not in {entry["system"] for entry in found["lines"]}
    assert "211 runs of people (system 'human') are left out: they are no agent's." in found["limits"]
    assert any("1912 of 6852 runs of agents" in limit for limit in found["limits"])
    named = data("estimate", "rate", metr, "--system", "human", "--draws", 10)
    assert line(named, "human", "strict_success")["denominators"]["events"] == 152


def test_two_submissions_cannot_be_told_apart(swebench):
    found = data("compare", swebench)
    assert line(found, CLAUDE, "strict_success")["words"].startswith("74.4 %")
    assert line(found, GEMINI, "strict_success")["words"].startswith("74.2 %")
    difference = line(found, f"{CLAUDE} − {GEMINI}", "difference in strict_success")
    table = difference["facts"]["mcnemar"]
    assert (table["only_a"], table["only_b"], difference["facts"]["p"]) == (29, 28, 1.0)
    assert difference["facts"]["words"] == "cannot be told apart yet"
    estimate = difference["estimate"]
    assert estimate["value"] == pytest.approx(0.002) and estimate["low"] < 0 < estimate["high"]
    assert (estimate["method"], estimate["n_tasks"]) == ("Newcombe's method 10", 500)
    claude, gemini = (line(found, name, "strict_success")["facts"] for name in (CLAUDE, GEMINI))
    assert claude["on_frontier"] and gemini["on_frontier"] and gemini["frontier_probability"] > 0.99
    strata = [e for e in found["lines"] if e["facts"].get("stratum", "all") != "all"]
    assert len(strata) == 11 and all(e["facts"]["p_adjusted"] == 1 for e in strata)
    words = text("compare", swebench)
    assert "cannot be told apart yet" in words and "29 (b)" in words and "28 (c)" in words
    assert "exploratory: not declared before the results" in words


def test_pass_at_k_and_in_a_row_by_task(taubench):
    found = data("estimate", "passk", taubench, "--by-task")
    # Successes of four trials: 0 in 14 tasks, 1 in 12, 2 in 10, 3 in 4, 4 in 10.
    counts = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}
    for k in (1, 2, 3, 4):
        one = sum(n * (1 - math.comb(4 - c, k) / math.comb(4, k)) for c, n in counts.items()) / 50
        row = sum(n * math.comb(c, k) / math.comb(4, k) for c, n in counts.items()) / 50
        assert line(found, "gpt-4o", f"pass@{k}")["estimate"]["value"] == pytest.approx(one)
        assert line(found, "gpt-4o", f"pass^{k}")["estimate"]["value"] == pytest.approx(row)
    assert line(found, "gpt-4o", "pass^4")["estimate"]["value"] == pytest.approx(0.2)
    tasks = line(found, "gpt-4o", "pass@2")["facts"]["tasks"]
    assert len(tasks) == 50 and {round(value, 3) for value in tasks.values()} == {0, 0.5, 0.833, 1}


def test_terminal_bench_success_verified_timeouts_and_partial_scores(terminal_bench):
    found = data("estimate", "rate", terminal_bench, "--measure", "score", "--draws", 10)
    exact = line(found, DROID, "score >= 1")
    assert exact["denominators"] == {
        "trials": 400, "infrastructure": 0, "valid": 400, "unknown": 16, "events": 210, "censored": 52,
        "censored_events": 15, "censoring_unknown": 16,
    }  # fmt: skip
    assert line(found, DROID, "score >= 0.95")["denominators"]["events"] == 214
    assert line(found, ORCHESTRATOR, "score >= 1")["denominators"]["censored_events"] == 27
    assert exact["estimate"]["value"] is None and "Between 0.525 and 0.565" in " ".join(
        exact["estimate"]["notes"]
    )
    assert found["mixed"][0] == "Runs of different versions of the harness: 0.2.17, 0.2.7."


def test_terminal_bench_time_to_success(terminal_bench):
    found = data("estimate", "survival", terminal_bench, "--within", 600, "--draws", 200)
    within = line(found, DROID, "success within 600 seconds")
    assert within["facts"]["taken_every_way"] == 16 and within["facts"]["verified_timeouts"] == 15
    worst, best = within["facts"]["as_failures"]["value"], within["facts"]["as_successes"]["value"]
    assert 0.5 < worst < best < 0.6 and within["estimate"]["value"] is None
    assert within["estimate"]["low"] < worst and within["estimate"]["high"] > best
    nothing = line(found, ORCHESTRATOR, "success within 600 seconds")
    assert nothing["estimate"]["value"] is None and nothing["facts"]["unplaced"] == 400
    assert any("400 valid trials" in limit and "in no curve" in limit for limit in found["limits"])


def test_terminal_bench_pairs_are_compared_only_when_mixing_is_allowed(terminal_bench):
    refused = run("compare", terminal_bench)
    assert "not comparable: Runs of different versions of the harness" in str(refused.exception)
    assert "--allow-mixed" in str(refused.exception)
    found = data("compare", terminal_bench, "--allow-mixed")
    assert found["mixed"][0].startswith("Runs of different versions")
    difference = line(found, f"{ORCHESTRATOR} − {DROID}", "difference in strict_success")
    assert difference["facts"]["mcnemar"] is None and difference["estimate"]["n_tasks"] == 80
    assert difference["estimate"]["value"] is None and difference["estimate"]["high"] < 0
    assert difference["facts"]["words"] == f"can be told apart: {DROID} higher"
    assert "mixed: Runs of different versions" in text("compare", terminal_bench, "--allow-mixed")
