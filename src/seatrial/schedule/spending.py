"""What a run has spent, read from its journals while they grow, and the bound on it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from seatrial.errors import UsageError
from seatrial.journal.calls import used_money, used_tokens
from seatrial.journal.events import AgentStarted, ModelCalled, TrialEnded
from seatrial.journal.follow import JournalFollower
from seatrial.journal.run import RunFolder
from seatrial.measure.models import ANSWERED
from seatrial.spec.experiment import System
from seatrial.trial.models import metering

_KINDS = (ModelCalled, AgentStarted, TrialEnded)
_event = msgspec.json.Decoder(ModelCalled | AgentStarted | TrialEnded)


@dataclass(frozen=True)
class Spent:
    """Sums over calls of models; what is not known is counted, never guessed.

    Attributes:
        calls: all calls.
        tokens: read and written, of the calls that say both.
        without_tokens: calls that do not.
        money: of the calls that say it.
        without_money: calls that do not.
        untold_tokens, untold_money: of these, calls that were answered: their endpoint does not say what a
            call uses, or there is no price.
        currency: of the price lists; null where nothing was priced.
        unseen: attempts whose agent could have called a model that nobody watched.
    """

    calls: int = 0
    tokens: int = 0
    without_tokens: int = 0
    money: float = 0.0
    without_money: int = 0
    untold_tokens: int = 0
    untold_money: int = 0
    currency: str | None = None
    unseen: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.without_tokens + other.without_tokens,
            self.money + other.money,
            self.without_money + other.without_money,
            self.untold_tokens + other.untold_tokens,
            self.untold_money + other.untold_money,
            self.currency or other.currency,  # an experiment has one
            self.unseen + other.unseen,
        )


# What may have been under way when a journal broke off.
_ONE_UNKNOWN = Spent(calls=1, without_tokens=1, without_money=1)


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
        """Which bound is reached or cannot be held, in words; null while none is.

        One cannot be held once answered calls do not say what they used: all that follow will not either. A
        call that was cut short is counted as unknown and lets the run go on, see ``leaves_out``.
        """
        for option, limit, known, unknown, untold in self._bounds(spent):
            if known >= limit:
                more = f" and {unknown} calls of unknown cost" if unknown else ""
                return f"{option} {limit:g} is reached: {known:g} spent{more}"
            if untold:
                return (
                    f"{option} {limit:g} cannot be held: {untold} answered calls do not say what they used, "
                    "or have no price for it"
                )
        return None

    def leaves_out(self, spent: Spent) -> str | None:
        """What the bounds could not count, in words; null where they count all."""
        for option, limit, _, unknown, _ in self._bounds(spent):
            if unknown:
                return f"{option} {limit:g} bounds what is known, which {unknown} calls are not"
        return None

    def check(self, systems: Iterable[System], unsafe: bool) -> None:
        """Refuse a bound that could not be held.

        Args:
            systems: those that are to run.
            unsafe: whether they run without a sandbox.

        Raises:
            UsageError: names the option and the system.
        """
        options = [name for name, limit, *_ in self._bounds(Spent())]
        for system in systems if options else ():
            if metering({"agent": system.agent}, not unsafe) == "unwatched":
                raise UsageError(
                    f"{options[0]}: without a sandbox nobody sees which models the system {system.name!r} "
                    "calls. Leave the bound out, or choose other systems with --system."
                )
            if self.money is not None and system.agent == "chat" and system.options.get("price") is None:
                raise UsageError(
                    f"--max-money: the system {system.name!r} has no price, so that nobody knows what it "
                    "spends. Add options.price to it, bound --max-tokens instead, or choose other systems "
                    "with --system."
                )

    def _bounds(self, spent: Spent) -> list[tuple[str, float, float, int, int]]:
        """Of each bound that is given: option, limit, what is known, calls of unknown cost, answered ones."""
        every = (
            ("--max-money", self.money, spent.money, spent.without_money, spent.untold_money),
            ("--max-tokens", self.tokens, spent.tokens, spent.without_tokens, spent.untold_tokens),
        )
        return [(option, limit, *more) for option, limit, *more in every if limit is not None]


class CostFollower:
    """Counts steps and costs in a journal that is being written."""

    def __init__(self, path: Path) -> None:
        self._journal = JournalFollower(path, *_KINDS)
        self._calls_models = self._ended = False
        self.spent = Spent()

    @property
    def steps(self) -> int:
        """Requested so far."""
        return self._journal.steps

    def look(self) -> None:
        """Take in the lines that were added since the last look."""
        for line in self._journal.look():
            try:
                event = _event.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                # Reading the journal in earnest names a damaged line; here it is a call of unknown cost.
                self.spent += _ONE_UNKNOWN
                continue
            if isinstance(event, TrialEnded):
                self._ended = True
            elif isinstance(event, AgentStarted):
                self._calls_models = event.details.get("model_calls") == "proxy"
                self.spent += Spent(unseen=event.details.get("model_calls") == "unwatched")
            else:
                self.spent += _spent(event)

    def close(self) -> None:
        """Look a last time at a journal that nobody writes any more.

        Calls are written down when they are over: one may be missing where the journal breaks off. May be
        called again.
        """
        self.look()
        if self._calls_models and not self._ended:
            self.spent += _ONE_UNKNOWN
        self._ended = True


def _spent(call: ModelCalled) -> Spent:
    tokens, money = used_tokens(call), used_money(call)
    one = Spent(1, sum(tokens or ()), tokens is None, money or 0.0, money is None, currency=call.currency)
    if call.call_class not in ANSWERED:
        return one
    return replace(one, untold_tokens=one.without_tokens, untold_money=one.without_money)


def spent_before(run: RunFolder, trials: list[str]) -> Spent:
    """What all attempts so far have spent, whatever became of them; none of them is under way."""
    total = Spent()
    for trial in trials:
        for attempt in run.attempts(trial):
            journal = CostFollower(run.journal_path(trial, attempt))
            journal.close()
            total += journal.spent
    return total
