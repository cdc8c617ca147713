"""Options of chat agents: each wrong one is refused at its place, in the experiment that holds it."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.errors import SpecError
from seatrial.spec.chat import ChatOptions, Price, chat_options, frozen_options
from seatrial.spec.faults import Source
from seatrial.spec.identity import experiment_id, freeze
from seatrial.spec.loading import load_experiment
from tests.agents.chats import PRICE, write_experiment

GOOD = {"endpoint": "http://127.0.0.1:8080/v1", "model": "small"}


def test_defaults_are_written_out_where_they_are_frozen() -> None:
    frozen = frozen_options(GOOD)
    assert set(frozen) == set(ChatOptions.__struct_fields__)
    assert frozen["retries"]["rate_limited"] == 5
    assert frozen["backoff"] == {"first": 1.0, "factor": 2.0, "longest": 60.0}


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"temprature": 1}, "temprature"),
        ({"endpoint": "ftp://host/v1"}, "endpoint"),
        ({"endpoint": "127.0.0.1:8080"}, "endpoint"),
        ({"endpoint": "http://"}, "endpoint"),
        ({"endpoint": "http://host:99999/v1"}, "endpoint"),
        ({"endpoint": "http://host/v1?key=abc"}, "endpoint"),
        ({"endpoint": "http://me:secret@host/v1"}, "endpoint"),
        ({"endpoint": "http://ho st/v1"}, "endpoint"),
        ({"model": " "}, "model"),
        ({"api_key_env": "sk-live-1234"}, "api_key_env"),
        ({"temperature": -1}, "temperature"),
        ({"timeout": 0}, "timeout"),
        ({"nudges": 1000}, "nudges"),
        ({"retries": {"server_error": 21}}, "retries.server_error"),
        ({"retries": {"other": 1}}, "retries.other"),
        ({"backoff": {"factor": 0.5}}, "backoff.factor"),
        ({"price": {**PRICE, "date": "November"}}, "price.date"),
        ({"price": {**PRICE, "input": -1}}, "price.input"),
        ({"price": {"name": "list"}}, "price.date"),
        ({"extra": {"stream": True}}, "extra.stream"),
        ({"extra": {"messages": []}}, "extra.messages"),
    ],
)
def test_a_wrong_option_is_named(more: dict[str, Any], place: str) -> None:
    with pytest.raises(SpecError) as refused:
        chat_options(Source("e.toml"), "system[3].options", {**GOOD, **more})
    assert (refused.value.file, refused.value.place) == ("e.toml", f"system[3].options.{place}")


def test_what_may_be_a_key_is_not_shown() -> None:
    for more in ({"api_key_env": "sk-live-1234"}, {"endpoint": "http://me:sk-live-1234@host/v1"}):
        with pytest.raises(SpecError) as refused:
            chat_options(Source("e.toml"), "system[0].options", {**GOOD, **more})
        assert "sk-live-1234" not in str(refused.value)


def test_missing_options_are_refused_with_the_experiment(tmp_path: Path) -> None:
    path = write_experiment(tmp_path, GOOD["endpoint"])
    path.write_text(path.read_text().replace("model = ", "modell = "))
    with pytest.raises(SpecError) as refused:
        load_experiment(path)
    assert refused.value.place.startswith("system[0].options.model")


def test_an_experiment_has_one_currency(tmp_path: Path) -> None:
    path = write_experiment(tmp_path, GOOD["endpoint"], price=PRICE)
    other = path.read_text().partition("[[system]]")[2].replace("chatty", "other")
    path.write_text(f"{path.read_text()}[[system]]{other}")
    assert len(load_experiment(path).spec.system) == 2
    path.write_text("USD".join(path.read_text().rsplit("EUR", 1)))
    with pytest.raises(SpecError, match='"USD" is not the "EUR"') as refused:
        load_experiment(path)
    assert refused.value.place == "system[1].options.price.currency"


def test_a_money_budget_needs_a_price(tmp_path: Path) -> None:
    path = write_experiment(tmp_path, GOOD["endpoint"], {"money": 1.0})
    with pytest.raises(SpecError, match="money budget") as refused:
        load_experiment(path)
    assert refused.value.place == "system[0].options.price"
    write_experiment(tmp_path, GOOD["endpoint"], {"money": 1.0}, price=PRICE)
    assert load_experiment(path).spec.system[0].options["price"] == PRICE


def test_the_options_and_the_harness_are_part_of_the_identity(tmp_path: Path) -> None:
    def identity(**options: Any) -> str:
        return experiment_id(load_experiment(write_experiment(tmp_path, GOOD["endpoint"], **options)))

    assert identity() != identity(temperature=0.5)
    assert identity() == identity(nudges=2), "a default that is written out changes nothing"
    frozen = freeze(load_experiment(write_experiment(tmp_path, GOOD["endpoint"]))).systems["chatty"]
    assert frozen["harness"] == "chat@2"
    assert frozen["options"]["timeout"] == 300.0


def test_a_price_takes_cached_tokens_apart() -> None:
    price = Price(**PRICE)
    assert price.of(1_000_000, 0, 1_000_000) == 0.5
    assert price.of(1_000_000, 1_000_000, 0) == 10.0
    assert price.of(100, 10, None) is None
    assert price.of(None, 10, 0) is None
    flat = Price(name="flat", date="2026-11-01", currency="EUR", input=2.0, output=8.0)
    assert flat.of(500_000, 250_000, None) == 3.0
