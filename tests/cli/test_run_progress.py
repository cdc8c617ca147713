"""What a run shows while it is under way."""

import io

import pytest
from rich.console import Console

from seatrial.cli.run import progress as run_progress
from seatrial.cli.run.progress import Shown, cost, duration, overall, progress, under_way
from seatrial.schedule.spending import Spent
from seatrial.schedule.watching import Running, RunProgress
from seatrial.trial.job import TrialDone

HALFWAY = RunProgress(
    total=8,
    done=3,
    running=[Running("one", 2, 17, 65.0), Running("two", 1, 0, 2.0, judge_only=True)],
    spent=Spent(calls=10, tokens=12345, without_tokens=0, money=0.5, without_money=4),
    infrastructure_ends=1,
    seconds_left=7260.0,
)


def test_a_standing_in_words_says_what_is_unknown() -> None:
    assert overall(HALFWAY) == (
        "3/8 done, 10 model calls, 12,345 tokens, money 0.5000 + 4 calls of unknown cost, "
        "1 infrastructure ends, about 2h01m left"
    )
    assert overall(RunProgress(total=8, done=0)) == "0/8 done, no model calls"
    assert cost(Spent(calls=2, without_tokens=2, without_money=2)) == (
        "2 model calls, tokens unknown, money unknown"
    )
    assert under_way(HALFWAY.running[0]) == "attempt 2, step 17, 1m05s"
    assert under_way(HALFWAY.running[1]) == "being judged, 2s"
    assert [duration(seconds) for seconds in (0.4, 59.6, 3599)] == ["0s", "1m00s", "59m59s"]


def test_a_terminal_shows_a_row_for_each_attempt_under_way() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
    with progress(console) as bar:
        shown = Shown(8, bar)
        shown.moved(HALFWAY)
        assert [task.description for task in bar.tasks] == ["trials", "  one", "  two"]
        assert (bar.tasks[0].completed, bar.tasks[0].total) == (3, 8)
        assert bar.tasks[1].fields["words"] == "attempt 2, step 17, 1m05s"
        shown.moved(RunProgress(total=8, done=5, running=HALFWAY.running[1:]))
        assert [task.description for task in bar.tasks] == ["trials", "  two"]


def test_elsewhere_there_are_plain_lines_and_now_and_then_a_sign_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(run_progress, "PLAIN_SECONDS", -1.0)
    with progress(Console(file=out, width=40)) as bar:
        shown = Shown(8, bar)
        shown.moved(HALFWAY)
        shown.ended(
            TrialDone(
                trial="one", attempt=2, stop_reason="killed", infrastructure=True, steps=3, note="\x1b[2J"
            )
        )
        shown.ended(TrialDone(trial="one", attempt=3, stop_reason="finished", infrastructure=False, steps=4))
        shown.holding("it was asked to stop", 2)
    lines = out.getvalue().splitlines()
    assert lines[0] == f"{overall(HALFWAY)}; under way: one, two"
    assert lines[1].startswith("[3/8] one, attempt 2: killed after 3 steps (")
    assert "\x1b" not in out.getvalue()
    assert lines[2:] == [
        "[4/8] one, attempt 3: finished after 4 steps",
        "Nothing more is started: it was asked to stop; 2 attempts under way are finished and judged.",
    ]
