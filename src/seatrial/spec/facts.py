"""Facts of a task: what they must hold beyond the types of their keys, and how their values are read (E5)."""

import json
import re
from typing import Any

from seatrial.journal.entries import path_text
from seatrial.spec.conditions import as_text
from seatrial.spec.faults import Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.patterns import PatternError, compile_pattern, split_read
from seatrial.spec.regexes import check_regex
from seatrial.spec.task import Fact, Task


def check_facts(source: Source, task: Task) -> None:
    """Check every fact of a task.

    Raises:
        SpecError: the first rule that is broken.
    """
    check_unique(source, "fact[{}].id", [fact.id for fact in task.fact])
    for index, fact in enumerate(task.fact):
        place = f"fact[{index}]"
        check_name(source, f"{place}.id", fact.id)
        check_range(source, f"{place}.weight", fact.weight, 0, 10**9)
        try:
            fact_path(fact)
        except PatternError as fault:
            raise source.fault(f"{place}.file", fault.problem, fault.remedy) from fault
        _check_service(source, f"{place}.file", fact.file, task.environment.services)
        _check_reading(source, place, fact)


def _check_service(source: Source, place: str, text: str, services: list[str]) -> None:
    kind, rest = split_read(text)
    service = rest.partition("/")[0]
    if kind == "service" and service not in services:
        problem = f"{shown(text)}: the task has no service {shown(service)}"
        raise source.fault(place, problem, choose(service, services, "a service of environment.services"))


def _check_reading(source: Source, place: str, fact: Fact) -> None:
    if fact.pattern is not None and fact.json_key is not None:
        raise source.fault(f"{place}.pattern", "the value is read in two ways", "Keep pattern or json_key")
    if fact.json_key == "":
        raise source.fault(f"{place}.json_key", '"" names no key', "Write a path such as limits.max")
    if fact.pattern is None:
        return
    groups = check_regex(source, f"{place}.pattern", fact.pattern).groups
    if groups != 1:
        raise source.fault(
            f"{place}.pattern", f"{shown(fact.pattern)} has {groups} groups", "Put just the value in (…)"
        )


def fact_path(fact: Fact) -> str:
    """The state path of the file or row that a fact is read from.

    Raises:
        PatternError: it names no single file (``files:PATH``) and no row (``service:NAME/TABLE/KEY``).
    """
    kind, rest = split_read(fact.file)
    if kind == "service":
        if rest.count("/") != 2 or not all(rest.split("/")):
            raise PatternError(f"{fact.file!r} names no row", "Write service:NAME/TABLE/KEY")
        return path_text(f"services/{rest}.json".encode())
    literal = compile_pattern(fact.file).literal if kind == "files" else None
    if literal is None:
        raise PatternError(f"{fact.file!r} names no single file", "Write files:PATH without wildcards")
    return literal


def fact_value(fact: Fact, content: bytes) -> str | None:
    """What a file's content says of a fact, as text; null where it does not say."""
    text = content.decode("utf-8", "replace")
    if fact.json_key is not None:
        return _json_value(fact.json_key, text)
    if fact.pattern is None:
        return text.strip()
    found = re.search(fact.pattern, text, re.MULTILINE)
    return None if found is None or found[1] is None else found[1].strip()


def _json_value(key: str, text: str) -> str | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for part in key.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return plain_value(value)


def plain_value(value: object) -> str | None:
    """A reported or read value as text, so that 3 and "3" are one; null for null."""
    if value is None:
        return None
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return as_text(value).strip()
