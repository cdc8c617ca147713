"""A key is taken out in every form it can take, and a bad one is refused without being shown."""

import base64
import json
from urllib.parse import quote

import pytest

from seatrial.agents.model.secret import REDACTED, Secret, endpoint_key
from seatrial.errors import UsageError
from seatrial.spec.chat import ChatOptions

KEY = 'sk-a/b"c\\d+e=f'
FORMS = [
    KEY,
    json.dumps(KEY)[1:-1],
    json.dumps(json.dumps(KEY)[1:-1])[1:-1],
    json.dumps(KEY)[1:-1].replace("/", "\\/"),
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode()).decode(),
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_taken_out(form: str) -> None:
    secret = Secret(KEY)
    assert secret.text(f"a {form} b") == f"a {REDACTED} b"
    assert secret.bytes(f"a {form} b".encode(), whole=True) == f"a {REDACTED} b".encode()
    assert secret.value({form: [{"x": f"<{form}>"}, 5, None]}) == {
        REDACTED: [{"x": f"<{REDACTED}>"}, 5, None]
    }


def test_what_was_cut_holds_no_beginning_of_the_key() -> None:
    for length in range(1, len(KEY)):
        kept = Secret(KEY).bytes(b"x" * 100 + KEY[:length].encode(), whole=False)
        assert set(kept) == {ord("x")}


def test_without_a_key_nothing_changes_but_what_no_file_can_hold() -> None:
    assert Secret(None).headers() == {}
    assert Secret(None).value(["a", "\ud800"]) == ["a", "\N{REPLACEMENT CHARACTER}"]
    assert Secret(None).bytes(b"cut", whole=False) == b"cut"


def test_it_does_not_show_itself() -> None:
    assert KEY not in repr(Secret(KEY))


@pytest.mark.parametrize("value", ["", "short", "with space in it", "line\nbreak-in-it", "kéy-with-accents"])
def test_an_unusable_key_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    options = ChatOptions(endpoint="http://host/v1", model="m", api_key_env="THE_KEY")
    monkeypatch.setenv("THE_KEY", value)
    with pytest.raises(UsageError, match="THE_KEY") as refused:
        endpoint_key(options)
    assert not value or value not in str(refused.value)
    monkeypatch.delenv("THE_KEY")
    with pytest.raises(UsageError, match="is not set"):
        endpoint_key(options)
