"""The one record a verifier writes to descriptor 3."""

import json
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

RECORD_BYTES = 1 << 20
Given = Literal["pass", "fail", "unknown"]
_WORDS: dict[str, Given] = {"pass": "pass", "fail": "fail", "unknown": "unknown"}


class RecordError(ValueError):
    """The bytes are not exactly one record; the message says why."""


@dataclass(frozen=True)
class Record:
    """A verdict as given, with its evidence (null when none was)."""

    verdict: Given
    evidence: Any = None


def parse_record(data: bytes) -> Record:
    """Read the record from all that was written.

    Raises:
        RecordError: there is none, more than one, or it says no verdict.
    """
    if len(data) > RECORD_BYTES:
        raise RecordError(f"the record is longer than {RECORD_BYTES} bytes")
    try:
        text = data.decode().strip()
    except UnicodeDecodeError as fault:
        raise RecordError(f"the record is not UTF-8: {fault}") from None
    if not text:
        raise RecordError("no record was written to descriptor 3")
    if text in _WORDS:
        return Record(_WORDS[text])
    if not text.startswith("{"):
        words = text.split()
        what = "more than one record was written" if len(words) > 1 else "the record is no verdict"
        raise RecordError(f"{what}: {text[:80]!r}")
    return _from_object(text)


def _from_object(text: str) -> Record:
    try:
        value = json.loads(text, object_pairs_hook=_no_doubles, parse_constant=_no_constant)
        evidence = value.get("evidence")
        # What cannot be written down (half a surrogate pair, a number beyond JSON readers) is no evidence.
        msgspec.json.encode(evidence)
        json.dumps(evidence, allow_nan=False)
    except json.JSONDecodeError as fault:
        what = "more than one record was written" if fault.msg == "Extra data" else f"is not JSON ({fault})"
        raise RecordError(f"the record: {what}: {text[:80]!r}") from None
    except (ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as fault:
        raise RecordError(f"the record cannot be kept: {fault}") from None
    verdict = value.get("verdict")
    if not isinstance(verdict, str) or verdict not in _WORDS:
        raise RecordError(f"the record gives the verdict {verdict!r}; it must be pass, fail or unknown")
    if strange := sorted(set(value) - {"verdict", "evidence"}):
        raise RecordError(f"the record has unknown keys {strange}; put them under evidence")
    return Record(_WORDS[verdict], evidence)


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")
