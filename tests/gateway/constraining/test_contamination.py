"""Marks of what the agent could know only from elsewhere (C11)."""

from typing import Any

from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.constraining.contamination import Contamination, markers
from seatrial.journal.events import ContaminationFlagged

FIX = """def total(rows):
    kept = [row for row in rows if row.status != "void"]
    ordered = sorted(kept, key=lambda row: (row.day, row.number))
    return sum(row.amount for row in ordered) - refunds(ordered)
"""
HIDDEN = {
    "verifiers/totals.py": 'expected = "9b1deb4d-3b7d-4bad-9bdd"\nknown = "in-the-instruction-too"\n',
    "solutions/reference.toml": f"content = '''{FIX}'''\n",
}
GIVEN = ["Sum up the rows. The marker is 'in-the-instruction-too'.", "def total(rows):\n    return 0\n"]


class Written:
    """Keeps what is flagged."""

    def __init__(self) -> None:
        self.events: list[ContaminationFlagged] = []

    def append(self, event: Any) -> Any:
        self.events.append(event)
        return event


def flags(*actions: tuple[str, str], informed: bool = False) -> list[tuple[int, str]]:
    """What is flagged of commands and their outputs in turn: step, and where with the marker."""
    journal: Any = Written()
    watch = Contamination(markers("ledger/five-steps", HIDDEN, GIVEN, informed), journal)
    for step, (command, output) in enumerate(actions, 1):
        watch.executed(Asked(step, "shell", {"command": command}), Window("ok", output))
    return [(event.step, f"{event.where}: {event.marker}") for event in journal.events]


def test_the_tasks_name_and_hidden_files_each_once() -> None:
    assert flags(
        ("ls", "notes.txt"),
        ("find / -name five-steps; cat verifiers/totals.py", ""),
        ("x", "this is ledger/five-steps."),
        ("cat verifiers/totals.py", "ledger/five-steps"),
    ) == [(2, "request: name of the hidden verifiers/totals.py"), (3, "output: task id")]


def test_a_fragment_of_a_solution_however_it_is_indented() -> None:
    typed = "cat > a.py <<'E'\n" + "\n\n".join(f"    {line}" for line in FIX.splitlines()) + "\nE"
    assert flags((typed, "")) == [(1, "request: fragment of solutions/reference.toml")]
    assert flags(("git show", FIX)) == [(1, "output: fragment of solutions/reference.toml")]
    assert flags((FIX.splitlines()[1], FIX.splitlines()[3])) == []
    assert flags((FIX.replace("refunds", "credits").replace("void", "x"), "")) == []


def test_an_expected_value_counts_when_nothing_had_shown_it() -> None:
    value = "9b1deb4d-3b7d-4bad-9bdd"
    assert flags((f"echo {value} > out", "")) == [(1, "request: expected value of verifiers/totals.py")]
    assert flags(("make id", value), (f"echo {value} > out", "")) == []
    assert flags(("echo in-the-instruction-too", "")) == []


def test_who_was_given_a_solution_is_watched_for_names_only() -> None:
    assert flags((FIX, "9b1deb4d-3b7d-4bad-9bdd"), ("ledger/five-steps", ""), informed=True) == [
        (2, "request: task id")
    ]
    assert markers("a/b", HIDDEN, GIVEN, informed=True).kinds == ["task"]
    assert markers("a/b", HIDDEN, GIVEN, informed=False).kinds == ["task", "expected", "solution"]


def test_what_the_agent_was_given_marks_nothing() -> None:
    given = [*GIVEN, FIX, "see verifiers/totals.py of ledger/five-steps"]
    found = markers("ledger/five-steps", HIDDEN, given, informed=False)
    assert found.words == {"solutions/reference.toml": "name of the hidden solutions/reference.toml"}
    journal: Any = Written()
    Contamination(found, journal).executed(Asked(1, "shell", {"command": FIX}), Window("ok", FIX))
    assert journal.events == []
