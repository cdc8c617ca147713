"""Which systems get a proxy, and what a journal can say of the others' model calls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.agents.model.recorder import CallRecorder
from seatrial.environment.confine.host import Host
from seatrial.errors import UsageError
from seatrial.gateway.meter import Meter
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Budget
from seatrial.trial.models import metering, model_proxy


@pytest.mark.parametrize(
    ("agent", "confined", "seen"),
    [("chat", True, "proxy"), ("chat", False, "proxy"), ("python", True, "none"),
     ("python", False, "unwatched"), ("scripted", False, "none"), ("simulated", False, "none")],
)  # fmt: skip
def test_only_what_could_not_call_unseen_called_nothing(agent: str, confined: bool, seen: str) -> None:
    assert metering({"agent": agent}, confined) == seen


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[CallRecorder]:
    meter = Meter(Budget())
    journal = JournalWriter(tmp_path / "journal.jsonl", meter.now_us)
    yield CallRecorder(journal, ObjectStore(tmp_path / "objects"), meter, lambda: 1)
    journal.close()


def test_agents_without_a_model_get_none(host: Host, recorder: CallRecorder) -> None:
    with model_proxy({"agent": "scripted"}, host, recorder) as proxy:
        assert proxy is None


def test_a_proxy_leaves_nothing_behind(host: Host, recorder: CallRecorder) -> None:
    options = {"endpoint": "http://127.0.0.1:1/v1", "model": "m"}
    with model_proxy({"agent": "chat", "options": options}, host, recorder) as proxy:
        assert proxy is not None
        place = Path(proxy.socket_path)
        assert place.is_socket()
    assert not place.parent.exists()


def test_without_its_key_nothing_is_opened(
    host: Host, recorder: CallRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    options = {"endpoint": "http://127.0.0.1:1/v1", "model": "m", "api_key_env": "MODEL_KEY"}
    with (
        pytest.raises(UsageError, match="MODEL_KEY is not set"),
        model_proxy({"agent": "chat", "options": options}, host, recorder),
    ):
        raise AssertionError("it was opened")
