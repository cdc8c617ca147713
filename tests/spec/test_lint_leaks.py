import pytest

from seatrial.spec.lint import lint_task
from seatrial.spec.lint_leaks import find_leaks
from seatrial.spec.loading import load_task
from tests.spec.folders import write_task


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("This benchmark asks you to write a.txt.", "benchmark"),
        ("The Verifiers will look at a.txt.", "verifier"),
        ("Finish first-part before the rest.", "first-part"),
        ("Do not look for last.sh.", "last.sh"),
        ("Steps are as in reference.toml, roughly.", "reference.toml"),
        ("For ledger/steps, write a.txt.", "ledger/steps"),
    ],
)
def test_an_instruction_that_tells(tmp_path, text, shown):
    folder = write_task(tmp_path)
    (folder / "instruction.md").write_text(text)
    (finding,) = lint_task(load_task(folder))
    assert (finding.level, finding.place) == ("error", "goal[0].instruction")
    assert repr(shown) in finding.problem


@pytest.mark.parametrize(
    "text", ["The first-partner list.", "Benchmarking is fun.", "my-reference.toml", "xlast.sh"]
)
def test_words_that_only_look_like_it(tmp_path, text):
    folder = write_task(tmp_path)
    (folder / "instruction.md").write_text(text)
    assert list(find_leaks(load_task(folder))) == []


def test_an_id_that_is_an_ordinary_word_is_only_a_warning(tmp_path):
    folder = write_task(tmp_path, {"subgoal.0.id": "schema", "subgoal.1.after": ["schema"]})
    (folder / "instruction.md").write_text("Write the schema to a.txt.")
    assert [finding.level for finding in lint_task(load_task(folder))] == ["warning"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("db", "Repair the db, then totals.db.", False),
        ("text", "Write TEXT to a.txt.", False),
        ("totals", "Write totals.txt and old/totals, or totals-2.", False),
        ("totals", "Write the totals.", True),
        ("db-1", "Repair db-1.", True),
    ],
)
def test_short_words_and_parts_of_longer_names_are_no_leak(tmp_path, name, text, told):
    folder = write_task(tmp_path, {"subgoal.0.id": name, "subgoal.1.after": [name]})
    (folder / "instruction.md").write_text(text)
    assert [repr(name) in leak.problem for leak in find_leaks(load_task(folder))] == [True] * told


def test_every_goal_version_is_read(tmp_path):
    second = {"version": 2, "instruction": "second.md", "relation": "replace"}
    folder = write_task(tmp_path)
    (folder / "second.md").write_text("The benchmark changed.")
    write_task(folder, {"goal.1": second})
    assert [leak.place for leak in find_leaks(load_task(folder))] == ["goal[1].instruction"]


def test_a_hidden_file_in_the_world(tmp_path):
    folder = write_task(tmp_path)
    (folder / "environment" / "check.sh").write_bytes((folder / "verifiers" / "first.sh").read_bytes())
    (folder / "environment" / "empty").touch()
    (folder / "verifiers" / "empty").touch()
    (leak,) = find_leaks(load_task(folder))
    assert leak.certain and leak.place == "environment/check.sh" and "verifiers/" in leak.problem


def test_a_name_the_agent_sees_anyway_is_no_leak(tmp_path):
    folder = write_task(tmp_path)
    (folder / "environment" / "last.sh").write_text("own\n")
    (folder / "instruction.md").write_text("Run last.sh.")
    assert list(find_leaks(load_task(folder))) == []
