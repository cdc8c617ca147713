"""What counts as exactly one record."""

import pytest

from seatrial.verify.record import RECORD_BYTES, Record, RecordError, parse_record


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (b"pass", Record("pass")),
        (b" fail\n\n", Record("fail")),
        (b"unknown\n", Record("unknown")),
        (b'{"verdict": "pass"}\n', Record("pass")),
        (b'{"verdict": "fail", "evidence": {"rows": [1, null]}}', Record("fail", {"rows": [1, None]})),
        ('{"verdict": "pass", "evidence": "é"}'.encode(), Record("pass", "é")),
    ],
)
def test_one_record(data: bytes, record: Record) -> None:
    assert parse_record(data) == record


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no record"),
        (b" \n", "no record"),
        (b"pass\npass\n", "more than one"),
        (b"pass fail", "more than one"),
        (b'{"verdict": "pass"}{"verdict": "fail"}', "more than one"),
        (b'{"verdict": "pass"}\nfail', "more than one"),
        (b"PASS", "no verdict"),
        (b"error", "no verdict"),
        (b"null", "no verdict"),
        (b'["pass"]', "no verdict"),
        (b'{"verdict": "error"}', "must be pass, fail or unknown"),
        (b'{"verdict": ["pass"]}', "must be pass, fail or unknown"),
        (b'{"evidence": 1}', "must be pass, fail or unknown"),
        (b'{"verdict": "pass", "verdict": "fail"}', "twice"),
        (b'{"verdict": "pass", "score": 1}', "unknown keys"),
        (b'{"verdict": "pass"', "not JSON"),
        (b'{"verdict": "pass", "evidence": NaN}', "no JSON number"),
        (b'{"verdict": "pass", "evidence": "\\ud800"}', "cannot be kept"),
        (b'{"verdict": "pass", "evidence": 1e999}', "cannot be kept"),
        (b'{"verdict": "pass", "evidence": ' + b"9" * 5000 + b"}", "cannot be kept"),
        (b'{"verdict": "pass", "evidence": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "cannot be kept"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"verdict": "pass", "evidence": "' + b"x" * RECORD_BYTES + b'"}', "longer than"),
    ],
)
def test_anything_else_is_no_record(data: bytes, problem: str) -> None:
    with pytest.raises(RecordError, match=problem):
        parse_record(data)
