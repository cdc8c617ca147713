"""The dependency graph of a trajectory: depth, delay of verification, spread (E4, E13)."""

import pytest

from seatrial.journal.events import ServiceCalled
from seatrial.measure.acts import Act, names_row
from seatrial.measure.coverage import Coverage
from seatrial.measure.trajectory import BLOCK, Graph, dependence, depth, descendants, spreads, verified_delays
from seatrial.spec.task import Environment, Subgoal
from tests.measure.story import Story, table
from tests.measure.trials import make_task

LAST = make_task([Subgoal(id="end", verifier="v", reads=["files:f10"])])


def chain(length: int) -> Story:
    story = Story({"f0": "start"})
    for number in range(1, length + 1):
        story.write(f"f{number}", str(number), f"f{number - 1}")
    return story


def test_ten_chained_steps_have_depth_ten_and_a_hundred_separate_looks_depth_one():
    found = chain(10).end().record(LAST, table(LAST, {10: {"end": "pass"}}))
    assert (found.h_dep, found.spread_max) == (10, 9)
    looks = Story({f"f{i}": "x" for i in range(100)})
    for number in range(100):
        looks.look(f"f{number}")
    found = looks.end().record(LAST, table(LAST, {}))
    assert (found.h_dep, found.spread_max, found.actions) == (1, 0, 100)


def test_what_is_checked_only_at_the_end_of_a_chain_is_verified_that_much_later():
    story = chain(10).end()
    scene = story.scene(LAST, table(LAST, {10: {"end": "pass"}}))
    graph = dependence(scene.trail)
    delays = verified_delays(graph, scene.coverage, scene.course)
    assert delays == {step: 10 - step for step in range(1, 11)}
    assert story.record(LAST, table(LAST, {10: {"end": "pass"}})).h_val_max == 9


def test_a_verdict_that_stays_at_fail_tells_nothing_and_one_that_falls_does():
    story = chain(10).end()
    assert story.record(LAST, table(LAST, {})).h_val_max is None
    falls = table(LAST, {0: {"end": "pass"}, 10: {"end": "fail"}})
    assert story.record(LAST, falls).h_val_max == 9


def test_a_check_of_each_step_leaves_no_delay():
    task = make_task([Subgoal(id=f"s{i}", verifier="v", reads=[f"files:f{i}"]) for i in range(1, 11)])
    moves = {i: {f"s{i}": "pass"} for i in range(1, 11)}
    found = chain(10).end().record(task, table(task, moves))
    assert found.h_val_max == 0
    assert found.spread_weight_max == 1.0


def test_weight_that_rests_on_one_action():
    task = make_task([
        Subgoal(id="a", verifier="v", reads=["files:a"], weight=3),
        Subgoal(id="b", verifier="v", reads=["files:b"], weight=1),
    ])  # fmt: skip
    story = Story().write("a", "1").write("b", "2").end()
    assert story.record(task, table(task, {1: {"a": "pass"}, 2: {"b": "pass"}})).spread_weight_max == 0.75


def test_reads_that_nobody_saw_leave_the_whole_graph_unknown():
    story = Story().write("a", "1").act(reads=None).write("b", "2", "a").end()
    found = story.record(LAST, table(LAST, {}))
    assert (found.h_dep, found.h_val_max, found.spread_max, found.spread_weight_max) == (None,) * 4
    # A service's tool runs nothing on the host: its rows are what it reads.
    told = Story().act(reads=None, tool="mail.list").end()
    assert told.record(LAST, table(LAST, {})).h_dep == 1


def test_what_the_world_wrote_over_rests_on_no_action():
    story = Story().write("a", "1").disturb("x", changes={"a": "2"}).write("b", "3", "a").end()
    assert story.record(LAST, table(LAST, {})).h_dep == 1


def test_rows_of_a_service_are_paths():
    task = make_task(
        [Subgoal(id="end", verifier="v", reads=["service:tickets"])],
        environment=Environment(services=["tickets"]),
    )
    row = "services/tickets/tickets/T1.json"

    def call(step: int, verb: str, effect: bool) -> ServiceCalled:
        return ServiceCalled(
            step=step, service="tickets", verb=verb, arguments={"id": "T1"}, status=200, effect=effect
        )

    story = Story()
    story.act(tool="tickets.create", writes={row: "{}"}, during=[call(1, "create", True)])
    story.act(tool="tickets.get", during=[call(2, "get", False)])
    story.act(tool="tickets.transition", writes={row: '{"s":1}'}, during=[call(3, "transition", True)])
    other = ServiceCalled(step=4, service="tickets", verb="get", arguments={"id": "T2"}, status=200)
    story.act(tool="tickets.get", during=[other]).end()
    graph = dependence(story.scene(task, table(task, {})).trail)
    assert dict(graph.before) == {1: frozenset(), 2: {1}, 3: {1}, 4: frozenset()}


@pytest.mark.parametrize(
    ("path", "more", "looked"),
    [
        ("tickets/tickets/T1", {"verb": "get", "arguments": {"id": "T1"}}, True),
        ("tickets/tickets/T2", {"verb": "get", "arguments": {"id": "T1"}}, False),
        ("tickets/tickets/T2", {"verb": "search", "arguments": {"text": "x"}}, True),
        ("tickets/ledger/1", {"verb": "search"}, False),
        ("mail/messages/1", {"verb": "search"}, False),
        ("tickets/tickets/T1", {"verb": "get", "arguments": {"id": "T1"}, "status": 404}, False),
        ("tickets/tickets/T1", {"verb": "get", "arguments": {"id": "T1"}, "acknowledged": False}, False),
        ("tickets/tickets/T2", {"verb": "create", "arguments": {"title": "x"}, "effect": True}, False),
        ("tickets/tickets/T1", {"verb": "transition", "arguments": {"id": "T1"}, "effect": True}, True),
    ],
)
def test_which_rows_a_request_looks_at(path, more, looked):
    call = ServiceCalled(**{"step": 1, "service": "tickets", "status": 200, "effect": False, **more})
    assert names_row(call, f"services/{path}.json") is looked


@pytest.mark.parametrize(
    ("status", "account", "fault", "read"),
    [
        (200, "main", None, True),
        (402, "main", None, None),  # it holds too little, which tells something of what it holds
        (404, "main", None, None),
        (402, "spare", None, False),
        (400, "main", None, False),
        (403, "main", None, False),
        (503, "main", "transient", False),
    ],
)
def test_a_refusal_that_a_row_decided_may_have_shown_it(status, account, fault, read):
    call = ServiceCalled(
        step=1, service="payments", verb="charge", arguments={"account": account}, status=status,
        effect=status == 200, fault=fault,
    )  # fmt: skip
    act = Act(
        step=1,
        order=1,
        tool="payments.charge",
        arguments={},
        asked=b"",
        finished=None,
        talk=False,
        calls=[call],
    )
    assert act.read_it("services/payments/accounts/main.json") is read


def test_rows_are_named_by_escaped_keys_numbers_and_sql():
    page = ServiceCalled(step=1, service="web", verb="get", arguments={"path": "/orders"}, status=200)
    assert names_row(page, "services/web/pages/=2Forders.json")
    assert not names_row(page, "services/web/pages/=2F.json")
    charge = ServiceCalled(
        step=1,
        service="payments",
        verb="charge",
        arguments={"account": "a", "amount": 7},
        status=200,
        effect=True,
    )
    assert names_row(charge, "services/payments/accounts/a.json")
    assert not names_row(charge, "services/payments/charges/7.json")
    query = ServiceCalled(
        step=1, service="sql", verb="query", arguments={"statement": "SELECT * FROM orders"}, status=200
    )
    assert names_row(query, "services/sql/orders/3.json")
    assert not names_row(query, "services/sql/order/3.json")


def test_descendants_of_a_diamond_are_counted_once():
    story = Story().write("a", "1").write("b", "2", "a").write("c", "3", "a").write("d", "4", "b", "c").end()
    graph = dependence(story.scene(LAST, table(LAST, {})).trail)
    assert spreads(graph) == {1: 3, 2: 1, 3: 1, 4: 0}
    assert descendants(graph, [2]) == {4}
    assert depth(graph) == 3


@pytest.mark.parametrize("length", [BLOCK - 1, BLOCK + 3])
def test_long_trails_are_counted_in_blocks(length: int):
    steps = list(range(1, length + 1))
    graph = Graph(
        steps=steps,
        before={step: frozenset({step - 1} if step > 1 else ()) for step in steps},
        written=dict.fromkeys(steps, frozenset()),
    )
    found = spreads(graph)
    assert (found[1], found[length // 2], found[length]) == (length - 1, length - length // 2, 0)
    assert depth(graph) == length


def test_coverage_knows_files_databases_and_services():
    task = make_task([
        Subgoal(id="f", verifier="v", reads=["files:src/**"]),
        Subgoal(id="d", verifier="v", reads=["db:app.sqlite"]),
        Subgoal(id="s", verifier="v", reads=["service:mail"]),
        Subgoal(id="all", verifier="v"),
    ])  # fmt: skip
    coverage = Coverage(task)
    assert coverage.readers("workspace/src/a.py") == {"f", "all"}
    assert coverage.readers("workspace/app.sqlite-wal") == {"d", "all"}
    assert coverage.readers("services/mail/messages/1.json") == {"s", "all"}
    assert coverage.readers("services/mailer/x/1.json") == {"all"}
