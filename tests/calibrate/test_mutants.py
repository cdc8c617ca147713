"""Mutants of a reference: one thing wrong each, and only in steps that matter."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from seatrial.calibrate.mutants import altered, changing_steps, difference, mutants
from seatrial.journal.entries import Entry
from seatrial.journal.events import ActionFinished, ActionRequested, Event
from seatrial.spec.toml_text import table_text

STEPS = [
    {"tool": "shell", "command": "ls"},
    {"tool": "write_file", "path": "a.txt", "content": "one 1"},
    {"tool": "shell", "command": "make", "cwd": "/tmp", "when_shown": "ready", "patience": 5.0},
    {"tool": "finish", "summary": "done"},
]
SCRIPT = "\n".join(table_text("[step]", step) for step in STEPS)


def played(step: int, change: bool) -> list[Event]:
    script = STEPS[{1: 0, 2: 1, 3: 1, 4: 2, 5: 3}[step]]
    arguments = {k: v for k, v in script.items() if k not in ("tool", "when_shown", "patience")}
    changes = [Entry(path="workspace/a.txt", kind="file")] if change else []
    return [
        ActionRequested(step=step, tool=str(script["tool"]), arguments=arguments, key="", pre="0"),
        ActionFinished(step=step, outcome="ok", pre="0", post="1", observation="", changes=changes),
    ]


def test_every_argument_of_a_changing_step_gives_a_mutant_and_so_does_leaving_it_out() -> None:
    found = {mutant.name: mutant for mutant in mutants(SCRIPT, [1, 2])}
    assert list(found) == ["2-drop", "2-path", "2-content", "3-drop", "3-command", "3-cwd"]
    assert found["2-drop"].steps == [STEPS[0], *STEPS[2:]]
    assert found["2-path"].steps[1] == {**STEPS[1], "path": "a.uxt"}
    assert found["3-command"].change == "step 3 (shell): command 'make' became 'male'"
    for mutant in found.values():
        assert sum(a != b for a, b in zip(mutant.steps, STEPS, strict=False)) >= 1


def test_a_step_that_was_asked_for_twice_while_it_waited_counts_once() -> None:
    events = [*played(1, False), *played(2, True), *played(3, False), *played(4, True), *played(5, False)]
    assert changing_steps(SCRIPT, events) == [1, 2]
    assert changing_steps(SCRIPT, []) == []


@given(st.text() | st.integers() | st.booleans() | st.lists(st.text(), min_size=1))
def test_what_is_altered_is_another_value_of_the_same_kind_and_always_the_same(value: object) -> None:
    assert altered(value) != value
    assert type(altered(value)) is type(value)
    assert altered(value) == altered(value)


def test_a_difference_is_shown_where_it_is() -> None:
    before = "x" * 200 + "1" + "y" * 200
    shown = difference(before, altered(before))
    assert len(shown) < 120
    assert tomllib.loads(table_text("", {"a": altered(before)}))["a"] == altered(before)
    assert difference(3, 4) == "3 became 4"
