"""A key is taken out in every form it can take, and a bad one is refused without being shown."""

import base64
import html
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
    quote(quote(KEY, safe=""), safe=""),
    html.escape(html.escape(KEY)),
    base64.b64encode(KEY.encode()).decode(),
    base64.urlsafe_b64encode(KEY.encode()).decode(),
    "".join(f"\\u{ord(character):04x}" for character in KEY),
    "".join(f"\\\\\\\\u{ord(character):04X}" for character in KEY),
    "".join(f"\\x{ord(character):02x}" for character in KEY),
    "".join(f"&#{ord(character)};" for character in KEY),
    "".join(f"&#x{ord(character):x};" for character in KEY),
    "".join(f"%{ord(character):02x}" for character in KEY),
    f"\\u0073\\u006b{json.dumps(KEY[2:])[1:-1]}",
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_taken_out(form: str) -> None:
    secret = Secret(KEY)
    assert secret.text(f"a {form} b") == f"a {REDACTED} b"
    assert secret.bytes(f"a {form} b".encode(), whole=True) == f"a {REDACTED} b".encode()
    assert secret.value({form: [{"x": f"<{form}>"}, 5, None]}) == {
        REDACTED: [{"x": f"<{REDACTED}>"}, 5, None]
    }


@pytest.mark.parametrize("before", ["user:", "a:", "ab:"])
def test_base64_of_a_text_with_the_key_in_it(before: str) -> None:
    key = "sk-0123456789abcdefghij"
    for coded in (base64.b64encode, base64.urlsafe_b64encode):
        told = Secret(key).text(coded(f"{before}{key} and more".encode()).decode())
        assert REDACTED in told
        assert len(base64.b64decode(told.partition(REDACTED)[0] + "==")) <= len(before) + 1


def test_half_of_the_key_is_taken_out_and_what_any_key_begins_with_is_not() -> None:
    key = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
    secret = Secret(key)
    for piece in (key[:-2], key[2:], key[:16], key[-16:], key[10:26]):
        assert secret.text(f"a {piece} b") == f"a {REDACTED} b"
    assert secret.text(f"{key}{key[:-1]}, {key}") == f"{REDACTED}{REDACTED}, {REDACTED}"
    for harmless in ("sk-proj-", key[:15], "0123456789", "sk-proj-...wxyz"):
        assert secret.text(f"a {harmless} b") == f"a {harmless} b"


def test_other_text_stays_to_the_letter() -> None:
    for text in ('C:\\new\\x41 100%25 &amp; "\\u0041\\\\"', "\\" * 1001, "%", "&#1;", "s\\u006b-"):
        assert Secret(KEY).text(text) == text
        assert Secret(KEY).text(f"{text}{KEY}{text}") == f"{text}{REDACTED}{text}"


def test_a_key_of_digits_is_no_number_either() -> None:
    assert Secret("4711471147").value({"n": 4711471147, "m": [47, True, 0.5]}) == {
        "n": REDACTED, "m": [47, True, 0.5],
    }  # fmt: skip


def test_what_was_cut_holds_no_beginning_of_the_key() -> None:
    for length in range(1, len(KEY)):
        kept = Secret(KEY).bytes(b"x" * 100 + KEY[:length].encode(), whole=False)
        assert kept.removesuffix(REDACTED.encode()) == b"x" * 100
    escaped = "".join(f"\\u{ord(character):04x}" for character in KEY)
    for length in range(1, len(escaped)):
        kept = Secret(KEY).bytes(b"x" * 100 + escaped[:length].encode(), whole=False)
        assert kept.removesuffix(REDACTED.encode()) == b"x" * 100


def test_without_a_key_nothing_changes_but_what_no_file_can_hold() -> None:
    assert Secret(None).headers() == {}
    assert Secret(None).value(["a", "\ud800"]) == ["a", "\N{REPLACEMENT CHARACTER}"]
    assert Secret(None).bytes(b"cut", whole=False) == b"cut"


def test_it_does_not_show_itself() -> None:
    assert KEY not in repr(Secret(KEY))


@pytest.mark.parametrize(
    "value", ["", "short", "%41%42%43", "with space in it", "line\nbreak-in-it", "kéy-with-accents"]
)
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
