"""What the SWE-bench harness reports: every id of a run in exactly one class, tests of single instances."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seatrial.importers.rows import Row
from seatrial.spec.faults import shown

_REPORT = "the harness's run report"
_SCHEMA = 2


@dataclass(frozen=True)
class Outcome:
    """How an instance ended.

    Attributes:
        word: the source's own word; null when it has none.
        strict: resolved or not; null when nothing was judged.
        score: share of listed tests that pass; null when no test was run.
    """

    word: str | None
    strict: bool | None
    score: float | None = None


# List of ids to what it says. An empty patch was submitted and cannot resolve anything; an error may be the
# patch's doing or the host's, which the report does not say; without a prediction there was nothing to judge.
_CLASSES = {
    "resolved_ids": Outcome("resolved", True),
    "unresolved_ids": Outcome("unresolved", False),
    "empty_patch_ids": Outcome("empty_patch", False),
    "error_ids": Outcome("error", None),
    "incomplete_ids": Outcome("incomplete", None),
}
# Submitted, yet in no class: the harness was given an id that its data set does not hold.
_NOT_RUN = Outcome("not_evaluated", None)
_COUNTS = {
    "completed_instances": "completed_ids",
    "resolved_instances": "resolved_ids",
    "unresolved_instances": "unresolved_ids",
    "empty_patch_instances": "empty_patch_ids",
    "error_instances": "error_ids",
    "submitted_instances": "submitted_ids",
}


def report_outcomes(row: Row) -> Iterator[tuple[str, Outcome]]:
    """Instances of a run report with their outcomes, by id.

    Raises:
        SpecError: another schema, a list is missing, an id is in two classes, or counts contradict the ids.
    """
    schema = row.whole("schema_version")
    if schema != _SCHEMA:
        raise row.fault(
            "schema_version", f"{shown(schema)} is not {_SCHEMA}", f"Give a report of schema {_SCHEMA}"
        )
    row.require([*_CLASSES, "completed_ids", "submitted_ids"], _REPORT)
    ids = {name: _ids(row, name) for name in (*_CLASSES, "completed_ids", "submitted_ids")}
    for count, name in _COUNTS.items():
        said = row.whole(count)
        if said is not None and said != len(ids[name]):
            raise row.fault(count, f"says {said}, but {name} holds {len(ids[name])}", "Get the report again")
    found: dict[str, Outcome] = {}
    for name, outcome in _CLASSES.items():
        for instance in ids[name]:
            if instance in found:
                raise row.fault(
                    name, f"{instance} is also {found[instance].word}", "Leave each id in one class only"
                )
            found[instance] = outcome
    judged = {
        instance for instance, outcome in found.items() if outcome.strict and outcome.word == "resolved"
    }
    if outside := sorted(judged - set(ids["completed_ids"])):
        raise row.fault("completed_ids", f"lacks {outside[0]}, which is resolved", "Get the report again")
    total = row.whole("total_instances")
    if total is not None and total != len(found):
        raise row.fault(
            "total_instances", f"says {total}, but the classes hold {len(found)}", "Get the report again"
        )
    for instance in ids["submitted_ids"]:
        found.setdefault(instance, _NOT_RUN)
    yield from sorted(found.items())


def instance_outcomes(file: str, plain: dict[str, Any]) -> Iterator[tuple[str, Outcome]]:
    """Instances of a ``report.json`` with their outcomes.

    Raises:
        SpecError: a value is missing or of another kind.
    """
    for instance, values in plain.items():
        row = Row(file, instance, values)
        resolved = row.flag("resolved")
        word = None
        if row.flag("patch_exists") is False or row.flag("patch_is_None") is True:
            word = "empty_patch"
        elif row.flag("patch_successfully_applied") is False:
            word = "patch_not_applied"
        yield instance, Outcome(word, resolved, _share(row))


def _share(row: Row) -> float | None:
    """Share of the tests that had to begin to pass, or go on passing, and do; null without any test."""
    status = row.get("tests_status")
    if status is None:
        return None
    passed = total = 0
    for group in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        part = status.get(group) if isinstance(status, dict) else None
        for name in ("success", "failure"):
            tests = part.get(name) if isinstance(part, dict) else None
            if not isinstance(tests, list):
                problem = f"{group} has no list of tests under {name}"
                raise row.fault("tests_status", problem, "Give the harness's own report.json")
            total += len(tests)
            passed += len(tests) if name == "success" else 0
    return passed / total if total else None


def _ids(row: Row, name: str) -> list[str]:
    ids = row.get(name)
    if not isinstance(ids, list) or not all(isinstance(one, str) and one for one in ids):
        raise row.fault(name, f"{shown(ids)} is no list of ids", f"Give {_REPORT}")
    if len(set(ids)) < len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise row.fault(name, f"holds {twice} twice", "Leave each id in once")
    return ids
