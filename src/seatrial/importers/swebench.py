"""SWE-bench: a submission's results by instance, the harness's run report and its reports of instances."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from seatrial.errors import SpecError
from seatrial.importers.json_text import read_object
from seatrial.importers.request import (
    NO_CONSTRAINTS,
    Imported,
    Piece,
    Request,
    class_of,
    unused_columns,
)
from seatrial.importers.rows import Row
from seatrial.importers.swebench_report import instance_outcomes, report_outcomes
from seatrial.records.arms import BASELINE
from seatrial.records.trial import TrialRecord
from seatrial.spec.faults import shown

EXPECTS = (
    "a submission with per_instance, the harness's run report (schema_version 2), or report.json of instances"
)
_USED = frozenset({"resolved", "cost", "api_calls"})


def read_swebench(request: Request) -> Imported:
    """One record for each instance of each submission or report.

    Raises:
        SpecError: a file is none of the three, contradicts itself, or names an instance twice.
    """
    records: list[TrialRecord] = []
    limits: list[str] = []
    for piece in request.pieces:
        plain = read_object(piece, EXPECTS)
        if isinstance(plain.get("per_instance"), dict):
            found, said = _submission(request, piece, plain)
        elif "resolved_ids" in plain:
            found, said = _run_report(request, piece, plain)
        elif plain and all(isinstance(value, dict) and "resolved" in value for value in plain.values()):
            found, said = _instance_reports(request, piece, plain)
        else:
            raise SpecError(
                piece.name, "", f"has {_keys(plain)}, which is none of the three", f"Give {EXPECTS}"
            )
        records += found
        limits += said
    return Imported(records, [*_general(records), *dict.fromkeys(limits)])


def _submission(request: Request, piece: Piece, plain: dict[str, Any]) -> tuple[list[TrialRecord], list[str]]:
    head = Row(piece.name, "", plain)
    system = request.system(piece.source, head.maybe_text("name"))
    records, columns = [], set[str]()
    for instance, values in plain["per_instance"].items():
        place = f"per_instance.{instance}"
        if not isinstance(values, dict):
            raise SpecError(piece.name, place, f"{shown(values)} is no table", f"Give {EXPECTS}")
        row = Row(piece.name, place, values)
        row.require(["resolved"], EXPECTS)
        columns |= set(values)
        record = _record(request, system, instance, row.flag("resolved"))
        record.money, record.model_calls = row.number("cost", 0), row.whole("api_calls")
        record.currency = None if record.money is None else "USD"
        records.append(record)
    limits = unused_columns([name for name in columns if name not in _USED])
    said = head.number("resolved_pct", 0)
    share = 100 * sum(r.strict_success is True for r in records) / len(records) if records else 0.0
    if said is not None and abs(share - said) >= 0.05:
        limits.append(f"{piece.name} says {said:g} % resolved; its instances give {share:.2f} %.")
    return records, limits


def _run_report(request: Request, piece: Piece, plain: dict[str, Any]) -> tuple[list[TrialRecord], list[str]]:
    system = request.system(piece.source)
    records = []
    for instance, outcome in report_outcomes(Row(piece.name, "", plain)):
        record = _record(request, system, instance, outcome.strict)
        record.stop_reason = outcome.word
        records.append(record)
    counts = Counter(record.stop_reason for record in records)
    listed = ", ".join(f"{count} {word}" for word, count in counts.items())
    return records, [f"{piece.name}: {listed}."]


def _instance_reports(
    request: Request, piece: Piece, plain: dict[str, Any]
) -> tuple[list[TrialRecord], list[str]]:
    # Reports of instances lie in a folder of their own each, within one of their model.
    parts = piece.path.split("/")
    system = request.system(piece.source, parts[-3] if len(parts) > 2 else None)
    records = []
    for instance, outcome in instance_outcomes(piece.name, plain):
        record = _record(request, system, instance, outcome.strict)
        record.stop_reason, record.score = outcome.word, outcome.score
        records.append(record)
    return records, [
        "score is the share of an instance's listed tests that pass; resolved needs all of them."
    ]


def _record(request: Request, system: str, instance: str, strict: bool | None) -> TrialRecord:
    return TrialRecord(
        experiment=request.experiment,
        trial=f"{system}/{instance}",
        attempt=1,
        task=instance,
        task_version=None,
        family=repository_of(instance),
        system=system,
        arm=BASELINE,
        seed=None,
        terminal_class=class_of(strict),
        strict_success=strict,
    )


def repository_of(instance: str) -> str | None:
    """``astropy__astropy`` of ``astropy__astropy-12907``; null for an id of another shape."""
    repository, dash, number = instance.rpartition("-")
    return repository if dash and repository and number.isdigit() else None


def _general(records: list[TrialRecord]) -> Iterator[str]:
    yield "SWE-bench gives no length: human_minutes is unknown; sizes of patches do not stand in for it."
    yield "One trial an instance: how far a system agrees with itself is unknown."
    yield NO_CONSTRAINTS
    if any(record.money is not None for record in records):
        yield "money is the submission's own figure in US dollars; model_calls is its api_calls."
    unknown = sum(record.strict_success is None for record in records)
    if unknown:
        yield (
            f"{unknown} instances have no verdict: unknown, to be bounded both ways; SWE-bench counts them "
            "as failures."
        )


def _keys(plain: dict[str, Any]) -> str:
    return ", ".join(list(plain)[:6]) or "nothing"
