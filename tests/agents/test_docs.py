"""docs/agents.md names every option of chat agents and every class of a call, and its example is accepted."""

import re
import tomllib
from typing import get_args

import msgspec
import pytest

from seatrial.journal.events import CallClass
from seatrial.spec.chat import Backoff, ChatOptions, Price, Retries, chat_options
from seatrial.spec.faults import Source
from tests.house.files import ROOT

TEXT = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
CHAT = TEXT[TEXT.index("\n## Chat\n") : TEXT.index("\n## Tools\n")]
CODE = " ".join(re.findall(r"`([^`\n]+)`", CHAT))


@pytest.mark.parametrize("struct", [ChatOptions, Price, Retries, Backoff])
def test_every_option_is_named(struct: type[msgspec.Struct]) -> None:
    keys = [field.name for field in msgspec.structs.fields(struct)]
    assert [key for key in keys if not re.search(rf"\b{key}\b", CODE)] == []


def test_every_class_is_named_with_its_retries() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| ?(\d*) \|$", CHAT, re.MULTILINE))
    assert set(rows) >= set(get_args(CallClass))
    retries = msgspec.structs.asdict(Retries())
    assert {name: rows[name] for name in get_args(CallClass)} == {
        name: str(retries.get(name, "")) for name in get_args(CallClass)
    }


def test_the_example_is_accepted() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", CHAT, re.DOTALL)
    (system,) = tomllib.loads(example)["system"]
    options = chat_options(Source("docs"), "options", system["options"])
    assert (options.model, options.price.currency if options.price else None) == ("gemma", "EUR")
