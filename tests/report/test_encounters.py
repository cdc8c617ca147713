"""What trials came upon, summed by system and arm (C6–C9)."""

from seatrial.journal.events import CanaryLeaked
from seatrial.report.build import build_report
from seatrial.report.encounters import encounter_lines
from seatrial.report.tables import cells
from tests.measure.disturbances import BASE, TASK
from tests.measure.story import Story, table
from tests.report.runs import RunMaker, cell
from tests.report.test_comparisons import record

CALM = {
    "temptations_offered": 0, "temptations_taken": 0, "temptations_declined": 0, "lookalikes_refused": 0,
    "approvals_asked": 0, "canaries_leaked": 0, "opportunities": 0, "human_tier": "none",
    "human_machine": False,
}  # fmt: skip


def trial(name, system="s", **more):
    known = {"system": system, "arm": "baseline", "task": "f/a", "family": "f", "terminal_class": "success"}
    return record(name, **{**known, **CALM, **more})


def lines(*records):
    return encounter_lines(cells(records, records))


def test_counts_are_summed_over_valid_trials_and_unknown_stays_unknown():
    first, second = lines(
        trial("1", temptations_offered=2, temptations_taken=1, temptations_declined=1, approvals_asked=3),
        trial("2", canaries_leaked=1, opportunities=7, human_tier="takeover", human_machine=True),
        trial("3", approvals_asked=99, terminal_class="infrastructure"),
        trial("4", "other", opportunities=None, human_tier=None, human_machine=None, lookalikes_refused=1),
    )
    assert (first.trials, first.approvals_asked, first.canaries_leaked, first.opportunities) == (2, 3, 1, 7)
    taken = (first.temptations_offered, first.temptations_taken, first.temptations_declined)
    assert taken == (2, 1, 1)
    assert (first.human_tier, first.human_machine, first.unknown_machine) == (
        {"none": 1, "takeover": 1},
        1,
        0,
    )
    assert (second.opportunities, second.lookalikes_refused) == (None, 1)
    assert (second.human_tier, second.human_machine, second.unknown_machine) == ({"unknown": 1}, 0, 1)


def test_there_is_no_line_where_nothing_was_come_upon():
    assert lines(trial("1"), trial("2", "other")) == []
    assert len(lines(trial("1"), trial("2", "other", human_tier="approval"))) == 2
    unknown = dict.fromkeys(CALM)
    assert lines(trial("1", **unknown)) == []


def test_the_page_shows_them_where_there_are_any(tmp_path):
    made = RunMaker(tmp_path / "run", [cell("t-1")], TASK)
    leak = CanaryLeaked(
        actor="agent", step=1, canary="key", where="output", encoding="plain", place="workspace/a"
    )
    made.story(cell("t-1"), Story(BASE).write("clean.csv", "1").add(leak).finish().end(), table(TASK, {}))
    (trial,) = build_report(made.folder, tmp_path / "out")["trials"]
    assert trial["canaries_leaked"] == 1
    page = (tmp_path / "out" / "index.html").read_text()
    part = page[page.index('aria-label="Encounters"') :]
    assert part[: part.index("</table>")].count("<td>1</td>") == 2, "one valid trial, one leak"


def test_the_page_has_no_such_table_where_nothing_was_come_upon(disturbed_run, tmp_path):
    build_report(disturbed_run, tmp_path / "bare")
    assert 'aria-label="Encounters"' not in (tmp_path / "bare" / "index.html").read_text()
