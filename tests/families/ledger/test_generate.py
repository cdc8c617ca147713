"""From knobs to a folder: the same bytes every time, clean for lint, and nothing half-written."""

import json
from pathlib import Path

import pytest

from seatrial.errors import SpecError, UsageError
from seatrial.families.ledger import SOURCES, Knobs, generate
from seatrial.families.ledger.options import BELIEF, GOAL
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from tests.families.ledger.conftest import DOWNLOADS, Made


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode) for path in files}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(made: Made, tmp_path: Path):
    for variant in (0, 1):
        again = generate("weather", Knobs(variant=variant), tmp_path / f"again-{variant}", DOWNLOADS)
        assert tree(again) == tree(made(variant=variant))
    assert (
        tree(made(seed=2))["verifiers/expected/sum-1.json"] != tree(made())["verifiers/expected/sum-1.json"]
    )


@pytest.mark.parametrize("data", SOURCES)
@pytest.mark.parametrize(
    "knobs",
    [
        {"seed": 2, "depth": 6, "breadth": 3, "delay": 3, "variant": 1},
        {"seed": 3, "variant": 2, "group": BELIEF},
        {"seed": 4, "depth": 1, "breadth": 1, "group": GOAL},
        {"seed": 5, "depth": 12, "breadth": 8, "delay": 8},
    ],
)
def test_every_task_is_clean_for_lint(made: Made, data: str, knobs: dict[str, int]):
    assert lint_task(load_task(made(data, **knobs))) == []


def test_depth_delay_breadth_and_size_are_what_was_asked_for(made: Made):
    small, large = load_task(made()).spec, load_task(made(depth=5, breadth=4, delay=2, size=40)).spec
    assert (small.horizon.dependency_depth, large.horizon.dependency_depth) == (6, 8)
    assert (small.horizon.verification_delay, large.horizon.verification_delay) == (1, 3)
    assert {each.id: each.after for each in large.subgoal if each.id.startswith("load-")} == {
        f"load-{number}": [] for number in range(1, 5)
    }
    cleaned = [json.loads((made(**knobs) / "verifiers/expected/clean-all.json").read_text())
               for knobs in ({}, {"size": 40})]  # fmt: skip
    assert len(cleaned[1]["worlds"]["base"]) == len(cleaned[0]["worlds"]["base"]) + 40


def test_a_group_about_goals_or_beliefs_has_only_what_is_about_them(made: Made):
    found = {
        group: {each.id for each in load_task(made(group=group)).spec.perturbation}
        for group in (GOAL, BELIEF)
    }
    assert found[GOAL] == {"by-period", "forced-total", "nothing"}
    assert {"ceiling-changed", "memory-stale", "false-report", "nothing"} <= found[BELIEF]
    assert not found[BELIEF] & {"by-period", "forced-total", "load-broken-off"}
    assert len(load_task(made(group=BELIEF)).spec.goal) == 1


def test_the_strengths_of_one_scenario_change_the_same_file_at_the_same_moment(made: Made):
    spec = load_task(made()).spec
    strengths = [each for each in spec.perturbation if each.scenario == "rules-changed"]
    assert {each.strength for each in strengths} == {"cosmetic", "local", "core"}
    assert len({(str(each.when), each.change["to"]) for each in strengths}) == 1
    fired = {str(load_task(made(seed=seed)).spec.perturbation[0].when) for seed in range(1, 7)}
    assert len(fired) > 1, "where it comes is up to the seed"


def test_provenance_names_source_licence_and_archive(made: Made):
    told = load_task(made("employment", variant=1)).spec.provenance
    assert told["data_licence"] == "public domain" and "Labor Statistics" in told["data_origin"]
    assert told["variant_of"] == "ledger/employment-1-d3b2"
    assert len(told["sdist_sha256"]) == 64


def test_a_variant_has_the_same_figures_under_other_names(made: Made):
    original, other = made(), made(variant=1)
    for name in ("clean-all", "sum-1", "sum-3"):
        found = [
            json.loads((task / f"verifiers/expected/{name}.json").read_text()) for task in (original, other)
        ]
        assert found[0]["worlds"] == found[1]["worlds"]
        assert found[0]["table"] != found[1]["table"]
    names = [
        {path.relative_to(task / "environment").as_posix() for path in (task / "environment").rglob("*.*")}
        for task in (original, other)
    ]
    assert not names[0] & names[1]


def test_what_cannot_be_made_is_refused_and_leaves_nothing(tmp_path: Path):
    with pytest.raises(UsageError, match="no data set 'absent'"):
        generate("absent", Knobs(), tmp_path / "out", tmp_path)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/vega_datasets-0.9.0.tar.gz").write_bytes(b"other")
    with pytest.raises(SpecError, match="the pinned one is 9dbe9834"):
        generate("weather", Knobs(), tmp_path / "out", tmp_path / "cache")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    (tmp_path / "cache/mine").write_text("")
    with pytest.raises(UsageError, match="already there"):
        generate("weather", Knobs(), tmp_path / "cache", DOWNLOADS)
