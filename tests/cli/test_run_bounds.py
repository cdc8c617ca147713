"""Bounds on what a run may cost, where they cannot be held."""

import json
from pathlib import Path

from tests.agents.chats import PRICE, write_experiment
from tests.agents.model_server import model_server, says, tool
from tests.schedule.small import go_on

TWICE = "trials_per_task = 2"


def test_a_bound_on_money_needs_a_price(tmp_path: Path) -> None:
    file = write_experiment(tmp_path, "http://127.0.0.1:1/v1")
    said = go_on(file, tmp_path / "run", "--max-money", "0.000001", status=2)
    assert "--max-money: the system 'chatty' has no price" in said
    assert not (tmp_path / "run").exists()


def test_nothing_more_is_begun_once_answers_do_not_say_what_they_used(tmp_path: Path) -> None:
    silent = says(tool("finish"), usage={"prompt_tokens": 9, "completion_tokens": 1})
    with model_server(silent) as server:
        file = write_experiment(tmp_path, server.endpoint, more=TWICE, price=PRICE)
        told = json.loads(
            go_on(file, tmp_path / "run", "--max-money", "5", "--json", status=1).partition("\nseatrial")[0]
        )
        assert told["capped"] == (
            "--max-money 5 cannot be held: 1 answered calls do not say what they used, or have no price "
            "for it"
        )
        assert (len(told["not_begun"]), len(server.requests)) == (1, 1)
        # Their tokens are known.
        assert "2/2" in go_on(file, tmp_path / "run", "--max-tokens", "1000")
