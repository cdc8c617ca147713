"""One instance: what came in, by which rules it is kept, and what every table must then hold."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from seatrial.errors import SpecError
from seatrial.families.draws import Draws
from seatrial.families.ledger.options import Knobs
from seatrial.families.ledger.sources import EACH_BEFORE, Entry, Source
from seatrial.families.ledger.sums import OPERATIONS, Sums, first_sums, opposed
from seatrial.families.ledger.words import Wording, wording_of

MISSING = ("-99", "n/a")
TRIES = 200
# Lines of the n-th file are numbered from n times this; none has so many.
NUMBERING = 1000
BASE, LOCAL, CORE = "base", "local", "core"
RULES = (BASE, LOCAL, CORE)


@dataclass(frozen=True)
class Line:
    """One line of a file that comes in; the amount is as it is written there."""

    line: int
    ref: str
    party: str
    stamp: str
    amount: str
    unit: str


@dataclass(frozen=True)
class Kept:
    """One entry that counts."""

    ref: str
    line: int
    party: str
    stamp: str
    amount: int


@dataclass(frozen=True)
class World:
    """What may have been changed from outside: which rules hold, whether the late correction is in."""

    rules: str = BASE
    corrected: bool = False

    @property
    def name(self) -> str:
        return f"{self.rules}{'+' if self.corrected else ''}"


WORLDS = tuple(World(rules, corrected) for rules in RULES for corrected in (False, True))


@dataclass(frozen=True)
class Rules:
    """Figures of the rules, also those that a disturbance makes of them.

    Attributes:
        ceiling, core_ceiling: what an amount counts at most; before the change of the rules and after.
        stale_ceiling: one that never holds.
        stages: of each table between cleaning and its check: times and plus.
        operations: of the tables of sums after the first.
        least, local_least: of a line of the report; before the change and after.
    """

    ceiling: int
    core_ceiling: int
    stale_ceiling: int
    stages: tuple[tuple[int, int], ...]
    operations: tuple[str, ...]
    least: int = 0
    local_least: int = 0


@dataclass(frozen=True)
class Book:
    """Everything about one instance.

    Attributes:
        batches: lines of each file that comes in.
        corrected: the line that the late correction is about, and its amount from then on.
    """

    source: Source
    knobs: Knobs
    batches: tuple[tuple[Line, ...], ...]
    rules: Rules
    corrected: tuple[int, int]

    @cached_property
    def words(self) -> Wording:
        return wording_of(self.knobs.variant)

    @property
    def aliases(self) -> dict[str, str]:
        """Party by short name."""
        return {short: party for party, short in self.source.parties.items()}

    def ceiling(self, world: World) -> int:
        return self.rules.core_ceiling if world.rules == CORE else self.rules.ceiling

    def least(self, world: World) -> int:
        return self.rules.local_least if world.rules == LOCAL else self.rules.least

    # -- what every table must hold -------------------------------------------------------------------
    def kept(self, world: World) -> list[Kept]:
        """The entries that count, by reference."""
        factors, found = dict(self.source.units), dict[str, Kept]()
        for line in sorted((line for batch in self.batches for line in batch), key=lambda each: each.line):
            if line.amount in MISSING:
                continue
            said = line.party.strip().lower()
            amount = min(int(Decimal(line.amount) * factors[line.unit]), self.ceiling(world))
            if world.corrected and line.line == self.corrected[0]:
                amount = self.corrected[1]
            found[line.ref] = Kept(line.ref, line.line, self.aliases.get(said, said), line.stamp, amount)
        return [found[ref] for ref in sorted(found)]

    def staged(self, world: World) -> list[Kept]:
        """Entries in the last table before the sums."""
        found = self.kept(world)
        for times, plus in self.rules.stages:
            found = [
                Kept(each.ref, each.line, each.party, each.stamp, each.amount * times + plus)
                for each in found
            ]
        return found

    def sums(self, world: World) -> list[Sums]:
        """Each table of sums, in its order."""
        if world not in self._known:
            made = [first_sums((each.party, each.stamp[:4], each.amount) for each in self.staged(world))]
            for name in self.rules.operations:
                made.append(OPERATIONS[name].compute(made[-1]))
            self._known[world] = made
        return self._known[world]

    @cached_property
    def _known(self) -> dict[World, list[Sums]]:
        """Sums that were worked out before."""
        return {}

    def totals(self, world: World, by: int = 0) -> dict[str, int]:
        """What the last sums come to, by party (0) or period (1)."""
        found: dict[str, int] = {}
        for key, total in self.sums(world)[-1].items():
            found[key[by]] = found.get(key[by], 0) + total
        return dict(sorted(found.items()))

    def report(self, world: World, by: int = 0) -> list[tuple[str, int]]:
        """Lines of the report; only that by party leaves out small ones."""
        named = list(self.totals(world, by).items())
        if by == 0:
            named = [(name, total) for name, total in named if total >= self.least(world)]
        return [*named, (self.words.everything, sum(total for _, total in named))]


def book_of(source: Source, knobs: Knobs, entries: list[Entry]) -> Book:
    """Draws an instance in which every disturbance changes what it must.

    Raises:
        SpecError: none was found.
    """
    batches = _batches(source, knobs, _taken(source, knobs, entries))
    for attempt in range(TRIES):
        found = _ruled(source, knobs, batches, Draws(knobs.seed, f"rules {attempt}"))
        if found is not None and _tells(found):
            return found
    raise SpecError(
        knobs.name(source.name),
        "",
        f"no rules fit in {TRIES} tries",
        "Choose another seed or a smaller depth",
    )


def _taken(source: Source, knobs: Knobs, entries: list[Entry]) -> list[Entry]:
    """Some entries of each party and period, then as many of the others as were asked for."""
    draws = Draws(knobs.seed, "entries")
    cells: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        cells.setdefault((entry.party, entry.period), []).append(entry)
    first, rest = list[Entry](), list[Entry]()
    for key in sorted(cells):
        mixed = draws.shuffled(cells[key])
        first += mixed[:EACH_BEFORE]
        rest += mixed[EACH_BEFORE:]
    return draws.shuffled(first + draws.shuffled(rest)[: knobs.size])


def _batches(source: Source, knobs: Knobs, entries: list[Entry]) -> tuple[tuple[Line, ...], ...]:
    """Files with the dirt that the rules are about: units, writings, older lines, lines without amount."""
    draws = Draws(knobs.seed, "lines")
    drafts: list[Line] = []
    for number, entry in enumerate(entries):
        ref = f"{draws.pick('ABCDEFGH')}{number:03}"
        line = _line(source, draws, ref, entry, entry.amount)
        if number % 5 == 2:
            older = _line(source, draws, ref, entry, entry.amount + draws.between(1, 9))
            drafts.insert(draws.below(len(drafts) + 1), older)
        drafts.append(line)
        if number % 9 == 4:
            drafts.append(Line(0, ref, line.party, line.stamp, draws.pick(MISSING), line.unit))
    share = -(-len(drafts) // knobs.breadth)
    found = []
    for batch in range(knobs.breadth):
        part = drafts[batch * share : (batch + 1) * share]
        # Each file has a line that does not count, whatever becomes of the others.
        entry = draws.pick(entries)
        lost = Line(0, f"X{batch:03}", entry.party, entry.stamp, MISSING[0], source.units[0][0])
        part.insert(draws.below(len(part) + 1), lost)
        first = (batch + 1) * NUMBERING + 1
        found.append(
            tuple(
                Line(first + at, each.ref, each.party, each.stamp, each.amount, each.unit)
                for at, each in enumerate(part)
            )
        )
    return tuple(found)


def _line(source: Source, draws: Draws, ref: str, entry: Entry, amount: int) -> Line:
    unit, factor = draws.pick(source.units)
    short = source.parties[entry.party]
    written = draws.pick(
        [entry.party, entry.party, entry.party.upper(), f" {entry.party.title()}", f"{entry.party} ", short,
         short.upper()]
    )  # fmt: skip
    return Line(0, ref, written, entry.stamp, f"{(Decimal(amount) / factor).normalize():f}", unit)


def _ruled(source: Source, knobs: Knobs, batches: tuple[tuple[Line, ...], ...], draws: Draws) -> Book | None:
    """Rules for the lines; null where these draws give none."""
    operations: list[str] = []
    while len(operations) < knobs.depth - 1:
        fitting = [name for name in OPERATIONS if not operations or not opposed(operations[-1], name)]
        operations.append(draws.pick(fitting))
    stages = tuple((draws.between(2, 3), draws.between(1, 9)) for _ in range(knobs.delay))
    blank = Book(source, knobs, batches, Rules(10**12, 10**12, 0, (), ()), (0, 0))
    amounts = sorted({each.amount for each in blank.kept(World())})
    if len(amounts) < 8:
        return None
    high, low = len(amounts) * 3 // 4, len(amounts) // 2
    ceilings = (
        amounts[high - draws.below(2)],
        amounts[low - draws.below(3)],
        amounts[-1] + draws.between(1, 9),
    )
    rules = Rules(*ceilings, stages, tuple(operations))
    chosen = draws.pick([each for each in blank.kept(World()) if each.amount > 1])
    corrected = chosen.line, chosen.amount // 2 + draws.between(1, 3)
    book = Book(source, knobs, batches, rules, corrected)
    totals = sorted(set(book.totals(World()).values()))
    if len(totals) < 3:
        return None
    least, local = (totals[0] + totals[1] + 1) // 2, (totals[1] + totals[2] + 1) // 2
    named = Rules(*ceilings, stages, tuple(operations), least, local)
    return Book(source, knobs, batches, named, corrected)


def _tells(book: Book) -> bool:
    """Whether each change from outside changes every table and the report, as it must."""
    usual = World()
    for world in (World(CORE), World(BASE, True)):
        if any(
            other == same for other, same in zip(_products(book, world), _products(book, usual), strict=True)
        ):
            return False
    return book.report(World(LOCAL)) != book.report(usual)


def _products(book: Book, world: World) -> list[object]:
    return [
        book.kept(world), book.staged(world), *book.sums(world), book.report(world), book.report(world, by=1)
    ]  # fmt: skip
