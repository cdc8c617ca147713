"""The task folder of an instance: which files it holds and what stands in them."""

from pathlib import Path
from typing import Any

from seatrial.families.ledger.book import BASE, CORE, LOCAL, NUMBERING, WORLDS, Book
from seatrial.families.ledger.declaration import task_text
from seatrial.families.ledger.instruction import forced_figure, forced_total, report_by_period, request
from seatrial.families.ledger.plan import broken_texts, plan_text
from seatrial.families.ledger.recoveries import (
    HONEST,
    REPORT,
    REPORT_BY_PERIOD,
    clean_id,
    disturbances,
    has_goals,
    recovery_texts,
)
from seatrial.families.ledger.scripts import solutions
from seatrial.families.ledger.statements import Statements
from seatrial.families.ledger.workspace import REWORDED, environment, rules_text, schema
from seatrial.families.task_folder import Files, json_text
from seatrial.spec.toml_text import table_text

JUDGING = Path(__file__).with_name("judging")

VERIFIER = """\
#!/bin/sh
exec python3 -I -S -B -c '
import sys
sys.path.insert(0, sys.argv[1])
from judging.judge import main
main(sys.argv[1:])
' "${{0%/*}}" {name}
"""


def task_files(book: Book) -> Files:
    """Every file of the task by relative path, with its text and mode."""
    texts = {f"environment/{path}": text for path, text in environment(book).items()}
    texts |= {
        f"solutions/{name}.toml": text for name, text in {**solutions(book), **broken_texts(book)}.items()
    }
    texts |= {f"solutions/recover-{name}.toml": text for name, text in recovery_texts(book).items()}
    texts |= {f"perturbations/{name}": text for name, text in changes(book).items()}
    texts["services/sql.toml"] = 'script = "services/schema.sql"\n'
    texts["services/schema.sql"] = schema(book)
    texts["task.toml"], texts["plan.toml"] = task_text(book), plan_text(book)
    texts["instruction.md"] = request(book)
    if has_goals(book):
        texts["instruction-2.md"] = report_by_period(book)
        texts["instruction-3.md"] = forced_total(book)
    for module in sorted(JUDGING.glob("*.py")):
        texts[f"verifiers/judging/{module.name}"] = module.read_text(encoding="utf-8")
    for name, given in expected(book).items():
        texts[f"verifiers/expected/{name}.json"] = json_text(given)
    scripts = {
        f"verifiers/{name}.sh": VERIFIER.format(name=name) for name in expected(book) if name != "common"
    }
    return {path: (text, 0o644) for path, text in texts.items()} | {
        path: (text, 0o755) for path, text in scripts.items()
    }


def changes(book: Book) -> dict[str, str]:
    """What perturbations put in place of something else."""
    w = book.words
    line, amount = book.corrected
    row = table_text(f"[{w.corrections}]", {"rowid": line, w.amount: amount})
    names = {
        f"{REWORDED}.toml": rules_text(book, REWORDED),
        f"{LOCAL}.toml": rules_text(book, LOCAL),
        f"{CORE}.toml": rules_text(book, CORE),
        "correction.toml": row,
    }
    used = {
        each.declared.get("change", {}).get(key)
        for each in disturbances(book).values()
        for key in ("write", "set")
    }
    return {name: text for name, text in names.items() if f"perturbations/{name}" in used}


def expected(book: Book) -> dict[str, dict[str, Any]]:
    """What each verifier compares with, by subgoal; ``common`` tells the worlds apart."""
    w, statements = book.words, Statements(book)
    line, amount = book.corrected
    texts = {name: rules_text(book, name) for name in (BASE, REWORDED, LOCAL, CORE)}
    found: dict[str, dict[str, Any]] = {
        "common": {
            "rules": {"path": w.rules, "texts": texts, "counts_as": {REWORDED: BASE}},
            "correction": {"table": w.corrections, "row": {w.line: line, w.amount: amount}},
        }
    }
    names = ("line", "ref", "party", "stamp", "amount", "unit")
    columns = [getattr(w, name) for name in names]
    for number, batch in enumerate(book.batches, start=1):
        rows = [[getattr(each, name) for name in names] for each in batch]
        found[f"load-{number}"] = {
            "kind": "lines", "table": w.lines, "columns": columns, "number": w.line,
            "first": number * NUMBERING, "last": (number + 1) * NUMBERING - 1, "rows": rows,
        }  # fmt: skip
    found[clean_id()] = {
        "kind": "table", "table": statements.last_stage, "columns": statements.kept_columns,
        "worlds": _each_world(lambda world: [list(vars(each).values()) for each in book.staged(world)]),
    }  # fmt: skip
    for number in range(1, book.knobs.depth + 1):
        found[f"sum-{number}"] = {
            "kind": "table", "table": statements.sums_name(number), "columns": statements.sum_columns,
            "worlds": _each_world(
                lambda world, at=number - 1: [[*key, total] for key, total in book.sums(world)[at].items()]
            ),
        }  # fmt: skip
    found[REPORT] = _report(book, 0)
    if has_goals(book):
        found[REPORT_BY_PERIOD] = _report(book, 1)
        forced = f"{w.everything}{w.between}{forced_figure(book)}"
        found[HONEST] = {"kind": "honest", "path": w.report, "forced": "".join(forced.split())}
    return found


def _report(book: Book, by: int) -> dict[str, Any]:
    between = book.words.between
    lines = _each_world(lambda world: [f"{name}{between}{total}" for name, total in book.report(world, by)])
    return {"kind": "report", "path": book.words.report, "worlds": lines}


def _each_world(make: Any) -> dict[str, Any]:
    return {world.name: make(world) for world in WORLDS}
