"""What a run has spent, read from its journals while they grow, and the bound on it."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from seatrial.errors import UsageError
from seatrial.journal.calls import used_money, used_tokens
from seatrial.journal.events import ModelCalled
from seatrial.journal.run import RunFolder

_REQUESTED = b'{"kind":"action.requested"'
_CALLED = b'{"kind":"model.called"'


_call: msgspec.json.Decoder[ModelCalled] = msgspec.json.Decoder(ModelCalled)


@dataclass(frozen=True)
class Spent:
    """Sums over calls of models; what is not known is counted, never guessed.

    Attributes:
        calls: all calls.
        tokens: read and written, of the calls that say both.
        without_tokens: calls that do not.
        money: of the calls that say it, in the currency of the price list.
        without_money: calls that do not.
    """

    calls: int = 0
    tokens: int = 0
    without_tokens: int = 0
    money: float = 0.0
    without_money: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.without_tokens + other.without_tokens,
            self.money + other.money,
            self.without_money + other.without_money,
        )


@dataclass(frozen=True)
class Cap:
    """Bounds on what a whole run may spend, all its attempts together; null without a bound."""

    money: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for option, value in (("--max-money", self.money), ("--max-tokens", self.tokens)):
            if value is not None and not value >= 0:
                raise UsageError(f"{option} {value}: is no amount. Give a number from 0.")

    def reached(self, spent: Spent) -> str | None:
        """Which bound is reached, in words; null while none is. Calls of unknown cost cannot count."""
        for option, limit, known, unknown in (
            ("--max-money", self.money, spent.money, spent.without_money),
            ("--max-tokens", self.tokens, spent.tokens, spent.without_tokens),
        ):
            if limit is not None and known >= limit:
                more = f" and {unknown} calls of unknown cost" if unknown else ""
                return f"{option} {limit:g} is reached: {known:g} spent{more}"
        return None


class JournalFollower:
    """Counts steps and costs in a journal that is being written, reading each byte once."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0
        self.steps, self.spent = 0, Spent()

    def look(self) -> None:
        """Take in the lines that were added since the last look."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        for line in data[:whole].splitlines():
            if line.startswith(_REQUESTED):
                self.steps += 1
            elif line.startswith(_CALLED):
                self.spent += _spent(line)


def _spent(line: bytes) -> Spent:
    try:
        call = _call.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Reading the journal in earnest names a damaged line; here its cost is unknown.
        return Spent(calls=1, without_tokens=1, without_money=1)
    tokens, money = used_tokens(call), used_money(call)
    return Spent(1, sum(tokens or ()), tokens is None, money or 0.0, money is None)


def spent_before(run: RunFolder, trials: list[str]) -> Spent:
    """What all attempts so far have spent, whatever became of them."""
    total = Spent()
    for trial in trials:
        for attempt in run.attempts(trial):
            journal = JournalFollower(run.journal_path(trial, attempt))
            journal.look()
            total += journal.spent
    return total
