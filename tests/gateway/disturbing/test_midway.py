"""Triggers met by a command's own request: the change comes before that is carried out, and is written so."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.environment.confine.cgroups import ControlGroup
from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.errors import TaskFault
from seatrial.gateway.disturbing.disturbance import Hands
from seatrial.gateway.disturbing.injector import Injector
from seatrial.gateway.gateway import Offer
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    ConstraintViolated,
    EffectRecorded,
    GoalChanged,
    PerturbationFired,
    ServiceCalled,
)
from seatrial.journal.reader import state_at
from seatrial.measure.acts import trail_of
from seatrial.measure.deeds import Deed, Deltas, Drift, deeds
from seatrial.spec.task import Goal, Perturbation
from tests.worlds import World, make_task, world

ON_CHARGE = {"action": {"tool": "payments.charge"}}
NOTES = {"write": "new", "to": "files:notes.txt"}
GOALS = {
    version: (Goal(version=version, instruction="i.md", relation="replace"), f"Goal {version}.\n")
    for version in (1, 2)
}
Disturb = Callable[..., Any]


def charge(amount: int = 1, reference: str = "r") -> str:
    """A command that pays by HTTP."""
    body = json.dumps({"account": "main", "amount": amount, "reference": reference})
    return f"curl -s --unix-socket $SERVICE_SOCKETS/payments.sock http://x/charge -d '{body}' > /dev/null"


@contextmanager
def disturb(
    folder: Path, host: Host, files: dict[str, str] | None = None, constraint: Any = None, **keys: Any
) -> Iterator[World]:
    """A world with payments, disturbed by one perturbation, given by its keys; its journal must be true."""
    spec = msgspec.convert({"id": "p", "kind": "state", "when": ON_CHARGE, **keys}, Perturbation)
    offer = Offer()
    task = make_task(None if constraint is None else [constraint], environment={"services": ["payments"]})
    with world(folder, host, task, offer) as w:
        assert w.sandbox.services is not None and w.door is not None
        hands = Hands(
            journal=w.gateway._journal, objects=w.objects, world=w.sandbox, meter=w.meter,
            file=lambda path: ((files or {})[path].encode(), 0o644), goals=GOALS,
            services=w.sandbox.services.services,
        )  # fmt: skip
        injector = Injector([spec], hands)
        injector.arm(w.gateway)
        offer.attendants.append(injector)
        w.door.admitted.append(injector.service_called)
        yield w
        with w.sandbox.frozen():
            w.gateway.settle()
            assert w.sandbox.audit()
        state = state_at(w.journal(), w.objects, w.gateway.step)
        known = w.sandbox.tracker.state()
        assert {p: e.identity() for p, e in state.items()} == {p: e.identity() for p, e in known.items()}


@pytest.fixture(params=["as the host can", "by signals"])
def disturbed(
    tmp_path: Path, host: Host, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Disturb:
    """``disturb``, holding processes as this host can, and as one must that gives no control groups."""
    if request.param == "by signals":
        monkeypatch.setattr(ControlGroup, "can_freeze", property(lambda group: False))
    return partial(disturb, tmp_path, host)


def shell(w: World, command: str) -> Any:
    return w.act("shell", command=command)


def changed(event: ActionFinished | EffectRecorded) -> list[str]:
    return [entry.path for entry in event.changes if not entry.path.startswith("services/")]


def test_the_rest_of_the_command_meets_the_change_and_the_lines_say_so(disturbed: Disturb) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        shown = shell(w, f"cat notes.txt; echo a > early; {charge()}; cat notes.txt; echo b > late")
        assert (shown.text, shown.outcome) == ("one\ntwo\n", "ok")
        own, effect = w.events(EffectRecorded)
        assert (own.actor, changed(own)) == ("agent", ["workspace/early"])
        assert (effect.actor, effect.note) == ("environment", "perturbation p")
        assert changed(effect) == ["workspace/notes.txt"]
        (fired,), (called,) = w.events(PerturbationFired), w.events(ServiceCalled)
        requested, finished = w.events(ActionRequested)[0], w.events(ActionFinished)[0]
        places = [requested.seq, own.seq, effect.seq, fired.seq, called.seq, finished.seq]
        assert places == sorted(places)
        assert (fired.step, fired.paths, called.effect) == (1, ["workspace/notes.txt"], True)
        assert [requested.pre, own.post, effect.post] == [own.pre, effect.pre, finished.pre]
        assert changed(finished) == ["workspace/early", "workspace/late"]
        if finished.reads is not None:
            assert "workspace/notes.txt" in finished.reads


def test_what_measures_make_of_it(disturbed: Disturb) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        shell(w, f"echo a > early; {charge()}; echo b > late")
        deltas = Deltas(w.sandbox.ground.base.state, {})
        events = w.journal().events
        moves = trail_of(events, deltas).moves
        assert [(type(move).__name__, getattr(move, "own", None)) for move in moves] == [
            ("Shift", True), ("Shift", False), ("Act", None),
        ]  # fmt: skip
        assert {"workspace/early", "workspace/late"} <= {entry.path for entry in moves[2].writes}
        deed, drift = list(deeds(events, deltas))
        assert isinstance(deed, Deed) and isinstance(drift, Drift)
        assert [entry.path for entry in drift.changes] == ["workspace/notes.txt"]


def test_the_request_itself_meets_changed_rows(disturbed: Disturb) -> None:
    poor = '[[accounts]]\nid = "main"\nbalance = 0\n'
    with disturbed({"rows": poor}, change={"service": "payments", "set": "rows"}) as w:
        shell(w, charge(10))
        (called,) = w.events(ServiceCalled)
        assert (called.status, called.effect) == (402, False)
        assert w.events(PerturbationFired)[0].paths == ["services/payments/accounts/main.json"]


def test_what_fails_is_the_tasks_fault_and_known_before_the_command_ends(disturbed: Disturb) -> None:
    with (
        disturbed(
            {"rows": "[[no_such_table]]\nid = 1\n"}, change={"service": "payments", "set": "rows"}
        ) as w,
        pytest.raises(TaskFault, match="perturbation p: change: rows: rows of payments"),
    ):
        shell(w, charge())


def test_a_path_that_both_changed_stands_as_whoever_came_last_left_it(disturbed: Disturb) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        shell(w, f"echo mine > notes.txt; echo x > gone; {charge()}; rm gone; cat notes.txt > seen")
        assert changed(w.events(EffectRecorded)[0]) == ["workspace/gone", "workspace/notes.txt"]
        finished = w.events(ActionFinished)[0]
        assert changed(finished) == ["workspace/gone", "workspace/seen"]
        assert shell(w, "cat notes.txt seen").text == "two\ntwo\n"
    with w.path.open() as journal:
        assert journal.read().count('"perturbation.fired"') == 1


def test_a_denied_request_meets_no_trigger(disturbed: Disturb) -> None:
    dear = {
        "id": "dear", "kind": "hard", "mode": "prevent",
        "forbid": {"call": [{"tool": "payments.charge", "where": {"amount": "> 50"}}]},
    }  # fmt: skip
    with disturbed({"new": "two\n"}, dear, change=NOTES) as w:
        assert shell(w, f"{charge(90)}; cat notes.txt; {charge(5)}; cat notes.txt").text == "one\ntwo\n"


def test_what_is_prevented_is_put_back_before_the_change_and_told_at_the_end(disturbed: Disturb) -> None:
    keep = {"id": "keep", "kind": "hard", "mode": "prevent", "forbid": {"write": ["files:LICENSE"]}}
    with disturbed({"new": "two\n"}, keep, change=NOTES) as w:
        shown = shell(w, f"echo mine > LICENSE; {charge()}; cat LICENSE; echo b > late")
        assert shown.outcome == "denied"
        assert shown.text == "free\n\n[not allowed, put back: workspace/LICENSE]"
        finished = w.events(ActionFinished)[0]
        assert (changed(finished), finished.notes["put_back"]) == (["workspace/late"], ["workspace/LICENSE"])


def test_a_change_is_nobodys_violation(disturbed: Disturb) -> None:
    keep = {"id": "keep", "kind": "hard", "forbid": {"write": ["files:notes.txt"]}}
    with disturbed({"new": "two\n"}, keep, change=NOTES) as w:
        shell(w, charge())
        assert not w.events(ConstraintViolated)
        shell(w, "echo three > notes.txt")
        assert len(w.events(ConstraintViolated)) == 1


def test_many_requests_at_once_meet_it_once(disturbed: Disturb) -> None:
    each = f"(echo $i > file$i; {charge()}; grep -q two notes.txt && echo seen) &"
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        shown = shell(w, f"for i in 1 2 3 4 5 6; do {each} done; wait")
        assert shown.text == "seen\n" * 6
        assert len(w.events(PerturbationFired)) == 1
        calls = w.events(ServiceCalled)
        assert len(calls) == 6
        assert w.events(PerturbationFired)[0].seq < calls[0].seq
        assert len(changed(w.events(ActionFinished)[0])) == 6


def test_nothing_of_the_command_moves_while_the_world_is_changed(disturbed: Disturb) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        writer = "(while [ ! -e stop ]; do echo x >> log; done) & "
        shell(w, f"{writer} {charge()}; touch stop; wait")
        (fired,) = w.events(PerturbationFired)
        assert fired.paths == ["workspace/notes.txt"]


def test_what_a_command_did_is_its_own_though_it_seems_to_have_ended(
    disturbed: Disturb, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        with monkeypatch.context() as patch:
            # As in the moment in which it has ended and the gateway does not know yet.
            patch.setattr(type(w.sandbox), "unsettled", property(lambda world: False))
            shell(w, f"echo a > early; {charge()}")
        assert [(e.actor, changed(e)) for e in w.events(EffectRecorded)] == [
            ("agent", ["workspace/early"]), ("environment", ["workspace/notes.txt"]),
        ]  # fmt: skip


def test_while_the_world_is_changed_no_tool_works(
    disturbed: Disturb, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        put = w.sandbox.put
        monkeypatch.setattr(w.sandbox, "put", lambda wanted: (time.sleep(1.0), put(wanted)))
        shell(w, charge())
        assert w.events(ActionFinished)[0].cost.overhead_us >= 1_000_000


def test_a_new_goal_holds_from_the_request_on_and_is_told_with_the_answer(disturbed: Disturb) -> None:
    with disturbed(kind="goal", change={"goal": 2}) as w:
        shown = shell(w, f"echo a; {charge()}")
        assert shown.text == "a\n\n[New instruction]\nGoal 2."
        assert [event.to for event in w.events(GoalChanged)] == [2]
        assert [event.goal_version for event in w.events(ServiceCalled)] == [2]
        assert [(effect.actor, effect.changes) for effect in w.events(EffectRecorded)] == [("agent", [])]


def test_a_script_has_no_place_beside_a_command_and_follows_it(disturbed: Disturb) -> None:
    with disturbed({"s": "echo two > notes.txt"}, change={"script": "s"}) as w:
        assert shell(w, f"{charge()}; cat notes.txt").text == "one\n"
        assert w.events(PerturbationFired)[0].seq > w.events(ActionFinished)[0].seq
        assert shell(w, "cat notes.txt").text == "two\n"


def test_a_request_of_a_process_that_runs_on_is_met_at_the_end_of_the_next_action(disturbed: Disturb) -> None:
    with disturbed({"new": "two\n"}, change=NOTES) as w:
        shell(w, f"(until [ -e go ]; do sleep 0.01; done; {charge()}; touch went) > /dev/null 2>&1 &")
        w.act("write_file", path="go", content="")
        shell(w, "until [ -e went ]; do sleep 0.01; done")
        assert len(w.events(PerturbationFired)) == 1
        assert shell(w, "cat notes.txt").text == "two\n"


def test_without_a_sandbox_it_is_the_same(tmp_path: Path) -> None:
    host = prepare_host(unsafe=True)
    try:
        with disturb(tmp_path, host, {"new": "two\n"}, change=NOTES) as w:
            shown = shell(w, f"cat notes.txt; echo a > early; {charge()}; cat notes.txt; echo b > late")
            assert shown.text == "one\ntwo\n"
            assert [changed(effect) for effect in w.events(EffectRecorded)] == [
                ["workspace/early"], ["workspace/notes.txt"],
            ]  # fmt: skip
    finally:
        release_host(host)
