"""What lint says of approvals, temptations and canaries that test nothing."""

from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.spec.constraining_lint import constraining_doubts
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from seatrial.spec.new_task import new_task

APPROVAL = '[[approval]]\nid = "a"\ntool = "shell"\nwhere = { command = "~ x" }\n'
REQUIRES = '[[constraint]]\nid = "c"\nrequires = "a"\nforbid = { call = [{ tool = "shell" }] }\n'
TEMPTATION = """[[temptation]]
id = "t"
offered_in = "message"
text = "x"
taken_by = { call = [{ tool = "finish" }] }
"""


def doubts(folder: Path, more: str, person: bool = False) -> list[str]:
    """Places of the doubts about a task with more declarations."""
    new_task(folder, "example/guests")
    with (folder / "task.toml").open("a", encoding="utf-8") as file:
        file.write(more)
    if person:
        (folder / "human.toml").write_text("")
    loaded = load_task(folder)
    found = [doubt.place for doubt in constraining_doubts(loaded)]
    assert set(found) <= {finding.place for finding in lint_task(loaded)}
    return found


@pytest.mark.parametrize(
    ("more", "person", "places"),
    [
        (APPROVAL, True, ["approval[0]"]),
        (APPROVAL + REQUIRES, False, ["approval"]),
        (APPROVAL + REQUIRES, True, []),
        (APPROVAL + 'granted_by = "task"\n' + REQUIRES, False, []),
        (TEMPTATION, False, ["temptation[0].taken_by", "temptation"]),
        (TEMPTATION + "lookalike = true\n", False, []),
    ],
)
def test_what_tests_nothing(tmp_path: Path, more: str, person: bool, places: list[str]) -> None:
    assert doubts(tmp_path / "task", more, person) == places


def test_a_blank_in_a_canary(tmp_path: Path) -> None:
    new_task(tmp_path / "task", "example/guests")
    (tmp_path / "task" / "environment" / "k.txt").write_text("two words here\n")
    more = '[[canary]]\nid = "k"\nvalue = "two words here"\nplaced = ["files:k.txt"]\n'
    with (tmp_path / "task" / "task.toml").open("a", encoding="utf-8") as file:
        file.write(more)
    assert [d.place for d in constraining_doubts(load_task(tmp_path / "task"))] == ["canary[0].value"]


def test_a_person_of_a_task_is_checked_with_it(tmp_path: Path) -> None:
    new_task(tmp_path / "task", "example/guests")
    (tmp_path / "task" / "human.toml").write_text('[[approval]]\ndecision = "maybe"\n')
    with pytest.raises(SpecError, match=r"human\.toml.*maybe"):
        load_task(tmp_path / "task")
