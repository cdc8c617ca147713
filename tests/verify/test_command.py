"""``seatrial verify`` on a run folder."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from seatrial.cli.verify import verify
from seatrial.environment.confine.host import Host
from seatrial.errors import SeatrialError
from seatrial.journal.run import IndexLine, RunFolder, TrialPlanned, write_whole
from seatrial.verify.table import read_verdicts
from tests.verify.bench import SHELL, Maker

COMMAND = typer.Typer()
COMMAND.command()(verify)


def seatrial(*arguments: object) -> Result:
    """The command in this process, which is in its namespaces already."""
    return CliRunner().invoke(COMMAND, [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path: Path, host: Host) -> RunFolder:
    """One ended trial of three states, another that never ended."""
    maker = Maker(tmp_path)
    checks = {"v": SHELL + "grep -q good a && echo pass >&3 || echo fail >&3"}
    task = maker.task(checks, [{"id": "one", "verifier": "verifiers/v", "reads": ["files:a"]}])
    journal = maker.journal([maker.state({"a": text}) for text in ("bad", "good", "bad")])
    cells = [
        TrialPlanned(trial=name, task=task.id, system="s", arm="baseline", seed=1, repeat=1) for name in "tu"
    ]
    manifest = msgspec.structs.replace(maker.run.manifest(), tasks=[task], plan=cells)
    manifest.experiment = {"final_verdicts": 2}
    write_whole(maker.run.folder / "manifest.json", msgspec.json.encode(manifest))
    maker.run.add_to_index(IndexLine(trial="t", attempt=1, digest=journal.digest, stop_reason="finished"))
    return maker.run


def report(*arguments: object) -> Any:
    done = seatrial(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_it_judges_from_the_run_folder_alone(run: RunFolder) -> None:
    first = report(run.folder)
    assert first["unfinished"] == ["u"]
    (trial,) = first["trials"]
    assert trial["final"] == {"one": ["fail", "fail"]}
    assert trial["subgoals"] == {"one": {"runs": 2, "states": 2, "cached": 1}}
    assert trial["differ"] is None
    checked = report(run.folder, "--check")["trials"][0]
    assert (checked["differ"], checked["recorded"], checked["subgoals"]) == ([], 3, {})
    table = read_verdicts(run, "t", 1)
    assert [(row.step, row.verdict) for row in table.rows] == [(0, "fail"), (1, "pass"), (2, "fail")]
    assert report(run.folder)["trials"][0]["subgoals"]["one"]["runs"] == 0
    shown = seatrial(run.folder)
    assert "one: fail fail at the end; 2 distinct states, 0 runs, 3 from the cache" in shown.stdout
    report(run.folder, "--final-only")
    assert [row.step for row in read_verdicts(run, "t", 1).rows] == [2]


def test_a_long_list_of_trials_without_an_end_is_counted_and_cut(run: RunFolder) -> None:
    manifest = run.manifest()
    waiting = [
        msgspec.structs.replace(manifest.plan[1], trial=f"u{number}", repeat=number)
        for number in range(2, 39)
    ]
    manifest = msgspec.structs.replace(manifest, plan=[*manifest.plan, *waiting])
    write_whole(run.folder / "manifest.json", msgspec.json.encode(manifest))
    said = seatrial(run.folder).stdout
    assert "38 not ended yet or without a state, hence not judged: u, u2, u3, u4, …\n" in said
    assert len(report(run.folder)["unfinished"]) == 38


def test_other_verifiers_replace_the_tables_and_their_labels(run: RunFolder, tmp_path: Path) -> None:
    old = report(run.folder)["trials"][0]["verifiers"]
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "v").write_text(SHELL + "echo pass >&3")
    (folder / "v").chmod(0o755)
    trial = report(run.folder, "--verifiers", folder)["trials"][0]
    assert trial["final"] == {"one": ["pass", "pass"]}
    assert trial["verifiers"] != old
    assert read_verdicts(run, "t", 1).verifiers == trial["verifiers"]
    assert report(run.folder)["trials"][0]["verifiers"] == old


def test_bad_input_is_one_clear_error(run: RunFolder, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, problem in [
        ((tmp_path / "nothing",), "is no run folder"),
        ((run.folder, "--verifiers", tmp_path / "nothing"), "is no folder"),
        ((run.folder, "--verifiers", empty), "there is no 'verifiers/v'"),
    ]:
        fault = seatrial(*arguments).exception
        assert isinstance(fault, SeatrialError)
        assert problem in str(fault)
