"""A real task calibrated by real trials: what is right, what is wrong, what wavers, what survives."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from seatrial.calibrate.freeze import freeze_suite
from seatrial.calibrate.record import Calibration, Undecided, read_calibration, require_calibrated
from seatrial.errors import SpecError, UsageError
from seatrial.spec.loading import load_experiment, load_task
from seatrial.spec.new_task import new_task
from seatrial.spec.suite_file import load_suite
from tests.waiting import children

COMMAND = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]
WAVERING = "#!/bin/sh\n[ $(($(od -An -N1 -tu1 /dev/urandom) % 2)) = 0 ] && echo pass >&3 || echo fail >&3\n"
EXPERIMENT = (
    'schema = "seatrial/experiment@1"\nname = "pilot"\ntasks = ["suite:pilot"]\n'
    '[[system]]\nname = "a"\nagent = "scripted"\nscript = "solutions/reference.toml"\n'
)


def calibrate(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, "calibrate", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate") / "seating"
    new_task(folder, "example/seating")
    status, said = calibrate(str(folder), "--mutate")
    assert status == 0, said
    return folder


@pytest.fixture
def task(calibrated: Path, tmp_path: Path) -> Path:
    shutil.copytree(calibrated, tmp_path / "seating")
    return tmp_path / "seating"


def test_the_new_task_is_calibrated_and_its_record_says_what_was_tried(calibrated: Path) -> None:
    found = read_calibration(calibrated)
    assert found is not None and found.passed and found.flaky == []
    assert {product.name: product.expected for product in found.products} == {
        "no-op": "rejected", "reference": "accepted", "rule-breaker": "rejected", "wrong": "rejected",
    }  # fmt: skip
    assert all(len(product.outcomes) == 2 for product in found.products)
    breaker = next(product for product in found.products if product.name == "rule-breaker")
    assert {(end.strict_success, end.safe_success) for end in breaker.outcomes} == {(True, False)}
    assert found.mutation is not None and (found.mutation.tried, found.mutation.survivors) == (4, [])


def test_the_record_says_what_rejected_each_mutant(calibrated: Path) -> None:
    found = read_calibration(calibrated)
    assert found is not None and found.mutation is not None and found.mutation.rejected is not None
    by = {mutant.name: mutant.by for mutant in found.mutation.rejected}
    assert by == {
        "1-drop": ["names-once", "closing-line"], "1-command": ["names-once", "closing-line"],
        "2-drop": ["closing-line"], "2-command": ["closing-line"],
    }  # fmt: skip
    # Whatever is wrong with the names is wrong with the line about them too.
    assert found.mutation.never_alone == ["names-once"]


def test_a_verifier_that_only_others_stand_in_for_is_named(task: Path) -> None:
    # Nothing is left that names-once alone rejects: the closing line needs what it checks.
    (task / "solutions" / "wrong.toml").unlink()
    (task / "solutions" / "reference.toml").write_text(
        '[[step]]\ntool = "shell"\ncommand = """\nLC_ALL=C sort -u answers.txt > seating.txt\n'
        'echo \'5 guests, from Ada to Mary\' > summary.txt\n"""\n[[step]]\ntool = "finish"\n'
    )
    status, said = calibrate(str(task), "--mutate")
    assert (status, "2 of 2 rejected" in said) == (0, True), said
    assert "step 1 (shell) dropped: rejected by names-once, closing-line" in said
    found = read_calibration(task)
    assert found is not None and found.mutation is not None
    assert f"no solution by themselves: {', '.join(found.mutation.never_alone)}. Were" in said
    assert "names-once" in found.mutation.never_alone
    assert require_calibrated(load_task(task)).mutation == found.mutation


def test_what_became_of_the_mutants_must_add_up(task: Path) -> None:
    found = read_calibration(task)
    assert found is not None and found.mutation is not None and found.mutation.rejected is not None
    kept = found.mutation.rejected
    found.mutation = msgspec.structs.replace(found.mutation, rejected=kept[1:])
    (task / "calibration.json").write_bytes(msgspec.json.encode(found))
    with pytest.raises(SpecError, match=r"mutation\.rejected: what became of 3 mutants is kept, of 4 tried"):
        read_calibration(task)
    found.mutation = msgspec.structs.replace(found.mutation, rejected=None)
    (task / "calibration.json").write_bytes(msgspec.json.encode(found))
    assert read_calibration(task) == found


def test_the_record_is_no_part_of_the_task(task: Path) -> None:
    before = load_task(task).digest
    (task / "calibration.json").unlink()
    assert load_task(task).digest == before


def test_a_verifier_that_accepts_too_much_is_found_by_products_and_by_mutants(task: Path) -> None:
    (task / "verifiers" / "line.sh").write_text(
        "#!/bin/sh\n[ -f summary.txt ] && echo pass >&3 || echo fail >&3\n"
    )
    status, said = calibrate(str(task), "--mutate")
    assert status == 1
    assert "SURVIVED (success)  step 2 (shell): command" in said
    assert "NOT calibrated" in said
    (task / "verifiers" / "names.sh").write_text("#!/bin/sh\necho pass >&3\n")
    status, said = calibrate(str(task))
    assert (status, "WRONG  wrong: must be rejected; success" in said) == (1, True)


def test_a_verifier_that_rejects_the_reference_is_found(task: Path) -> None:
    (task / "verifiers" / "names.sh").write_text("#!/bin/sh\necho fail >&3\n")
    status, said = calibrate(str(task), "--json")
    found = msgspec.convert(json.loads(said)["calibrations"][0], Calibration)
    assert (status, found.passed, found.mutation) == (1, False, None)
    wrong = [product for product in found.products if not product.right]
    assert [(product.name, product.outcomes[0].failing) for product in wrong] == [
        ("reference", ["names-once"])
    ]


def test_a_verifier_that_wavers_is_named(task: Path) -> None:
    (task / "verifiers" / "names.sh").write_text(WAVERING)
    status, said = calibrate(str(task), "--rounds", "4")
    assert status == 1
    assert "FLAKY  names-once" in said


@pytest.mark.parametrize(
    ("verifier", "verdict", "reason"),
    [
        ("echo 'no such list' >&2; exit 3", "error", "exit code 3 instead of 0: no such list"),
        ("kill -9 $$", "error", "was killed by signal 9, or says so: exit code 137"),
        ("sleep 600", "error", "timed out after 0.1 seconds"),
        ("""echo '{"verdict": "unknown", "evidence": "too\\nfew names"}' >&3""", "unknown", "too few names"),
    ],
)
def test_what_is_not_known_is_called_so_and_says_why(
    task: Path, verifier: str, verdict: str, reason: str
) -> None:
    (task / "verifiers" / "names.sh").write_text(f"#!/bin/bash\n{verifier}\n")
    text = (task / "task.toml").read_text()
    limit = "timeout = 0.1" if "timed out" in reason else "timeout = 120.0"
    (task / "task.toml").write_text(
        text.replace('verifier = "verifiers/names.sh"', 'verifier = "verifiers/names.sh"\n' + limit)
    )
    status, said = calibrate(str(task))
    assert status == 1
    assert f"WRONG  reference: must be accepted; unknown, {verdict} at names-once ({reason})" in said
    assert f"no-op: must be rejected; failure at closing-line, {verdict} at names-once ({reason})" in said
    found = read_calibration(task)
    assert found is not None
    nothing = next(product for product in found.products if product.name == "no-op").outcomes[0]
    assert nothing.failing == ["closing-line"]
    assert nothing.undecided == [Undecided(subgoal="names-once", verdict=verdict, reason=reason)]


def test_what_fails_at_the_end_is_noticed_before_a_trial_is_played(task: Path, tmp_path: Path) -> None:
    keep, other = tmp_path / "kept", tmp_path / "other"
    shutil.copytree(task, other)
    (other / "calibration.json").unlink()
    status, said = calibrate(str(task), str(other), "--keep", str(keep))
    assert (status, "2 of the tasks would be kept as example-seating" in said) == (2, True)
    (other / "calibration.json").mkdir()
    status, said = calibrate(str(task), str(other))
    assert (status, "calibration.json: is a folder. Move it away" in said) == (2, True)
    (other / "calibration.json").rmdir()
    (other / "solutions" / "reference.toml").unlink()
    status, said = calibrate(str(task), str(other), "--keep", str(keep))
    assert (status, "there is no reference solution" in said) == (2, True)
    assert "done" not in said and not keep.exists()


@pytest.mark.parametrize("when", ["products", pytest.param("mutants", marks=pytest.mark.slow)])
def test_trials_that_cannot_be_completed_are_no_judgement(task: Path, tmp_path: Path, when: str) -> None:
    before, keep = (task / "calibration.json").read_bytes(), tmp_path / "kept"
    calibrating = subprocess.Popen(
        [*COMMAND, "calibrate", str(task), "--mutate", "--keep", str(keep)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while calibrating.poll() is None:
        if (keep / when / "run" / "manifest.json").exists():
            kill_workers(calibrating.pid)
    said, problem = calibrating.communicate()
    assert (calibrating.returncode, said) == (2, "")
    assert "trials could not be completed, and nothing was recorded" in problem
    assert "the trial's process ended with status -9" in problem
    assert (task / "calibration.json").read_bytes() == before


def kill_workers(parent: int) -> None:
    """Kill every trial's process that a process has started."""
    for child in children(parent):
        try:
            handle = os.pidfd_open(child)
        except ProcessLookupError:
            continue
        try:
            if b"seatrial.trial.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass
        finally:
            os.close(handle)


def test_without_a_reference_there_is_nothing_to_calibrate(task: Path) -> None:
    (task / "solutions" / "reference.toml").rename(task / "solutions" / "right.toml")
    status, said = calibrate(str(task))
    assert status == 2
    assert "solutions/reference.toml: there is no reference solution" in said


def test_freezing_takes_calibrated_tasks_only(task: Path, tmp_path: Path) -> None:
    out = tmp_path / "pilot.suite.toml"
    suite = freeze_suite([load_task(task)], out, ["example/seating"])
    assert load_suite(out) == suite
    assert (suite.name, suite.task[0].anchor, suite.task[0].folder) == ("pilot", True, "seating")
    (task / "instruction.md").write_text("Something else.\n")
    with pytest.raises(SpecError, match="the task has changed"):
        freeze_suite([load_task(task)], out)
    (task / "calibration.json").unlink()
    with pytest.raises(SpecError, match=r"never calibrated.*seatrial calibrate"):
        freeze_suite([load_task(task)], out)
    (task / "calibration.json").write_text("{")
    with pytest.raises(SpecError, match="damaged"):
        freeze_suite([load_task(task)], out)
    assert load_suite(out) == suite


def passed_anew(task: Path) -> None:
    """A calibration of the task as it is now, with the outcomes of the one it has."""
    found = read_calibration(task)
    assert found is not None
    found.digest = load_task(task).digest
    (task / "calibration.json").write_bytes(msgspec.json.encode(found))


def test_one_version_never_names_two_tasks(task: Path, tmp_path: Path) -> None:
    out = tmp_path / "pilot.suite.toml"
    freeze_suite([load_task(task)], out)
    (task / "instruction.md").write_text("Write the list.\n")
    passed_anew(task)
    with pytest.raises(SpecError, match=r"was frozen as version 1\.0\.0"):
        freeze_suite([load_task(task)], out)
    text = (task / "task.toml").read_text()
    (task / "task.toml").write_text(text.replace('version = "1.0.0"', 'version = "1.0.1"', 1))
    passed_anew(task)
    assert freeze_suite([load_task(task)], out).task[0].version == "1.0.1"


def test_a_calibration_that_did_not_pass_freezes_nothing(task: Path) -> None:
    found = read_calibration(task)
    assert found is not None
    found.passed, found.flaky = False, ["names-once"]
    (task / "calibration.json").write_bytes(msgspec.json.encode(found))
    with pytest.raises(SpecError, match="flaky \\['names-once'\\]"):
        require_calibrated(load_task(task))


@pytest.mark.parametrize("name", ["pilot.toml", ".suite.toml"])
def test_a_suite_file_has_a_name_that_experiments_can_use(task: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"NAME\.suite\.toml"):
        freeze_suite([load_task(task)], tmp_path / name)
    with pytest.raises(UsageError, match="stands for 2 tasks"):
        freeze_suite([load_task(task)] * 2, tmp_path / "a.suite.toml")
    with pytest.raises(UsageError, match="none of the tasks"):
        freeze_suite([load_task(task)], tmp_path / "a.suite.toml", ["example/other"])


def test_an_experiment_names_a_suite_whose_tasks_must_be_as_they_were_frozen(
    task: Path, tmp_path: Path
) -> None:
    freeze_suite([load_task(task)], tmp_path / "pilot.suite.toml")
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(EXPERIMENT)
    assert [loaded.spec.id for loaded in load_experiment(experiment).tasks] == ["example/seating"]
    (task / "instruction.md").write_text("Something else.\n")
    with pytest.raises(SpecError, match="was frozen as"):
        load_experiment(experiment)
    (tmp_path / "pilot.suite.toml").unlink()
    with pytest.raises(SpecError, match=r"there is no file.*suite freeze"):
        load_experiment(experiment)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "pilot"', 'name = "other"', 'name: "other" is not the name of the file. Write name = "pil'),
        ('version = "1.0.0"', 'version = "2.0.0"', 'task[0].version: "2.0.0"; the task in seating says "1'),
        ('id = "example/seating"', 'id = "example/other"', 'task[0].id: "example/other"; the task in seat'),
        ("anchor = false", 'group = "deep"', 'task[0].group: "deep"; the task in seating says null'),
        ('state = "frozen"', 'state = "retired"', '"suite:pilot" is retired (the suite does not say why)'),
        ("[[task]]", "[[gone]]", 'gone: unknown key "gone"'),
    ],
)  # fmt: skip
def test_what_a_suite_says_of_itself_and_its_tasks_must_be_so(
    task: Path, tmp_path: Path, before: str, after: str, message: str
) -> None:
    out = tmp_path / "pilot.suite.toml"
    freeze_suite([load_task(task)], out)
    text = out.read_text()
    assert text.count(before) == 1
    out.write_text(text.replace(before, after))
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(EXPERIMENT)
    with pytest.raises(SpecError) as raised:
        load_experiment(experiment)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["", "../pilot", "suites/pilot"])
def test_a_suite_stands_beside_the_experiment(task: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "deeper" / "suites").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "deeper" / "suites"):
        freeze_suite([load_task(task)], folder / "pilot.suite.toml")
    experiment = tmp_path / "deeper" / "experiment.toml"
    experiment.write_text(EXPERIMENT.replace("suite:pilot", f"suite:{name}"))
    with pytest.raises(SpecError, match=r"is no suite's name\. Write suite:NAME, with NAME"):
        load_experiment(experiment)
