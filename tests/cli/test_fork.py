"""`seatrial fork` by its command: what it makes, says, refuses, and goes on with."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.schedule.small import COMMAND, experiment, go_on, journals, plan, seatrial
from tests.trial.disturbed import write_disturbed
from tests.waiting import await_none, until

RIGHT = "small-one.right.baseline.1"
SPOIL = '[[step]]\ntool = "shell"\ncommand = "echo no > done; chmod 0400 done"\n'
HARMLESS = '[[step]]\ntool = "shell"\ncommand = "ls"\n[[step]]\ntool = "shell"\ncommand = "echo yes > done"\n'
SCRIPTS = {
    "right": ["mkdir d; echo b > d/b", "echo first > a", "echo yes > done"],
    "wrong": ["echo no > done"],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment, its run, and scripts of other actions."""
    folder = tmp_path_factory.mktemp("fork")
    go_on(experiment(folder, SCRIPTS), folder / "run")
    (folder / "spoil.toml").write_text(SPOIL)
    (folder / "harmless.toml").write_text(HARMLESS)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished / "run", tmp_path / "run", symlinks=True)


def fork(run: Path, *words: str) -> Any:
    """What the command says as JSON."""
    done = subprocess.run([*COMMAND, "fork", str(run), *words, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def effects(told: Any) -> dict[tuple[str, str], float | None]:
    return {
        (e["candidate"], e["measure"]): e["estimate"]["value"]
        for group in told["forks"]["groups"]
        for e in group["effects"]
    }


def test_the_terminal_says_why_an_effect_is_unknown(finished: Path, run: Path) -> None:
    words = [*COMMAND, "fork", str(run), f"{RIGHT}@2", "-n", "1", "--action", str(finished / "spoil.toml")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "actions to success" in line]
    assert "unknown, no interval" in line and "1 of 1 pairs lack an amount (did not succeed)." in line


def test_a_wrong_action_shows_its_effect_and_a_harmless_one_none(finished: Path, run: Path) -> None:
    spoil, harmless = str(finished / "spoil.toml"), str(finished / "harmless.toml")
    told = fork(run, f"{RIGHT}@2", "-n", "2", "--action", spoil, "--action", harmless)
    assert len(told["trials"]) == 6
    found = effects(told)
    for measure in ("strict_success", "safe_success", "progress"):
        assert found["action=spoil", measure] == -1
        assert found["action=harmless", measure] == 0
    assert found["action=harmless", "actions_to_success"] == 1
    assert found["action=spoil", "actions_to_success"] is None
    (group,) = told["forks"]["groups"]
    assert [line["valid"] for line in group["lines"]] == [2, 2, 2]
    assert "given by hand" in group["rule"]
    assert group["causal"] is True
    # Forks of a script are copies of one trial.
    for line in group["lines"]:
        assert (line["copies"], line["strict"]["n_trials"], line["strict"]["low"]) == (True, 1, None)
    assert {(e["estimate"]["n_trials"], e["estimate"]["low"]) for e in group["effects"]} <= {(2, None)}
    assert "control: right has a script: its forks are 2 copies of one trial" in " ".join(group["notes"])


def test_another_system_goes_on_and_neither_side_remembers(run: Path) -> None:
    told = fork(run, f"{RIGHT}@1", "-n", "2", "--system", "wrong")
    (said,) = (note for note in told["forks"]["groups"][0]["notes"] if note.startswith("Memory none"))
    assert "nothing of the 1 step before" in said and "same-seed" not in said
    assert effects(told)["component=wrong", "strict_success"] == -1
    (group,) = told["forks"]["groups"]
    assert [(line["candidate"], line["system"], line["memory"]) for line in group["lines"]] == [
        ("control", "right", "none"), ("component=wrong", "wrong", "none"),
    ]  # fmt: skip
    records = json.loads(seatrial("measure", str(run), "--json"))["records"]
    assert {r["arm"] for r in records if r["system"] == "wrong"} == {
        "baseline", f"forked:{RIGHT}@1:component=wrong",
    }  # fmt: skip


def test_forks_are_in_no_rate_but_in_the_report(finished: Path, run: Path) -> None:
    before = seatrial("estimate", "rate", str(run), "--json")
    fork(run, f"{RIGHT}@2", "-n", "1", "--action", str(finished / "spoil.toml"))
    after = seatrial("estimate", "rate", str(run), "--json")
    assert json.loads(after)["lines"] == json.loads(before)["lines"]
    assert "2 forks are left out" in after
    assert "2 forks are left out" in seatrial("compare", str(run), "--a", "right", "--b", "wrong")
    seatrial("report", str(run))
    report = json.loads((run / "report" / "report.json").read_bytes())
    assert {row["arm"] for row in report["main_table"]} == {"baseline"}
    assert {row["arm"] for row in report["headline"]["rows"]} == {"baseline"}
    assert len(report["trials"]) == 4
    assert len(report["forks"]["groups"]) == 1
    assert "not causal" not in (run / "report" / "index.html").read_text()
    assert "action=spoil" in (run / "report" / "tables" / "forks.csv").read_text()
    assert "0 differ" in seatrial("verify", str(run), "--check")
    assert json.loads(seatrial("show", str(run), "--json"))["headline"] is not None


def test_the_experiments_own_command_goes_on_with_a_forked_run(finished: Path, run: Path) -> None:
    told = fork(run, f"{RIGHT}@1", "-n", "1")
    before = journals(run)
    go_on(finished / "experiment.toml", run)
    assert journals(run) == before
    assert plan(run)[-1] == told["trials"][0]
    note = json.loads((run / "manifest.json").read_bytes())["amendments"][-1]
    assert note["added"] == told["trials"]
    assert note["fork"] == {"seed": 7, "non_causal": False}


def test_a_greater_number_adds_forks_and_leaves_those_there_are(run: Path) -> None:
    first = fork(run, f"{RIGHT}@1", "-n", "1")["trials"]
    before = journals(run)
    second = fork(run, f"{RIGHT}@1", "-n", "2")["trials"]
    assert second[:1] == first
    assert len(second) == 2
    assert {path: journals(run)[path] for path in before} == before


@pytest.mark.parametrize("by_run", [False, True])
def test_forks_that_were_killed_are_gone_on_with(tmp_path: Path, by_run: bool) -> None:
    slow = ["echo 1 > one", "sleep 1; echo 2 > two", "echo yes > done"]
    file, run = experiment(tmp_path, {"right": slow}), tmp_path / "run"
    go_on(file, run)
    words = ["fork", str(run), f"{RIGHT}@1", "-n", "2"]
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    until(lambda: any("fork" in path for path in journals(run)))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    await_none(f"seatrial.trial.worker\0{process.pid}\0")
    if by_run:
        go_on(file, run)
    else:
        seatrial(*words)
    records = json.loads(seatrial("measure", str(run), "--json"))["records"]
    ended = {r["trial"] for r in records if "fork" in r["trial"] and r["terminal_class"] == "success"}
    assert len(ended) == 2
    assert len(plan(run)) == 3


def test_steps_are_drawn_with_a_known_probability(finished: Path, run: Path) -> None:
    spoil = str(finished / "spoil.toml")
    told = fork(run, "--sample", "3", "-n", "1", "--action", spoil, "--seed", "11")
    groups = told["forks"]["groups"]
    assert len({(group["trial"], group["step"]) for group in groups}) == 3
    # Four actions of one, two of the other: a step counts where another action follows.
    assert all("one of 3 of the 6 that can be forked" in group["rule"] for group in groups)
    assert all("probability 0.5, seed 11" in group["rule"] for group in groups)
    assert {each["states"] for each in told["forks"]["drawn"]} == {3}
    again = fork(run, "--sample", "3", "-n", "1", "--action", spoil, "--seed", "11")
    assert again["trials"] == told["trials"]


def test_a_disturbance_is_compared_with_none_at_one_state(tmp_path: Path) -> None:
    file = write_disturbed(tmp_path, ["baseline", "perturbed:limit-changed"], ["hasty"])
    run = tmp_path / "run"
    go_on(file, run)
    armed, plain = (f"small-limit.hasty.{arm}.1" for arm in ("perturbed-limit-changed", "baseline"))
    told = fork(run, f"{armed}@0", "-n", "1", "--without-perturbation")
    assert effects(told)["undisturbed", "strict_success"] == 1
    told = fork(run, f"{plain}@0", "-n", "1", "--perturbation", "limit-changed")
    assert effects(told)["perturbation=limit-changed", "strict_success"] == -1
    said = seatrial("fork", str(run), f"{plain}@1", "-n", "1", "--perturbation", "limit-changed")
    assert "perturbation=limit-changed (memory: replay; armed: limit-changed)" in said
    assert "limit-changed waited for the trigger; something fired in 1 of 1 valid fork" in said
    said = seatrial("fork", str(run), f"{plain}@1", "-n", "1", "--perturbation", "limit", status=2)
    assert "no task of this run has it" in said
    seatrial("report", str(run))
    page = (run / "report" / "index.html").read_text()
    assert "perturbation=limit-changed" in page and "undisturbed" in page
    report = json.loads((run / "report" / "report.json").read_bytes())
    assert {row["arm"] for row in report["main_table"]} == {"baseline", "perturbed:limit-changed"}


def test_a_fork_that_is_not_causal_says_so_everywhere(tmp_path: Path) -> None:
    file, run = experiment(tmp_path, {"right": ["sleep 60 & true", "echo yes > done"]}), tmp_path / "run"
    go_on(file, run)
    said = seatrial("fork", str(run), f"{RIGHT}@1", "-n", "1", status=2)
    assert "background processes were running" in said
    assert "--non-causal" in said
    assert len(plan(run)) == 1
    said = seatrial("fork", str(run), f"{RIGHT}@1", "-n", "1", "--non-causal")
    assert "NOT CAUSAL: 1 background processes were running" in said
    seatrial("report", str(run))
    assert "not causal" in (run / "report" / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((f"{RIGHT}@9", "-n", "1"), "has no step 9. Its steps are 0 to 4"),
        ((f"{RIGHT}@4", "-n", "1"), "the trial ended with this step (finished)"),
        (("small-one.rigth.baseline.1@1", "-n", "1"), f'Did you mean "{RIGHT}"?'),
        ((f"{RIGHT}@1", "-n", "0"), "-n 0: is no number of forks"),
        ((RIGHT, "-n", "1"), "is not TRIAL@STEP"),
        ((f"{RIGHT}@x", "-n", "1"), "is not TRIAL@STEP"),
        (("-n", "1"), "name TRIAL@STEP, or draw steps with --sample"),
        ((f"{RIGHT}@1", "-n", "1", "--system", "wrogn"), 'Did you mean "wrong"?'),
        ((f"{RIGHT}@1", "-n", "1", "--system", "right"), "is the one that acted"),
        ((f"{RIGHT}@1", "-n", "1", "--attempt", "2"), "has ended attempts [1]"),
        ((f"{RIGHT}@1", "-n", "1", "--action", "none.toml"), "none.toml: cannot be read"),
        ((f"{RIGHT}@1", "-n", "1", "--memory", "some"), "Give kept or none"),
        ((f"{RIGHT}@1", "-n", "1", "--workers", "0"), "--workers 0"),
        ((f"{RIGHT}@1", "-n", "1", "--sample", "1"), "names a step already"),
        (("--sample", "99", "-n", "1"), "6 can be forked. Draw fewer"),
        (("--sample", "0", "-n", "1"), "is no number of steps"),
        ((f"{RIGHT}@1", "-n", "1", *("--system", "wrong") * 2), "--system 'wrong': is there twice"),
        ((f"{RIGHT}@1", "-n", "1", *("--action", "a/x.toml", "--action", "b/x.toml")), "'x': is there twice"),
        (("--sample", "1", "-n", "1", *("--system", "wrong") * 2), "--system 'wrong': is there twice"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    finished: Path, words: tuple[str, ...], said: str
) -> None:
    run = finished / "run"
    before = (run / "manifest.json").read_bytes(), journals(run)
    assert said in seatrial("fork", str(run), *words, status=2)
    assert ((run / "manifest.json").read_bytes(), journals(run)) == before


def test_another_action_of_a_name_that_was_compared_there_is_refused(
    finished: Path, run: Path, tmp_path: Path
) -> None:
    words = (f"{RIGHT}@2", "-n", "1", "--no-control", "--action", str(finished / "spoil.toml"))
    fork(run, *words)
    other = tmp_path / "spoil.toml"
    other.write_text(HARMLESS)
    before = (run / "manifest.json").read_bytes(), journals(run)
    said = seatrial("fork", str(run), f"{RIGHT}@2", "-n", "2", "--action", str(other), status=2)
    assert f"--action 'spoil': at {RIGHT}@2 another action was compared under that name" in said
    assert ((run / "manifest.json").read_bytes(), journals(run)) == before
    assert len(fork(run, *words)["trials"]) == 1  # the same one goes on


def test_an_action_with_conditions_is_refused(finished: Path, tmp_path: Path) -> None:
    file = tmp_path / "wait.toml"
    file.write_text('[[step]]\ntool = "shell"\ncommand = "ls"\nwhen_shown = "x"\n')
    said = seatrial("fork", str(finished / "run"), f"{RIGHT}@1", "-n", "1", "--action", str(file), status=2)
    assert "wait.toml: step[0]: when_shown, belief and check mean nothing here" in said


def test_runs_that_have_no_states_are_refused(finished: Path, tmp_path: Path) -> None:
    go_on(finished / "experiment.toml", tmp_path / "unsafe", "--unsafe-no-sandbox")
    said = seatrial("fork", str(tmp_path / "unsafe"), f"{RIGHT}@1", "-n", "1", status=2)
    assert "ran without a sandbox" in said
    table = tmp_path / "rows.csv"
    table.write_text("task,system,success\na,one,1\n")
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(
        'schema = "seatrial/mapping@1"\n[columns]\ntask = "task"\nsystem = "system"\n'
        'strict_success = "success"\n'
    )
    imported = tmp_path / "imported"
    seatrial("import", "csv", str(table), "--mapping", str(mapping), "-o", str(imported))
    said = seatrial("fork", str(imported), "t@1", "-n", "1", status=2)
    assert "imported" in said
