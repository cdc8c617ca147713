"""An endpoint that is not there, or a key that is not set, is told before anything is written or spent."""

from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_experiment
from tests.agents.chats import KEY, write_experiment
from tests.agents.model_server import model_server, says
from tests.runs import open_run


def refused(folder: Path, endpoint: str, **options: str) -> SpecError:
    loaded = load_experiment(write_experiment(folder, endpoint, **options))
    with pytest.raises(SpecError) as fault:
        open_run(loaded, folder / "run")
    assert not (folder / "run").exists()
    return fault.value


def test_nobody_listens(tmp_path: Path) -> None:
    with model_server(says()) as server:
        endpoint = server.endpoint
    fault = refused(tmp_path, endpoint)
    assert fault.place == "system[0].options.endpoint"
    assert endpoint in fault.problem
    assert "cannot be reached" in fault.problem
    assert "Start the server" in fault.remedy


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
