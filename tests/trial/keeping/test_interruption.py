"""Agents are killed in the middle of their work: what is persisted goes on, nothing acknowledged is lost."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    AgentExited,
    AgentKilled,
    AgentResumed,
    CheckpointTaken,
    ContextCompacted,
    EffectRecorded,
    PerturbationFired,
    ServiceCalled,
    TrialStarted,
)
from seatrial.report.show import trial_detail
from tests.trial.keeping.interrupted import SCRIPT, Ended, play

POINTS = ("subgoal_verified", "before_effect", "after_effect_before_ack", "compaction")
FINISH = {"tool": "finish"}
COMPACTION = '[compaction]\nat_subgoal = "one"\n'
# Counts its own actions and persists the count; leaves a daemon that outlives every ordinary ending.
AGENT = """
import json, os, sys, time
class Agent:
    def __init__(self, config, seed):
        self.done, self.pending = [], None
        self.config = config
    def act(self, observation):
        if "resumed" in observation:
            self.heard = observation
            if self.pending is not None:
                return self.pending
        words = ["one", "two", "three"][len(self.done):]
        if not words:
            return {"tool": "finish", "arguments": {}}
        self.done.append(words[0])
        self.pending = {"tool": "shell", "key": f"key-{words[0]}",
                        "arguments": {"command": f"echo {words[0]} >> notes.txt"}}
        return self.pending
    def compact(self, how):
        return {"tokens_before": 9, "tokens_after": 4, "kept": ["words"], "summary": how["strategy"]}
"""
SAVES = """
    def save(self):
        return json.dumps([self.done, self.pending]).encode()
    def load(self, state):
        self.done, self.pending = json.loads(state)
"""


def tables(point: str) -> str:
    return COMPACTION if point == "compaction" else ""


def killed_and_resumed(ended: Ended, point: str) -> tuple[AgentKilled, AgentResumed]:
    killed, resumed = ended.one(AgentKilled), ended.one(AgentResumed)
    assert (killed.point, killed.occasion) == (point, 1)
    assert killed.seq < resumed.seq
    assert resumed.down_us > 0
    assert ended.one(AgentExited).status is None or ended.one(AgentExited).status == 0
    assert (ended.end.stop_reason, ended.end.audit) == ("finished", "equal")
    return killed, resumed


@pytest.mark.parametrize("unsafe", [False, True], ids=["sandbox", "unsafe"])
@pytest.mark.parametrize("point", POINTS)
def test_a_script_goes_on_from_its_checkpoint(tmp_path: Path, point: str, unsafe: bool) -> None:
    ended = play(tmp_path, f"interrupted:{point}", tables=tables(point), unsafe=unsafe)
    killed, resumed = killed_and_resumed(ended, point)
    assert killed.acknowledged is (point in ("subgoal_verified", "compaction"))
    assert (resumed.memory, resumed.state is not None) == ("structured", True)
    assert resumed.checkpoint_step == (1 if killed.acknowledged else 0)
    # A script that repeats blindly does twice what was done and not shown, and nothing else.
    again = ["one"] if point == "after_effect_before_ack" else []
    assert ended.notes() == [*again, "one", "two", "three"]


@pytest.mark.parametrize("point", POINTS)
def test_a_python_agent_with_keys_duplicates_nothing(tmp_path: Path, point: str) -> None:
    ended = play(tmp_path, f"interrupted:{point}", tables=tables(point), agent=AGENT + SAVES)
    killed_and_resumed(ended, point)
    assert ended.notes() == ["one", "two", "three"]


@pytest.mark.parametrize("point", POINTS)
def test_an_agent_that_saves_nothing_begins_anew(tmp_path: Path, point: str) -> None:
    ended = play(tmp_path, f"interrupted:{point}", tables=tables(point), agent=AGENT.replace("key-", "k"))
    _, resumed = killed_and_resumed(ended, point)
    assert (resumed.checkpoint_step, resumed.state, resumed.size) == (None, None, 0)
    assert ended.events(CheckpointTaken) == []
    # It sends its first action again, under the key that it had: the gateway knows it.
    assert ended.notes() == ["one", "two", "three"]


def test_what_was_never_carried_out_is_not_taken_for_done(tmp_path: Path) -> None:
    ended = play(tmp_path, "interrupted:before_effect", agent=AGENT + SAVES)
    first, again = ended.events(ActionFinished)[:2]
    assert (first.outcome, first.notes, first.changes) == ("failed", {"killed": "before_effect"}, [])
    assert first.pre == first.post
    assert (again.key, again.outcome, again.notes) == (first.key, "ok", {})


@pytest.mark.parametrize(
    ("retry", "lines", "steps"),
    [("blind", ["one", "one"], 5), ("idempotent", ["one"], 5), ("query", ["one"], 5)],
)
def test_how_a_script_repeats_what_it_was_not_shown(
    tmp_path: Path, retry: str, lines: list[str], steps: int
) -> None:
    check = {"tool": "shell", "command": "cat notes.txt", "shows": "one"}
    script = [{**SCRIPT[0], "check": check}, *SCRIPT[1:], FINISH]
    ended = play(tmp_path, "interrupted:after_effect_before_ack", script, retry=retry)
    assert ended.notes() == [*lines, "two", "three"]
    assert len(ended.events(ActionRequested)) == steps
    repeated = [event.step for event in ended.events(ActionFinished) if "repeats" in event.notes]
    assert repeated == ([2] if retry == "idempotent" else [])


def test_a_script_that_looks_and_finds_nothing_does_it_again(tmp_path: Path) -> None:
    check = {"tool": "shell", "command": "cat notes.txt", "shows": "one"}
    script = [{**SCRIPT[0], "check": check}, *SCRIPT[1:], FINISH]
    ended = play(tmp_path, "interrupted:before_effect", script, retry="query")
    assert ended.notes() == ["one", "two", "three"]


@pytest.mark.parametrize("form", ["structured", "prose", "none"])
def test_the_forms_of_what_is_persisted(tmp_path: Path, form: str) -> None:
    table = '[interruption]\nsubgoal = "two"\n'
    ended = play(tmp_path, f"interrupted:subgoal_verified:{form}", tables=table, retry="idempotent")
    killed, resumed = killed_and_resumed(ended, "subgoal_verified")
    assert (killed.step, resumed.memory) == (2, form)
    checkpoints = ended.events(CheckpointTaken)
    assert {checkpoint.memory for checkpoint in checkpoints} == ({form} if form != "none" else set())
    if form == "none":
        # It knows of nothing and begins the script anew, under new keys.
        assert (resumed.state, ended.notes()) == (None, ["one", "two", "one", "two", "three"])
    else:
        assert ended.notes() == ["one", "two", "three"]


def test_prose_forgets_the_keys(tmp_path: Path) -> None:
    ended = play(tmp_path, "interrupted:after_effect_before_ack:prose", retry="idempotent")
    assert ended.run.objects.get(ended.one(AgentResumed).state or "") == b"I am at step 1 of 4 of my script."
    assert ended.notes() == ["one", "one", "two", "three"]


def test_the_seed_draws_the_occasion(tmp_path: Path) -> None:
    struck = set()
    for seed in range(6):
        folder = tmp_path / str(seed)
        table = f"seed = {seed}\n[interruption]\noccasions = 3\n"
        ended = play(folder, "interrupted:after_effect_before_ack", tables=table)
        killed = ended.one(AgentKilled)
        plan = ended.one(TrialStarted).conditions["interruption"]
        assert (plan["occasion"], plan["occasions"]) == (killed.occasion, 3)
        assert killed.step == killed.occasion
        struck.add(killed.occasion)
    assert len(struck) > 1


def test_a_point_that_is_never_reached_stays_visible(tmp_path: Path) -> None:
    table = '[interruption]\ntool = "edit_file"\n'
    ended = play(tmp_path, "interrupted:before_effect", tables=table)
    assert ended.one(TrialStarted).conditions["interruption"]["tool"] == "edit_file"
    assert ended.events(AgentKilled) == ended.events(AgentResumed) == []
    assert ended.end.stop_reason == "finished"


def test_the_budgets_go_on_and_the_time_it_is_down_is_on_no_clock(tmp_path: Path) -> None:
    ended = play(tmp_path, "interrupted:after_effect_before_ack", more="")
    killed, resumed = ended.one(AgentKilled), ended.one(AgentResumed)
    on_the_clock = resumed.elapsed - killed.elapsed
    assert on_the_clock < resumed.down_us
    steps = [event.step for event in ended.events(ActionRequested)]
    assert steps == list(range(1, len(steps) + 1))


def test_the_world_changes_while_it_is_down(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "new.txt").write_text("four\n")
    change = (
        '[[perturbation]]\nid = "moved"\nkind = "state"\nwhen = { checkpoint = true }\naffects = ["three"]\n'
        'change = { write = "new.txt", to = "files:moved.txt" }\n'
    )
    table = '[interruption]\nwhile_down = "moved"\n'
    ended = play(tmp_path, "interrupted:after_effect_before_ack", tables=table, more=change)
    killed, resumed = ended.one(AgentKilled), ended.one(AgentResumed)
    (fired,) = ended.events(PerturbationFired)
    assert killed.seq < fired.seq < resumed.seq
    assert resumed.changed == ["workspace/moved.txt"]
    assert [event.actor for event in ended.events(EffectRecorded)] == ["environment"]


def test_a_daemon_of_the_agent_does_not_survive_it(tmp_path: Path) -> None:
    daemon = """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open("/tmp/alive", "w").write("yes")
                time.sleep(1000)
            os._exit(0)
        while not os.path.exists("/tmp/alive"):
            time.sleep(0.01)
"""
    looks = '[name for name in os.listdir("/proc") if name.isdigit()]'
    source = (
        AGENT.replace("            self.heard = observation\n", f"            self.left = {looks}\n")
        .replace(
            "        words = [",
            f"        if not self.done:{daemon.replace(chr(10), chr(10) + '    ')}\n        words = [",
        )
        .replace(
            '"tool": "finish", "arguments": {}',
            '"tool": "finish", "arguments": {"summary": str(len(self.left))}',
        )
    )
    ended = play(tmp_path, "interrupted:after_effect_before_ack", agent=source + SAVES)
    killed_and_resumed(ended, "after_effect_before_ack")
    assert int(ended.end.summary) <= 2  # the sandbox's first process and the agent


HOSTILE: list[tuple[str, str, str]] = [
    ("raises", 'raise ValueError("no state of mine")', "no state of mine"),
    ("dies", "os._exit(9)", "the agent ended or closed its connection"),
]


@pytest.mark.parametrize(("name", "does", "problem"), HOSTILE, ids=[name for name, _, _ in HOSTILE])
def test_an_agent_that_cannot_load_is_at_fault_itself(
    tmp_path: Path, name: str, does: str, problem: str
) -> None:
    source = AGENT + SAVES.replace("self.done, self.pending = json", f"{does}\n        self.x = json")
    ended = play(tmp_path, "interrupted:after_effect_before_ack", agent=source)
    assert (ended.end.stop_reason, ended.end.details["started"]) == ("agent_fault", True)
    assert problem in ended.end.details["problem"]
    assert not ended.run.index()[0].infrastructure
    trial: dict[str, Any] = trial_detail(ended.run.folder, ended.run.manifest().plan[0].trial, steps=False)
    assert trial["terminal_class"] == "failure"


def test_a_huge_state_is_cut_at_the_budget_and_counted(tmp_path: Path) -> None:
    source = AGENT + SAVES.replace(".encode()", '.encode() + b" " * (256 << 20)')
    ended = play(tmp_path, "interrupted:after_effect_before_ack", agent=source)
    killed_and_resumed(ended, "after_effect_before_ack")
    first = ended.events(CheckpointTaken)[0]
    assert first.size == 8192
    assert first.cut > 255 << 20
    assert ended.notes() == ["one", "two", "three"]


RAW = """
import json, os, socket
def held():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return socket.socket(fileno=os.dup(int(name)))
        except OSError:
            pass
def say(data):
    held().sendall(data)
def ask(method, **params):
    say(json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\\n")
    return json.loads(held().makefile("rb").readline())
"""


@pytest.mark.parametrize(
    "params",
    [
        '{"state": "no base64 at all!"}', '{"state": 7}', '{"text": "prose"}', "{}",
        '{"state": "", "size": -1}', '{"state": "", "size": True}',
    ],
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused_and_the_one_before_stays(tmp_path: Path, params: str) -> None:
    tries = (
        f'        if self.done == ["one", "two"]:\n            self.answer = ask("checkpoint", **{params})\n'
    )
    source = RAW + AGENT.replace("        words = [", f"{tries}        words = [") + SAVES
    source = source.replace('"arguments": {}}', '"arguments": {"summary": json.dumps(self.answer)}}')
    table = '[interruption]\nsubgoal = "one"\n'
    ended = play(tmp_path, "interrupted:subgoal_verified", agent=source, tables=table)
    killed_and_resumed(ended, "subgoal_verified")
    assert '"code": -32602' in ended.end.summary
    assert len(ended.events(CheckpointTaken)) == 5


def test_an_endless_checkpoint_ends_the_trial_as_the_agents_fault(tmp_path: Path) -> None:
    floods = '        say(b\'{"id": 1, "method": "checkpoint", "params": {"state": "\')\n'
    floods += "        while True:\n            say(b'A' * (1 << 20))\n"
    source = RAW + AGENT.replace("        words = [", f"{floods}        words = [")
    ended = play(tmp_path, "interrupted:after_effect_before_ack", agent=source)
    assert ended.end.stop_reason == "agent_fault"
    assert "more than 32 MiB" in ended.end.details["problem"]


def test_a_kill_in_the_middle_of_a_checkpoint_keeps_the_one_before(tmp_path: Path) -> None:
    """Half of the next checkpoint is on the wire when the agent is killed."""
    speaks = """
        if words[0] == "one":
            import base64
            state = base64.b64encode(self.save()).decode()
            requests = [{"id": 1, "method": "checkpoint", "params": {"state": state}}]
            requests += [{"id": 2, "method": "act", "params": self.pending}]
            half = '{"id": 3, "method": "checkpoint", "params": {"state": "AAAA'
            say("".join(json.dumps(request) + chr(10) for request in requests).encode() + half.encode())
            time.sleep(1000)
        return self.pending
    def compact"""
    source = RAW + AGENT.replace("\n        return self.pending\n    def compact", speaks) + SAVES
    ended = play(tmp_path, "interrupted:after_effect_before_ack", agent=source)
    _, resumed = killed_and_resumed(ended, "after_effect_before_ack")
    assert resumed.state == ended.events(CheckpointTaken)[0].state
    assert ended.notes() == ["one", "two", "three"]


def test_a_compaction_of_its_own_accord_is_an_event(tmp_path: Path) -> None:
    source = (
        AGENT
        + "    def compacted(self):\n        return {'kept': ['half']} if self.done == ['one'] else None\n"
    )
    ended = play(tmp_path, "baseline", agent=source)
    compacted = ended.one(ContextCompacted)
    assert (compacted.strategy, compacted.kept, compacted.tokens_before) == ("automatic", ["half"], None)


CHARGES = """
[[rows.accounts]]
id = "main"
balance = 100
"""


@pytest.mark.parametrize(("retry", "charges"), [("blind", 2), ("idempotent", 1), ("query", 1)])
def test_the_ledger_of_a_service_says_who_pays_twice(tmp_path: Path, retry: str, charges: int) -> None:
    (tmp_path / "task" / "services").mkdir(parents=True)
    (tmp_path / "task" / "services" / "payments.toml").write_text(CHARGES)
    check = {"tool": "payments.list", "reference": "rent", "shows": "rent"}
    pay = {"tool": "payments.charge", "account": "main", "amount": 5, "reference": "rent", "check": check}
    ended = play(
        tmp_path, "interrupted:after_effect_before_ack", [pay, *SCRIPT, FINISH], retry=retry,
        tables='[interruption]\ntool = "payments.*"\n', more='[environment]\nservices = ["payments"]\n',
    )  # fmt: skip
    killed_and_resumed(ended, "after_effect_before_ack")
    effects = [event.ledger for event in ended.events(ServiceCalled) if event.effect]
    assert len(effects) == len(set(effects)) == charges
