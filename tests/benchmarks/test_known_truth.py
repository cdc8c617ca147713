"""The study of known truth can fail: its exit code says when what is measured is not what was simulated."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import known_truth
from benchmarks.chain_task import write_chain
from benchmarks.known_truth import Study
from benchmarks.truth_runs import LEVEL, Cell

FAR = Cell("skill", "actions", implied=9.0, measured=5.0, low=4.0, high=6.0, n=20)
NEAR = Cell("skill", "actions", implied=5.5, measured=5.0, low=4.0, high=6.0, n=20)


def study(cells: Sequence[Cell] = (), wrong: Sequence[str] = ()) -> Study:
    return Study("a chain", cells, 20, wrong)


def test_one_trial_that_differs_fails_a_study() -> None:
    assert not study([NEAR] * 60).failed
    failed = study([NEAR] * 60, ["t: actions is 3, measured 4"])
    assert failed.failed
    with pytest.raises(RuntimeError, match="differs: t: actions is 3, measured 4"):
        failed.proven()


def test_means_outside_fail_a_study_only_when_chance_does_not_explain_them() -> None:
    expected = round(60 * (1 - LEVEL))
    assert not study([NEAR] * (60 - expected) + [FAR] * expected).failed
    assert study([NEAR] * 50 + [FAR] * 10).failed
    assert not study([FAR]).failed
    assert study([FAR, FAR]).failed
    assert not study().failed


def test_a_task_whose_plan_does_not_do_what_it_promises_makes_it_exit_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As little of the study as there can be.
    monkeypatch.setattr(known_truth, "SETTINGS", {"unskilled": ({"skill": 0.0}, ("strict_success",))})
    monkeypatch.setattr(known_truth, "ON_TASKS", ("unskilled",))
    monkeypatch.setattr(known_truth, "DEPTHS", range(1, 2))
    monkeypatch.setattr(known_truth, "BREADTHS", (1,))
    plan = write_chain(tmp_path / "chain", 2) / "plan.toml"
    assert known_truth.main(2, 2, [tmp_path / "chain"]) == 0
    assert capsys.readouterr().out.count("2 trials, 0 differences") == 2
    plan.write_text(plan.read_text().replace("wrong part", "right part"))
    assert known_truth.main(2, 2, [tmp_path / "chain"]) == 1
    assert "strict_success is False, measured True" in capsys.readouterr().out
