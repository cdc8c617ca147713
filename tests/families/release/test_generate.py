"""What a generated release task holds, for many knobs."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli.suite import families
from seatrial.errors import UsageError
from seatrial.families.release import GROUPS, Knobs, generate
from seatrial.families.release.disturbances import BELIEFS, GOALS
from seatrial.families.release.scene import build_scene
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import LoadedTask, load_task
from seatrial.spec.toml_text import read_toml


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(f"{path.relative_to(folder)} {path.stat().st_mode}".encode() + path.read_bytes())
    return found.hexdigest()


def made(folder: Path, **knobs: Any) -> LoadedTask:
    return load_task(generate(Knobs(**knobs), folder))


def test_the_same_knobs_give_the_same_bytes_and_others_do_not(task: Path, tmp_path: Path) -> None:
    assert digest(generate(Knobs(), tmp_path / "again")) == digest(task)
    assert digest(generate(Knobs(seed=2), tmp_path / "other")) != digest(task)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("depth", "delay", "variant"), [(2, 0, 0), (3, 1, 1), (6, 4, 2), (12, 0, 3)])
def test_lint_finds_nothing_in_any_of_them(
    tmp_path: Path, group: str, depth: int, delay: int, variant: int
) -> None:
    found = made(tmp_path / "t", group=group, depth=depth, delay=delay, variant=variant, seed=depth)
    assert list(lint_task(found)) == []
    assert found.spec.horizon.group == group


def test_deeper_tasks_have_longer_chains_and_later_ones_a_longer_way_to_a_check(tmp_path: Path) -> None:
    horizons = [
        made(tmp_path / f"{depth}-{delay}", depth=depth, delay=delay).spec.horizon
        for depth, delay in ((3, 0), (4, 0), (4, 1), (4, 2))
    ]
    assert [each.dependency_depth for each in horizons] == [11, 14, 14, 14]
    assert [each.verification_delay for each in horizons] == [4, 4, 8, 12]


def test_a_variant_has_the_same_numbers_under_other_names(tmp_path: Path) -> None:
    first, other = (build_scene(Knobs(depth=4, variant=variant)) for variant in (0, 3))
    for one, two in zip(first.links, other.links, strict=True):
        assert (one.ticket, one.version, one.amount) == (two.ticket, two.version, two.amount)
        assert {one.service, one.recipient, one.reference}.isdisjoint(
            {two.service, two.recipient, two.reference}
        )
    assert first.wording.folder != other.wording.folder
    found = made(tmp_path / "v", variant=3)
    assert found.spec.provenance["variant_of"] == "release/1-d2"


def test_a_group_has_the_disturbances_that_it_is_about(tmp_path: Path) -> None:
    ids = {
        group: {each.id for each in made(tmp_path / group.replace(" ", "-"), group=group).spec.perturbation}
        for group in GROUPS
    }
    irreversible, goal, belief = (ids[group] for group in GROUPS)
    assert (goal, belief) == (set(GOALS), set(BELIEFS))
    assert goal | belief < irreversible
    assert {"payment-unanswered", "credential-expired", "leave-withdrawn"} < irreversible


def test_a_disturbance_has_three_strengths_and_a_placebo(task: Path) -> None:
    found = load_task(task).spec.perturbation
    strengths = {each.strength for each in found if each.scenario == "ticket-revised"}
    assert strengths == {"cosmetic", "local", "core"}
    assert [each.id for each in found if each.kind == "placebo"] == ["nothing"]
    assert all(f"recover-{each.id}.toml" in str(list((task / "solutions").iterdir())) for each in found[:-1])


def test_what_is_not_said_is_not_there(task: Path) -> None:
    """Neither text nor files of the agent's world give versions, amounts or people away."""
    scene = build_scene(Knobs())
    texts = [path.read_text() for path in (task / "environment").rglob("*") if path.is_file()]
    shown = "\n".join([*texts, (task / "instruction.md").read_text()])
    for link in scene.links:
        for secret in (link.version, link.revised, f"{link.amount:.2f}", link.recipient, link.reference):
            assert secret not in shown
    assert not re.search(r"verif|subgoal|perturb|benchmark", shown, re.IGNORECASE)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"depth": 1}, "--depth 1 is too small. Choose a number from 2 to 12"),
        ({"depth": 13}, "--depth 13 is too large"),
        ({"depth": 3, "delay": 2}, "--delay 2 is too large. Choose a number from 0 to 1"),
        ({"variant": -1}, "--variant -1 is too small"),
        ({"group": "long"}, "there is no group 'long'. Choose one of: 'short but irreversible'"),
    ],
)
def test_knobs_that_no_task_can_have_are_refused(tmp_path: Path, knobs: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        made(tmp_path / "t", **knobs)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(UsageError, match="already there"):
        generate(Knobs(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_tickets_name_each_other_in_their_order(task: Path) -> None:
    rows = read_toml(task / "services" / "tickets.toml")["rows"]["tickets"]
    scene = build_scene(Knobs())
    for link in scene.links:
        body = rows[link.ticket - 1]["body"]
        before = "none" if link.before is None else link.before
        assert f"After ticket: {before}" in body and f"Version: {link.version}" in body


def test_the_command_line_knows_its_knobs(tmp_path: Path) -> None:
    made_of = families.FamilyOptions(family="release", depth=3, delay=1, seed=4)
    assert load_task(families.generate(made_of, tmp_path / "t")).spec.id == "release/4-d3-k1"
    with pytest.raises(UsageError, match="--size is no knob of release"):
        families.generate(families.FamilyOptions(family="release", size=3), tmp_path / "u")
