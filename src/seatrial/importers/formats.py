"""Every format that can be imported, in one table."""

from seatrial.errors import UsageError
from seatrial.importers import mapped, metr, swebench, taubench, terminal_bench
from seatrial.importers.request import Format
from seatrial.importers.terminal_bench_runs import LOCK
from seatrial.spec.faults import choose, ended

FORMATS = {
    known.name: known
    for known in (
        Format("metr", metr.EXPECTS, ("*.jsonl", "*.jsonl.gz"), metr.read_metr),
        Format("swebench", swebench.EXPECTS, ("*.json",), swebench.read_swebench),
        Format(
            "terminal-bench",
            terminal_bench.EXPECTS,
            ("results.json", LOCK),
            terminal_bench.read_terminal_bench,
        ),
        Format("taubench", taubench.EXPECTS, ("*.csv", "*.csv.gz"), taubench.read_taubench),
        Format(
            "csv", mapped.EXPECTS, ("*.csv", "*.csv.gz", "*.parquet"), mapped.read_mapped, takes_mapping=True
        ),
    )
}


def format_named(name: str) -> Format:
    """The format of that name.

    Raises:
        UsageError: there is none; names those there are.
    """
    if name not in FORMATS:
        raise UsageError(
            f"import: there is no format {name!r}. {ended(choose(name, FORMATS, 'one of these'))}"
        )
    return FORMATS[name]
