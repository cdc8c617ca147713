"""Verdicts by key under ``RUN/verdicts/cache``: the same verifier on the same reads is asked once.

Errors are kept for this process only: on another day the same host may be less busy.
"""

from pathlib import Path
from typing import Literal

import msgspec

from seatrial.journal.run import write_whole
from seatrial.verify.run import Judged


class _Kept(msgspec.Struct):
    verdict: Literal["pass", "fail", "unknown"]
    evidence: dict[str, object]


class VerdictCache:
    """One run's cache. A damaged file counts as missing: it is derived, and is written again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Judged] = {}

    def get(self, key: str) -> Judged | None:
        """The verdict under a key, or null."""
        if key in self._known:
            return self._known[key]
        try:
            kept = msgspec.json.decode((self._folder / f"{key}.json").read_bytes(), type=_Kept)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        self._known[key] = Judged(kept.verdict, kept.evidence)
        return self._known[key]

    def put(self, key: str, judged: Judged) -> None:
        """Keep a verdict; the file is there whole or not at all."""
        self._known[key] = judged
        if judged.verdict == "error":
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = {"verdict": judged.verdict, "evidence": judged.evidence}
        write_whole(self._folder / f"{key}.json", msgspec.json.encode(kept), sync=False)
