import pytest

from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from tests.spec.folders import write_task
from tests.spec.test_perturbation_rules import perturbation

GOAL_2 = {"version": 2, "instruction": "instruction.md", "relation": "add"}


def lint(folder):
    return [(finding.level, finding.place) for finding in lint_task(load_task(folder))]


def test_the_small_task_is_clean(tmp_path):
    assert lint(write_task(tmp_path)) == []
    assert lint(write_task(tmp_path, {"goal.1": GOAL_2, "subgoal.1.goals": [2], **perturbation()})) == []


@pytest.mark.parametrize(
    ("change", "found", "piece"),
    [
        (
            {"horizon.dependency_depth": 5},
            ("error", "horizon.dependency_depth"),
            "5 is declared, but the longest",
        ),
        ({"horizon.dependency_depth": None}, ("warning", "horizon.dependency_depth"), "dependency_depth = 2"),
        ({"horizon.live_constraints": 1}, ("error", "horizon.live_constraints"), "Write 0"),
        ({"horizon.goal_changes": 0, "goal.1": GOAL_2}, ("error", "horizon.goal_changes"), "Write 1"),
        ({"version": "one"}, ("warning", "version"), "'one'"),
        ({"subgoal.0.reads": []}, ("warning", "subgoal[0].reads"), "'first-part' declares no reads"),
        (
            {"constraint": [{"id": "c", "forbid": {"write": ["files:start.txt", "files:strat.txt"]}}]},
            ("warning", "constraint[0].forbid.write[1]"),
            "'files:strat.txt'",
        ),
        (perturbation(affects=[]), ("warning", "perturbation[0].affects"), 'affects = ["last-part"]'),
        (
            perturbation(affects=[], change={"delete": "files:other"}),
            ("error", "perturbation[0].affects"),
            "affects no subgoal, so it tests nothing",
        ),
        (
            perturbation(affects=[], when={"subgoal_verified": "last-part"}),
            ("error", "perturbation[0].affects"),
            "affects no subgoal, so it tests nothing",
        ),
        (
            perturbation(affects=[], kind="observation", change={"truncate": 9}),
            ("error", "perturbation[0].affects"),
            "affects no subgoal, so it tests nothing",
        ),
        (
            {"goal.1": GOAL_2, **perturbation(kind="goal", change={"goal": 2})},
            ("error", "perturbation[0].change.goal"),
            "the same subgoals count as under version 1",
        ),
        (
            {
                "goal.1": GOAL_2,
                "goal.2": {**GOAL_2, "version": 3},
                "subgoal.1.goals": [3],
                "subgoal.2": {
                    "id": "other",
                    "verifier": "verifiers/last.sh",
                    "goals": [2],
                    "reads": ["files:b.txt"],
                },
                **perturbation(kind="goal", change={"goal": 2}, recovered_when={}),
            },
            ("error", "perturbation[0].affects[0]"),
            "belongs neither to goal version 1 nor to 2",
        ),
        (
            perturbation(affects=["last-part", "first-part"]),
            ("error", "perturbation[0].affects[1]"),
            "changes 'files:b.txt'; 'first-part' does not read it",
        ),
        (perturbation(change={"script": "instruction.md"}), ("warning", "perturbation[0].change"), "to ="),
    ],
)
def test_what_lint_finds(tmp_path, change, found, piece):
    folder = write_task(tmp_path, change)
    (finding,) = lint_task(load_task(folder))
    assert (finding.level, finding.place) == found
    assert piece in f"{finding.problem}. {finding.remedy}" and finding.remedy


@pytest.mark.parametrize(
    ("reads", "to", "touches"),
    [
        (["files:config/**"], "files:config/limits.toml", True),
        (["files:other/**"], "files:config/limits.toml", False),
        (["service:mail"], "files:config/limits.toml", False),
        (["db:app.db"], "files:app.db", True),
        ([], "files:config/limits.toml", True),
    ],
)
def test_a_perturbation_must_touch_what_is_read(tmp_path, reads, to, touches):
    change = perturbation(change={"write": "instruction.md", "to": to})
    folder = write_task(tmp_path, {"subgoal.1.reads": reads, "environment.services": ["mail"], **change})
    assert (("error", "perturbation[0].affects[0]") not in lint(folder)) == touches


@pytest.mark.parametrize(
    ("reads", "delete", "touches"),
    [
        (["files:start.txt"], "files:st*", True),
        (["files:other/**"], "files:st*", False),
        (["files:other/**"], "files:made-later*", True),
    ],
)
def test_a_pattern_is_tried_on_the_initial_files(tmp_path, reads, delete, touches):
    folder = write_task(tmp_path, {"subgoal.1.reads": reads, **perturbation(change={"delete": delete})})
    assert (("error", "perturbation[0].affects[0]") not in lint(folder)) == touches


def test_revoking_what_nothing_requires_is_no_test(tmp_path):
    approval = {"approval": [{"id": "go", "tool": "shell"}]}
    folder = write_task(tmp_path, {**approval, **perturbation(change={"revoke": "go"})})
    assert ("error", "perturbation[0].change.revoke") in lint(folder)


def test_what_a_prerequisite_reads_is_depended_on(tmp_path):
    change = perturbation(change={"write": "instruction.md", "to": "files:a.txt"})
    assert lint(write_task(tmp_path, change)) == []


def test_a_placebo_needs_to_affect_nothing(tmp_path):
    assert lint(write_task(tmp_path, perturbation(kind="placebo", change={}, affects=[]))) == []


def test_solutions_must_be_there_and_right(tmp_path):
    folder = write_task(tmp_path)
    (folder / "solutions" / "wrong.toml").write_text('[[step]]\ntool = "shel"\n')
    assert lint(folder) == [("error", "solutions/wrong.toml: step[0].tool")]
    for script in (folder / "solutions").iterdir():
        script.unlink()
    assert lint(folder) == [("error", "solutions/reference.toml")]
    (finding,) = lint_task(load_task(folder))
    assert finding.problem == "there is no reference solution"
    (folder / "solutions" / "wrong.toml").write_text('[[step]]\ntool = "finish"\n')
    (finding,) = lint_task(load_task(folder))
    assert finding.problem == "there is no reference solution; there are only solutions/wrong.toml"


def test_a_verifier_must_be_startable(tmp_path):
    folder = write_task(tmp_path)
    (folder / "verifiers" / "last.sh").write_text("echo pass >&3\n")
    assert lint(folder) == [("error", "subgoal[1].verifier")]


def test_an_empty_world_is_a_warning(tmp_path):
    folder = write_task(tmp_path, {"environment": None})
    (folder / "environment" / "start.txt").unlink()
    assert lint(folder) == [("warning", "environment.files")]


def test_errors_come_first(tmp_path):
    folder = write_task(tmp_path, {"version": "x", "horizon.dependency_depth": 9, "subgoal.0.reads": []})
    assert [level for level, _ in lint(folder)] == ["error", "warning", "warning"]
