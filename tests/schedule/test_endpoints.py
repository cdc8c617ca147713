"""An endpoint that is not there, or a key that is not set, is told before anything is written or spent."""

from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.journal.run import RunFolder
from seatrial.spec.loading import load_experiment
from tests.agents.chats import KEY, write_experiment
from tests.agents.model_server import model_server, nobody_listens, says, tool
from tests.runs import open_run
from tests.schedule.small import go_on


def refused(folder: Path, endpoint: str, **options: str) -> SpecError:
    loaded = load_experiment(write_experiment(folder, endpoint, **options))
    with pytest.raises(SpecError) as fault:
        open_run(loaded, folder / "run")
    assert not (folder / "run").exists()
    return fault.value


def test_nobody_listens(tmp_path: Path) -> None:
    with nobody_listens() as endpoint:
        fault = refused(tmp_path, endpoint)
    assert fault.place == "system[0].options.endpoint"
    assert endpoint in fault.problem
    assert "cannot be reached" in fault.problem
    assert "Start the server" in fault.remedy


def test_the_other_systems_can_be_run_meanwhile(tmp_path: Path) -> None:
    with nobody_listens() as endpoint:
        alone = refused(tmp_path / "alone", endpoint)
        assert "--system" not in alone.remedy
        path = write_experiment(tmp_path, endpoint)
        path.write_text(
            path.read_text() + '\n[[system]]\nname = "played"\nagent = "scripted"\nscript = "s.toml"\n'
        )
        (tmp_path / "task" / "s.toml").write_text('[[step]]\ntool = "finish"\n')
        said = go_on(path, tmp_path / "run", status=2)
        assert "or run the other systems first: --system played" in said
        assert not (tmp_path / "run").exists()
        go_on(path, tmp_path / "run", "--system", "played")


def test_no_such_host(tmp_path: Path) -> None:
    assert "cannot be reached" in refused(tmp_path, "https://no-such-host.invalid/v1").problem


def test_the_key_is_not_set_or_useless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    with model_server(says()) as server:
        fault = refused(tmp_path, server.endpoint, api_key_env="MODEL_KEY")
        assert (fault.place, fault.problem) == (
            "system[0].options.api_key_env", "the environment variable MODEL_KEY is not set",
        )  # fmt: skip
        assert fault.remedy == "Set it to the key of the endpoint"
        monkeypatch.setenv("MODEL_KEY", "tiny")
        assert "tiny" not in str(refused(tmp_path, server.endpoint, api_key_env="MODEL_KEY"))


def test_nothing_is_asked_of_an_endpoint_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with model_server(says()) as server:
        path = write_experiment(tmp_path, server.endpoint, api_key_env="MODEL_KEY")
        run = open_run(load_experiment(path), tmp_path / "run")
        assert server.requests == []
    assert run.manifest().systems["chatty"]["options"]["api_key_env"] == "MODEL_KEY"


SCRIPTED = """
[[system]]
name = "told"
agent = "scripted"
script = "solutions/told.toml"
"""


def gone(folder: Path) -> Path:
    """An experiment with a scripted system and a chat system whose endpoint and key are gone."""
    with nobody_listens() as endpoint:
        file = write_experiment(folder, endpoint, api_key_env="MODEL_KEY", attempts=3)
    (folder / "task" / "solutions").mkdir()
    (folder / "task" / "solutions" / "told.toml").write_text('[[step]]\ntool = "finish"\n')
    file.write_text(file.read_text() + SCRIPTED)
    return file


def test_an_endpoint_is_wanted_only_for_trials_that_are_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    file, run = gone(tmp_path), tmp_path / "run"
    assert "MODEL_KEY is not set" in go_on(file, run, status=2)
    assert not run.exists()
    go_on(file, run, "--system", "told")
    assert [line.trial for line in RunFolder.open(run).index()] == ["hidden-id-of-task.told.baseline.1"]
    go_on(file, run, "--limit", "0")
    manifest = (run / "manifest.json").read_bytes()
    assert "MODEL_KEY is not set" in go_on(file, run, status=2)
    assert (run / "manifest.json").read_bytes() == manifest


def test_a_run_whose_trials_all_ended_is_concluded_without_its_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with model_server(says(tool("finish", summary=""))) as server:
        file = write_experiment(tmp_path, server.endpoint, api_key_env="MODEL_KEY")
        go_on(file, tmp_path / "run")
    monkeypatch.delenv("MODEL_KEY")
    run = RunFolder.open(tmp_path / "run")
    (line,) = run.index()
    assert line.stop_reason == "finished"
    # Of the two things that may be left: judging, and a line of the index that a dead runner did not come to.
    run.verdicts_path(line.trial, 1).unlink()
    (run.folder / "index.jsonl").unlink()
    assert "failure" in go_on(file, run.folder)
    assert run.index() == [line]
    assert run.verdicts_path(line.trial, 1).exists()
