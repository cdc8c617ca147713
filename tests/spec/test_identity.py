import msgspec
import pytest

from seatrial.errors import SpecError
from seatrial.journal.digest import digest_bytes
from seatrial.journal.run import Manifest
from seatrial.spec.identity import blobs, experiment_id, five_objects, freeze, plan
from seatrial.spec.loading import load_experiment
from tests.spec.folders import EXPERIMENT, TASK, changed, toml, write_experiment, write_task
from tests.spec.test_perturbation_rules import perturbation


@pytest.fixture
def home(tmp_path):
    """An experiment with a scripted and a python system."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "agent.py").write_text("class Mine: ...\n")
    python = {
        "name": "mine",
        "agent": "python",
        "code": "agent:Mine",
        "path": "code",
        "options": {"depth": 2},
    }
    write_experiment(tmp_path, {"system.2": python})
    return tmp_path


def load(home, change=None):
    if change:
        raw = load_experiment(home / "pilot.toml").raw
        (home / "pilot.toml").write_text(toml(changed(raw, change)))
    return load_experiment(home / "pilot.toml")


@pytest.mark.parametrize(
    "change",
    [
        {"trials_per_task": 5},
        {"arms": ["baseline", "interrupted:before_effect"]},
        {"name": "other"},
        {"primary": {"measure": "safe_success", "compare": ["careful", "hasty"]}},
        {"tasks": ["tasks/one"]},
    ],
)
def test_the_plan_and_labels_keep_the_id(home, change):
    assert experiment_id(load(home)) == experiment_id(load(home, change))


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ({"system.2.options": {"depth": 3}}, {"model"}),
        ({"system.2.agent": "command", "system.2.code": None, "system.2.path": None}, {"model", "harness"}),
        ({"system.1.script": "solutions/reference.toml"}, set()),
        ({"system.1.name": "swift"}, {"model", "harness"}),
        ({"system.1.privileged": True}, {"harness"}),
        ({"stop": "first_success"}, {"harness"}),
        ({"belief": True}, {"harness"}),
        ({"retry": {"infrastructure": 0}}, {"harness"}),
        ({"seed": 8}, {"environment"}),
        ({"cache": "warm"}, {"environment"}),
        ({"final_verdicts": 5}, {"task"}),
    ],
)
def test_a_changed_experiment_changes_its_objects(home, change, touched):
    before, after = five_objects(load(home)), five_objects(load(home, change))
    assert {key for key in before if before[key] != after[key]} == touched


@pytest.mark.parametrize(
    ("file", "touched"),
    [
        ("code/agent.py", {"harness"}),
        ("tasks/one/verifiers/first.sh", {"task"}),
        ("tasks/one/instruction.md", {"task"}),
        ("tasks/one/environment/start.txt", {"task"}),
        ("tasks/one/solutions/wrong.toml", {"harness", "task"}),
    ],
)
def test_a_changed_file_changes_the_id(home, file, touched):
    before, old = five_objects(load(home)), experiment_id(load(home))
    path = home / file
    path.write_text(path.read_text() + "\n# more\n")
    after = five_objects(load(home))
    assert {key for key in before if before[key] != after[key]} == touched
    assert experiment_id(load(home)) != old


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ({"budget": {"actions": 9}}, {"budget", "task"}),
        ({"environment.limits": {"memory_mb": 99}}, {"environment", "task"}),
        ({"subgoal.0.weight": 2.0}, {"task"}),
    ],
)
def test_a_changed_task_changes_its_objects(home, change, touched):
    before = five_objects(load(home))
    (home / "tasks" / "one" / "task.toml").write_text(toml(changed(TASK, change)))
    after = five_objects(load(home))
    assert {key for key in before if before[key] != after[key]} == touched


def test_the_id_does_not_depend_on_place_or_order(tmp_path):
    for name in ("x", "y"):
        write_experiment(tmp_path / name, {"system": EXPERIMENT["system"][:: 1 if name == "x" else -1]})
        for task in ("a", "b"):
            write_task(tmp_path / name / "tasks" / task, {"id": f"ledger/{task}"})
    (tmp_path / "y" / "tasks" / "a").rename(tmp_path / "y" / "tasks" / "z")
    assert experiment_id(load(tmp_path / "x")) == experiment_id(load(tmp_path / "y"))


def test_the_plan_is_paired(home):
    write_task(home / "tasks" / "two", {"id": "ledger/two", **perturbation()})
    arms = ["baseline", "perturbed:limits"]
    planned = plan(load(home, {"trials_per_task": 3, "arms": arms}))
    assert len(planned) == len({trial.trial for trial in planned}) == 3 * 3 * (1 + 2)
    assert planned[0].trial == "ledger-steps.careful.baseline.1"
    seeds = {}
    for trial in planned:
        seeds.setdefault((trial.task, trial.repeat), set()).add(trial.seed)
    assert all(len(group) == 1 for group in seeds.values())
    assert len({next(iter(group)) for group in seeds.values()}) == len(seeds)
    assert all(0 <= trial.seed < 2**52 for trial in planned)
    assert {t.task for t in planned if t.arm == "perturbed:limits"} == {"ledger/two"}
    assert "ledger-two.mine.perturbed-limits.3" in {t.trial for t in planned}


def test_more_trials_and_arms_leave_the_others_as_they_are(home):
    before = plan(load(home))
    arms = ["forked:a@1", "baseline", "forked:a-1", "interrupted:before_effect"]
    after = plan(load(home, {"trials_per_task": 4, "arms": arms}))
    assert {t.trial: t for t in before}.items() <= {t.trial: t for t in after}.items()
    assert len({t.trial for t in after}) == len(after)


def test_names_that_look_alike_stay_apart(tmp_path):
    path = write_experiment(tmp_path, {"system.0.name": "m.1", "system.1.name": "m-1"})
    for folder, name in (("a", "x-y/z"), ("b", "x/y-z"), ("c", "x/y.z")):
        write_task(tmp_path / "tasks" / folder, {"id": name})
    names = [trial.trial for trial in plan(load_experiment(path))]
    assert len(set(names)) == len(names) == 8
    assert all(name.count(".") == 3 and "/" not in name for name in names)


def test_freeze_fills_a_manifest(home):
    loaded = load(home)
    frozen = freeze(loaded)
    manifest = Manifest(**frozen._asdict(), host={})
    again = msgspec.json.decode(msgspec.json.encode(manifest), type=Manifest)
    assert again == manifest
    assert again.task("ledger/steps").digest == loaded.tasks[0].digest
    assert (
        again.systems["careful"]["scripts"]["ledger/steps"]
        == loaded.tasks[0].files["solutions/reference.toml"][0]
    )
    assert again.systems["mine"]["options"] == {"depth": 2}
    assert len({system["digest"] for system in again.systems.values()}) == 3
    stored = dict(blobs(loaded))
    for files in (again.tasks[0].files, loaded.code["mine"]):
        assert {digest for digest, _ in files.values()} <= set(stored)
    assert all(digest_bytes(data) == digest for digest, data in stored.items())


def test_a_file_changed_after_loading_is_noticed(home):
    loaded = load(home)
    (home / "code" / "agent.py").write_text("changed")
    with pytest.raises(SpecError, match=r"agent\.py: was changed"):
        list(blobs(loaded))
