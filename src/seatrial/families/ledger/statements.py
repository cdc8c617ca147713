"""The statements that do the work: table by table as the work request says, or each from the lines alone."""

from collections.abc import Sequence

from seatrial.families.ledger.book import MISSING, Book, Line
from seatrial.families.ledger.sums import OPERATIONS


def quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


class Statements:
    """SQL for one instance.

    Args:
        book: the instance.
        ceiling: what stands for the ceiling: its value, or the name of a fact in double braces.
        units: how many of the smallest a unit is; those of the rules if left out.
        first_counts: of lines with one reference the first counts and not the last.
    """

    def __init__(
        self, book: Book, ceiling: str | None = None, units: Sequence[tuple[str, int]] = (),
        first_counts: bool = False,
    ) -> None:  # fmt: skip
        self.book, self.words = book, book.words
        self._ceiling = str(book.rules.ceiling) if ceiling is None else ceiling
        self._units = units or book.source.units
        self._which = "MIN" if first_counts else "MAX"

    # -- names ----------------------------------------------------------------------------------------
    @property
    def kept_columns(self) -> list[str]:
        w = self.words
        return [w.ref, w.line, w.party, w.stamp, w.amount]

    @property
    def sum_columns(self) -> list[str]:
        w = self.words
        return [w.party, w.period, w.total]

    def stage_name(self, number: int) -> str:
        """The n-th table after cleaning; 0 is the cleaned one itself."""
        return self.words.stage.format(n=number) if number else self.words.clean

    def sums_name(self, number: int) -> str:
        """The n-th table of sums, from 1."""
        return self.words.sums.format(n=number)

    @property
    def last_stage(self) -> str:
        return self.stage_name(self.book.knobs.delay)

    @property
    def last_sums(self) -> str:
        return self.sums_name(self.book.knobs.depth)

    def columns_of(self, table: str) -> list[str]:
        """Of a table from the cleaned one on."""
        names = [self.stage_name(number) for number in range(self.book.knobs.delay + 1)]
        return self.kept_columns if table in names else self.sum_columns

    # -- lines ----------------------------------------------------------------------------------------
    def load(self, batch: int, changed: dict[int, Line] | None = None) -> str:
        """Enters the lines of a file, counted from 0; ``changed`` ones differ from the file."""
        names = ("line", "ref", "party", "stamp", "amount", "unit")
        columns = [getattr(self.words, name) for name in names]
        rows = []
        for given in self.book.batches[batch]:
            line = (changed or {}).get(given.line, given)
            cells = [str(line.line), *(quoted(getattr(line, name)) for name in names[1:])]
            rows.append(f"({', '.join(cells)})")
        return f"INSERT OR REPLACE INTO {self.words.lines} ({', '.join(columns)}) VALUES\n" + ",\n".join(rows)

    # -- what is made of them -------------------------------------------------------------------------
    def select_clean(self) -> str:
        """The entries that count."""
        w, missing = self.words, ", ".join(map(quoted, MISSING))
        (first, one), (_, other) = self._units
        factor = f"CASE l.{w.unit} WHEN {quoted(first)} THEN {one} ELSE {other} END"
        said = f"LOWER(TRIM(l.{w.party}))"
        amount = f"CAST(ROUND(l.{w.amount} * {factor}) AS INTEGER)"
        return (
            f"SELECT l.{w.ref} AS {w.ref}, l.{w.line} AS {w.line},\n"
            f"  COALESCE((SELECT a.{w.party} FROM {w.aliases} a WHERE a.{w.alias} = {said}), {said}) "
            f"AS {w.party},\n"
            f"  l.{w.stamp} AS {w.stamp},\n"
            f"  COALESCE((SELECT c.{w.amount} FROM {w.corrections} c WHERE c.{w.line} = l.{w.line}), "
            f"{self._capped(amount)}) AS {w.amount}\n"
            f"FROM {w.lines} l WHERE l.{w.amount} NOT IN ({missing})\n"
            f"  AND l.{w.line} = (SELECT {self._which}(o.{w.line}) FROM {w.lines} o "
            f"WHERE o.{w.ref} = l.{w.ref} AND o.{w.amount} NOT IN ({missing}))"
        )

    def _capped(self, amount: str) -> str:
        return amount if self._ceiling == "" else f"MIN({amount}, {self._ceiling})"

    def select_stage(self, number: int, source: str) -> str:
        """The n-th table after cleaning, from the one before."""
        times, plus = self.book.rules.stages[number - 1]
        w = self.words
        return (
            f"SELECT {w.ref}, {w.line}, {w.party}, {w.stamp}, {w.amount} * {times} + {plus} AS {w.amount} "
            f"FROM {source}"
        )

    def select_sums(self, number: int, source: str) -> str:
        """The n-th table of sums, from the one before."""
        w = self.words
        if number == 1:
            period = f"SUBSTR({w.stamp}, 1, 4)"
            return (
                f"SELECT {w.party}, {period} AS {w.period}, SUM({w.amount}) AS {w.total} "
                f"FROM {source} GROUP BY {w.party}, {period}"
            )
        operation = OPERATIONS[self.book.rules.operations[number - 2]]
        made = operation.sql.format(party=w.party, period=w.period, total=w.total)
        return f"SELECT {w.party}, {w.period}, {made} AS {w.total} FROM {source}"

    def select_report(self, source: str, least: str, by: str = "party") -> str:
        """Lines of the report; ``by`` is ``party`` or ``period``."""
        w = self.words
        name, between = getattr(w, by), quoted(w.between)
        having = f" HAVING SUM({w.total}) >= {least}" if by == "party" else ""
        part = f"SELECT {name} AS named, SUM({w.total}) AS came_to FROM {source} GROUP BY {name}{having}"
        return (
            f"WITH parts AS ({part})\n"
            f"SELECT said FROM (SELECT 0 AS place, named, named || {between} || came_to AS said FROM parts\n"
            f"  UNION ALL SELECT 1, '', {quoted(w.everything + w.between)} || COALESCE(SUM(came_to), 0) "
            "FROM parts)\nORDER BY place, named"
        )

    def fill(self, table: str, select: str) -> str:
        return f"INSERT OR REPLACE INTO {table} ({', '.join(self.columns_of(table))})\n{select}"

    # -- table by table -------------------------------------------------------------------------------
    def clean(self) -> str:
        return self.fill(self.words.clean, self.select_clean())

    def stages(self) -> list[str]:
        return [
            self.fill(self.stage_name(number), self.select_stage(number, self.stage_name(number - 1)))
            for number in range(1, self.book.knobs.delay + 1)
        ]

    def sums(self, number: int) -> str:
        source = self.last_stage if number == 1 else self.sums_name(number - 1)
        return self.fill(self.sums_name(number), self.select_sums(number, source))

    # -- each from the lines alone --------------------------------------------------------------------
    def _chain(self, sums: int) -> tuple[str, str]:
        """Common table expressions up to a number of sums, and the name of the last one."""
        parts = [("c0", self.select_clean())]
        for number in range(1, self.book.knobs.delay + 1):
            parts.append((f"c{number}", self.select_stage(number, f"c{number - 1}")))
        for number in range(1, sums + 1):
            parts.append((f"s{number}", self.select_sums(number, parts[-1][0])))
        return "WITH " + ",\n".join(f"{name} AS ({select})" for name, select in parts), parts[-1][0]

    def staged_alone(self) -> str:
        """The last table before the sums."""
        chain, last = self._chain(0)
        return self.fill(self.last_stage, f"{chain}\nSELECT {', '.join(self.kept_columns)} FROM {last}")

    def sums_alone(self, number: int) -> str:
        chain, last = self._chain(number)
        return self.fill(self.sums_name(number), f"{chain}\nSELECT {', '.join(self.sum_columns)} FROM {last}")

    def report_alone(self, least: str, by: str = "party") -> str:
        chain, last = self._chain(self.book.knobs.depth)
        report = self.select_report(last, least, by).removeprefix("WITH ")
        return f"{chain},\n{report}"
