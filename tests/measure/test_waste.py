"""Idle and wasted actions by the rules of E3, over journals written out step by step."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.journal.entries import Entry
from seatrial.journal.events import ActionFinished, ActionRequested, EffectRecorded, TrialEnded
from seatrial.measure.deeds import Deltas
from seatrial.measure.waste import Waste, WastedSteps, count_waste, wasted_steps
from tests.measure.trials import started

UNKNOWN = Waste(idle_actions=None, wasted_unread=None, wasted_undone=None)
BASE = {"workspace/a": "one", "workspace/b": "one", "workspace/c": "one"}


def entry(path, content):
    if content is None:
        return Entry(path=path, kind="absent")
    return Entry(path=path, kind="file", mode=0o644, digest=f"d:{content}", size=len(content))


class World:
    """Writes a journal whose fingerprints follow the files, as the gateway does."""

    def __init__(self, base=BASE):
        self.files, self.step, self.events = dict(base), 0, [started()]
        self.deltas = Deltas({path: entry(path, text) for path, text in base.items()}, {})

    def mark(self):
        return repr(sorted(self.files.items()))

    def entries(self, writes):
        self.files = {k: v for k, v in (self.files | writes).items() if v is not None}
        return [entry(path, content) for path, content in writes.items()]

    def ask(self, command, tool="shell"):
        self.step += 1
        self.events.append(
            ActionRequested(
                step=self.step, tool=tool, arguments={"command": command}, key="", pre=self.mark(),
                actor="agent",
            )
        )  # fmt: skip

    def act(self, command, writes=None, shown="nothing", tool="shell", outcome="ok", **more):
        self.ask(command, tool)
        pre, changes = self.mark(), self.entries(writes or {})
        if more.pop("large", False):
            self.deltas.large[f"large-{self.step}"] = changes
            more["changes_object"], changes = f"large-{self.step}", []
        done = {"reads": [], "exit_code": 0, "observation": f"o:{shown}", **more}
        self.events.append(
            ActionFinished(
                step=self.step, outcome=outcome, pre=pre, post=self.mark(), changes=changes, **done
            )
        )
        return self

    def lose(self, command):
        self.ask(command)
        return self

    def background(self, writes):
        pre, changes = self.mark(), self.entries(writes)
        self.events.append(EffectRecorded(actor="background", pre=pre, post=self.mark(), changes=changes))
        return self

    def count(self, audit="equal", deltas=True):
        end = TrialEnded(stop_reason="finished", fingerprint="f", audit=audit)
        return count_waste(self.wasted(end, deltas))

    def wasted(self, end, deltas=True):
        return wasted_steps([*self.events, end], self.deltas if deltas else None)


def idle(world):
    return world.count().idle_actions


def unread(world):
    return world.count().wasted_unread


def undone(world):
    return world.count().wasted_undone


# -- idle -------------------------------------------------------------------------------------------------


def test_repeating_a_failed_command_in_the_same_world_is_idle():
    world = World()
    for _ in range(3):
        world.act("make", outcome="failed", exit_code=2, shown="no rule")
    assert idle(world) == 2


@pytest.mark.parametrize(("outcome", "exit_code"), [("failed", 1), ("partial", 137)])
def test_a_failure_that_words_itself_anew_is_the_same_failure(outcome, exit_code):
    world = World()
    for seconds in range(6):
        world.act("pytest", outcome=outcome, exit_code=exit_code, shown=f"1 failed in 0.{seconds} s")
    assert idle(world) == 5


@pytest.mark.parametrize(
    "second",
    [
        {"exit_code": 2},
        {"outcome": "partial"},
        {"exit_code": 0, "outcome": "ok"},
        {"writes": {"workspace/b": "two"}},
    ],
)
def test_another_failure_is_not_idle(second):
    first = {"outcome": "failed", "exit_code": 1}
    assert idle(World().act("pytest", **first).act("pytest", **{**first, "shown": "else", **second})) == 0


def test_a_failure_after_a_concurrent_change_is_not_idle():
    world = World().act("pytest", outcome="failed", exit_code=1).background({"workspace/b": "two"})
    world.background({"workspace/b": "one"}).act("pytest", outcome="failed", exit_code=1, shown="else")
    assert idle(world) == 0


@pytest.mark.parametrize(
    ("outcome", "exit_code", "notes"),
    [("ok", 0, {}), ("failed", None, {"malformed": True}), ("partial", 137, {"interrupted": True})],
)
def test_what_is_no_failure_of_its_own_is_idle_only_where_it_shows_the_same(outcome, exit_code, notes):
    more = {"outcome": outcome, "exit_code": exit_code, "notes": notes}
    world = World().act("make", shown="one", **more).act("make", shown="two", **more)
    assert idle(world) == 0
    assert idle(world.act("make", shown="two", **more)) == 1


@pytest.mark.parametrize(
    "second",
    [{"shown": "other"}, {"exit_code": 1}, {"tool": "read_file"}, {"writes": {"workspace/b": "two"}}],
)
def test_what_shows_or_does_something_else_is_not_idle(second):
    assert idle(World().act("cat a", shown="one").act("cat a", **{"shown": "one", **second})) == 0


def test_reading_again_after_a_change_is_not_idle():
    world = World().act("cat a", shown="one").act("edit", {"workspace/b": "two"}).act("cat a", shown="one")
    assert idle(world) == 0


def test_reading_again_after_a_concurrent_change_is_not_idle_even_when_it_came_back():
    world = World().act("cat a", shown="one").background({"workspace/b": "two"})
    world.background({"workspace/b": "one"}).act("cat a", shown="one")
    assert idle(world) == 0


def test_the_same_failure_in_a_state_the_agent_came_back_to_is_idle():
    world = World().act("test", outcome="failed").act("edit", {"workspace/a": "two"})
    world.act("revert", {"workspace/a": "one"}).act("test", outcome="failed")
    assert idle(world) == 1


def test_talk_is_never_idle():
    world = World()
    for tool in ("report_belief", "ask_human", "finish"):
        world.act("", tool=tool).act("", tool=tool)
    assert idle(world) == 0


@pytest.mark.parametrize("where", ["first", "second"])
def test_an_action_of_unknown_outcome_that_may_be_idle_makes_it_unknown(where):
    world = World()
    if where == "first":
        world.act("cat a", outcome="unknown", exit_code=None).act("cat a")
    else:
        world.act("cat a").lose("cat a")
    assert idle(world) is None


def test_an_action_of_unknown_outcome_that_cannot_be_idle_changes_nothing():
    assert idle(World().act("cat a").act("cat a").lose("cat b")) == 1
    moved = World().act("x").act("x", {"workspace/a": "two"}, outcome="unknown", exit_code=None)
    assert idle(moved) == 0


# -- repeated, since the state was not read ----------------------------------------------------------------


def wrote(path="workspace/a", content="two", **more):
    return World().act(f"write {path}", {path: content}, **more)


def test_writing_again_what_stands_already_is_waste():
    assert unread(wrote().act("write workspace/a")) == 1
    assert unread(wrote().act("other", {"workspace/b": "x"}).act("write workspace/a")) == 1
    assert unread(wrote().act("write workspace/a", outcome="failed", exit_code=1)) == 1, "it exists already"


def test_a_read_in_between_of_one_of_the_paths_clears_it():
    assert unread(wrote().act("cat", reads=["workspace/a"]).act("write workspace/a")) == 0
    assert unread(wrote().act("cat", reads=["workspace/b"]).act("write workspace/a")) == 1
    assert unread(wrote(reads=["workspace/a"]).act("write workspace/a")) == 1, "not in between"


def test_a_repeats_own_read_clears_neither_it_nor_the_next():
    world = wrote().act("write workspace/a", reads=["workspace/a"])
    assert unread(world.act("write workspace/a", reads=["workspace/a"])) == 2


def test_checking_what_changed_since_is_no_waste():
    world = World().act("pytest", {"workspace/.cache": "x"}).act("edit", {"workspace/b": "two"})
    assert unread(world.act("pytest", reads=["workspace/b"])) == 0


@pytest.mark.parametrize(
    "between",
    [
        lambda w: w.act("undo", {"workspace/a": "one"}).act("redo", {"workspace/a": "two"}),
        lambda w: w.background({"workspace/a": "three"}),
    ],
)
def test_it_counts_only_where_the_effect_stood_untouched(between):
    assert unread(between(wrote()).act("write workspace/a")) == 0


def test_what_was_turned_away_repeats_nothing():
    assert unread(wrote().act("write workspace/a", outcome="denied")) == 0
    assert unread(wrote().act("write workspace/a", notes={"malformed": True})) == 0
    assert unread(wrote().act("write workspace/a", notes={"repeats": 1})) == 0


def test_reads_nobody_saw_make_it_unknown_only_with_a_candidate():
    assert unread(wrote().act("look", reads=None).act("write workspace/a")) is None
    assert unread(wrote().act("write workspace/a", reads=None)) is None
    assert unread(wrote().lose("look").act("write workspace/a")) is None
    assert unread(wrote().act("look", reads=None).act("write workspace/b")) == 0
    assert unread(World().act("look", reads=None).act("write", {"workspace/a": "two"}).act("write")) == 1
    seen = wrote().act("cat", reads=["workspace/a"]).act("look", reads=None)
    assert unread(seen.act("write workspace/a")) == 0, "what was seen clears it"


def test_an_unfinished_action_may_be_either_of_the_two():
    assert unread(wrote().lose("write workspace/a")) is None
    lost = World().lose("write").background({"workspace/a": "two"})
    assert unread(lost.act("write")) is None
    again = World().lose("write").act("write", {"workspace/a": "two"})
    assert unread(again.act("write")) == 1, "the latest such one is known"


# -- undone -----------------------------------------------------------------------------------------------


def test_work_the_agent_takes_back_is_undone_once():
    assert undone(World().act("edit", {"workspace/a": "two"}).act("checkout", {"workspace/a": "one"})) == 1
    assert undone(World().act("make", {"workspace/new": "x"}).act("rm", {"workspace/new": None})) == 1
    assert undone(World().act("rm", {"workspace/a": None}).act("back", {"workspace/a": "one"})) == 1


def test_never_done_and_done_for_good_are_not_undone():
    assert undone(World().act("look")) == 0
    assert undone(World().act("edit", {"workspace/a": "two"}).act("edit", {"workspace/a": "three"})) == 0


def test_what_stands_at_the_end_was_not_undone_but_the_wrong_undoing_was():
    world = World().act("edit", {"workspace/a": "two"}).act("revert", {"workspace/a": "one"})
    assert undone(world.act("again", {"workspace/a": "two"})) == 1
    assert undone(world.act("revert", {"workspace/a": "one"})) == 2


def test_rolling_back_past_several_edits_takes_all_of_them_back():
    world = World().act("1", {"workspace/a": "two"}).act("2", {"workspace/a": "three"})
    assert undone(world.act("checkout", {"workspace/a": "one"})) == 2


def test_all_files_have_to_be_put_back():
    both = {"workspace/a": "two", "workspace/b": "two"}
    assert undone(World().act("edit", both).act("back", {"workspace/a": "one"})) == 0
    world = World().act("edit", both).act("back", {"workspace/a": "one"}).act("x", {"workspace/c": "x"})
    assert undone(world.act("back b", {"workspace/b": "one"})) == 1


def test_only_the_agent_takes_back():
    assert undone(World().act("edit", {"workspace/a": "two"}).background({"workspace/a": "one"})) == 0
    assert undone(World().background({"workspace/a": "two"}).act("back", {"workspace/a": "one"})) == 0


def test_moving_a_file_takes_nothing_back():
    made = {"workspace/new": "x"}
    assert undone(World().act("make", made).act("mv", {"workspace/new": None, "workspace/n2": "x"})) == 0
    copied = World().act("make", made).act("cp", {"workspace/n2": "x"})
    assert undone(copied.act("rm", {"workspace/new": None})) == 0


def test_scratch_files_and_folders_are_means():
    world = World().act("make", {"tmp/probe": "x"}).act("rm", {"tmp/probe": None})
    assert undone(world) == 0
    folder = World().act("mkdir")
    folder.events[-1].changes = [Entry(path="workspace/d", kind="dir", mode=0o755)]
    folder.act("rmdir", {"workspace/d": None})
    assert undone(folder) == 0


def test_large_deltas_count_like_small_ones():
    many = {f"workspace/{n}": "x" for n in range(300)}
    world = World().act("unpack", many, large=True)
    assert undone(world.act("rm", dict.fromkeys(many), large=True)) == 1
    assert unread(World().act("unpack", many, large=True).act("unpack")) == 1


def test_an_unfinished_action_may_have_put_anything_back():
    assert undone(World().act("edit", {"workspace/a": "two"}).lose("checkout")) is None


# -- what they need ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("audit", ["different", "not run"])
def test_without_a_trusted_state_nothing_is_counted(audit):
    assert wrote().act("write workspace/a").count(audit=audit) == UNKNOWN


def test_without_the_deltas_only_idleness_is_known():
    found = wrote().act("look").act("look").count(deltas=False)
    assert found == msgspec.structs.replace(UNKNOWN, idle_actions=1)


def test_the_steps_are_named():
    world = World().act("look").act("look").act("edit", {"workspace/a": "two"}).act("edit")
    world.act("back", {"workspace/a": "one"})
    end = TrialEnded(stop_reason="finished", fingerprint="f", audit="equal")
    assert world.wasted(end) == WastedSteps(idle=[2], unread=[4], undone=[3])


PATHS = ["workspace/a", "workspace/b"]
DEEDS = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(["one", "two", "three"])), max_size=12)


@given(DEEDS)
def test_the_counts_agree_with_the_rules_taken_literally(steps):
    """A slow reading of the definitions, for journals of whole-file writes."""
    world, states = World(), [dict(BASE)]
    for path, content in steps:
        changes = {path: content} if world.files[path] != content else {}
        world.act(f"{path} {content}", changes)
        states.append(dict(world.files))
    expected_idle = expected_unread = expected_undone = 0
    for k, (path, content) in enumerate(steps, start=1):
        if states[k] == states[k - 1]:
            same = [j for j in range(1, k) if steps[j - 1] == (path, content)]
            expected_idle += any(states[j - 1] == states[k - 1] for j in same)
            makers = [j for j in same if states[j] != states[j - 1]]
            expected_unread += bool(makers) and all(
                states[j][path] == states[makers[-1]][path] for j in range(makers[-1], k)
            )
        else:
            older = [states[j][path] for j in range(k)]
            later = [states[j][path] for j in range(k + 1, len(states)) if states[j] != states[j - 1]]
            moved_to = [
                states[j][path] for j in range(k + 1, len(states)) if states[j][path] != states[j - 1][path]
            ]
            assert set(moved_to) <= set(later)
            expected_undone += states[-1][path] != content and any(value in older for value in moved_to)
    found = world.count()
    assert (found.idle_actions, found.wasted_unread) == (expected_idle, expected_unread)
    assert found.wasted_undone == expected_undone
