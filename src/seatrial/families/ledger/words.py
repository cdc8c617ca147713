"""Names and wordings: those of the original, and others for its variants."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """How things are called in one instance.

    Attributes:
        desk: who keeps the book.
        lines, clean, corrections, aliases: tables of what came in, of what counts, of late corrections and
            of short names.
        stage, sums: tables between cleaning and its first check, and of sums; with ``{n}``.
        line, ref, party, stamp, amount, unit, alias, period, total: columns.
        order: of the columns in a file, by those names.
        intake: a file that comes in; with ``{n}``.
        rules, report, client, script: paths of the rules, the report, the program that sends statements, and
            the statement that carries corrections over.
        ceiling, least: keys of the rules.
        between: stands between a name and its figure in the report.
        everything: name of the report's last line.
    """

    desk: str
    lines: str
    clean: str
    corrections: str
    aliases: str
    stage: str
    sums: str
    line: str
    ref: str
    party: str
    stamp: str
    amount: str
    unit: str
    alias: str
    period: str
    total: str
    order: tuple[str, ...]
    intake: str
    rules: str
    report: str
    client: str
    script: str
    ceiling: str
    least: str
    between: str
    everything: str

    @property
    def line_columns(self) -> list[str]:
        """Columns of a file that comes in, in their order there."""
        return [str(getattr(self, name)) for name in self.order]


WORDINGS = (
    Wording(
        desk="the records office", lines="lines", clean="kept", corrections="corrections",
        aliases="aliases", stage="stage_{n}", sums="sums_{n}", line="line", ref="ref", party="party",
        stamp="stamp", amount="amount", unit="unit", alias="alias", period="period", total="total",
        order=("line", "ref", "party", "stamp", "amount", "unit"), intake="intake/part-{n}.csv",
        rules="rules/book.toml", report="report/summary.csv", client="tools/sql.py",
        script="tools/corrections.sql", ceiling="ceiling", least="least", between=",", everything="all",
    ),
    Wording(
        desk="the accounts desk", lines="arrivals", clean="entries", corrections="amendments",
        aliases="nicknames", stage="pass_{n}", sums="level_{n}", line="number", ref="voucher",
        party="account", stamp="booked", amount="reading", unit="measure", alias="nickname",
        period="term", total="subtotal", order=("ref", "line", "amount", "unit", "stamp", "party"),
        intake="inbox/batch{n}.csv", rules="config/terms.toml", report="out/result.txt",
        client="bin/ask.py", script="bin/amend.sql", ceiling="cap", least="minimum", between=";",
        everything="total",
    ),
    Wording(
        desk="the survey bureau", lines="slips", clean="postings", corrections="revisions",
        aliases="short_names", stage="turn_{n}", sums="tier_{n}", line="slip", ref="mark", party="holder",
        stamp="dated", amount="quantity", unit="scale", alias="short_name", period="span", total="figure",
        order=("stamp", "party", "unit", "amount", "line", "ref"), intake="received/{n}-slips.csv",
        rules="terms/limits.toml",
        report="sheets/overview.txt", client="scripts/statement.py", script="scripts/revise.sql",
        ceiling="top", least="floor", between=" = ", everything="sum",
    ),
)  # fmt: skip


def wording_of(variant: int) -> Wording:
    """The original takes the first; no variant does."""
    return WORDINGS[0] if variant == 0 else WORDINGS[1 + (variant - 1) % (len(WORDINGS) - 1)]
