"""Agents in their own process and sandbox: what they see, what they can send, how they break."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seatrial.agents.process import AgentProcess, AgentProgram, ModelDoor
from seatrial.environment.confine.host import Host
from seatrial.errors import AgentFault
from tests.waiting import PATIENCE, await_none, ending_in, unique, until

HELLO = {"observation": {"text": "do it", "outcome": "ok", "done": False}, "tools": [], "seed": 5}
_count = 0


@contextmanager
def agent(host: Host, program: AgentProgram) -> Iterator[AgentProcess]:
    global _count
    _count += 1
    process = AgentProcess(host, program, HELLO, f"test-agent-{_count}")
    try:
        yield process
    finally:
        process.close()


def python(source: str, **config: Any) -> AgentProgram:
    return AgentProgram("mine:Agent", config, {"mine.py": source.encode()})


def shown(text: str, done: bool = False) -> dict[str, Any]:
    return {"text": text, "outcome": "ok", "done": done}


def step(tool: str, **more: Any) -> dict[str, Any]:
    plain = {"tool": tool, "arguments": {}, "when_shown": None, "patience": 0.0, "belief": None}
    return {**plain, **more}


def test_a_script_is_played_in_order(host: Host) -> None:
    steps = [
        step("shell", arguments={"command": "ls"}),
        step("shell", arguments={"command": "two"}, belief={"facts": {"a": 1}}),
        step("finish", when_shown="never"),
    ]
    with agent(host, AgentProgram(None, {"steps": steps})) as process:
        played = []
        for _ in range(4):
            request = process.next_request(PATIENCE)
            assert request is not None
            played.append((request.params["tool"], request.params["arguments"]))
            process.answer(request, shown("x"))
    assert played == [
        ("shell", {"command": "ls"}),
        ("report_belief", {"facts": {"a": 1}}),
        ("shell", {"command": "two"}),
        ("give_up", {"reason": "never shown: never"}),
    ]


def test_a_patient_step_looks_again_until_it_is_shown(host: Host) -> None:
    steps = [step("shell", arguments={"command": "poll"}), step("finish", when_shown="ready", patience=5.0)]
    with agent(host, AgentProgram(None, {"steps": steps})) as process:
        tools = []
        for text in ("not yet", "not yet", "ready", ""):
            request = process.next_request(PATIENCE)
            assert request is not None
            tools.append(request.params["tool"])
            process.answer(request, shown(text))
    assert tools == ["shell", "shell", "shell", "finish"]


def test_a_python_agent_gets_config_seed_and_observations(host: Host) -> None:
    source = """
class Agent:
    def __init__(self, config, seed):
        self.text = f"{config['greeting']} {seed}"
    def act(self, observation):
        return {"tool": "shell", "arguments": {"command": self.text + observation["text"]}, "key": "k1"}
"""
    with agent(host, python(source, greeting="hello")) as process:
        request = process.next_request(PATIENCE)
        assert request is not None
        assert request.params == {"tool": "shell", "arguments": {"command": "hello 5do it"}, "key": "k1"}
        process.answer(request, shown("", done=True))
        assert process.next_request(PATIENCE) is None
        process._process.wait(PATIENCE)  # closing gives it no more than a moment
        assert process.close() == 0


def test_the_agent_sees_nothing_but_its_own(host: Host) -> None:
    source = """
import os, socket
class Agent:
    def __init__(self, config, seed): pass
    def act(self, observation):
        seen = {
            "agent": os.listdir("/agent"), "run": sorted(os.listdir("/run")), "home": os.path.exists("/root"),
            "environment": sorted(os.environ), "pids": [p for p in os.listdir("/proc") if p.isdigit()],
            "interfaces": [name for _, name in socket.if_nameindex()],
            "mounts": open("/proc/self/mountinfo").read(),
        }
        return {"tool": "shell", "arguments": seen}
"""
    with agent(host, python(source)) as process:
        request = process.next_request(PATIENCE)
        assert request is not None
        seen = request.params["arguments"]
    assert seen["agent"] == ["mine.py"]
    assert seen["run"] == ["agent.py", "gateway.sock", "pycache"]
    assert not seen["home"]
    assert seen["interfaces"] == ["lo"]
    assert len(seen["pids"]) <= 2
    assert not any(name.startswith(("SEATRIAL", "PYTEST", "VIRTUAL")) for name in seen["environment"])
    assert "scratch" not in seen["mounts"]


def test_an_agent_that_crashes_says_where(host: Host) -> None:
    source = "class Agent:\n    def __init__(self, c, s): pass\n    def act(self, o): return 1 / 0\n"
    with agent(host, python(source)) as process:
        request = process.next_request(PATIENCE)
        assert request is not None
        assert request.method == "crashed"
        assert "ZeroDivisionError" in request.params["traceback"]
        assert process.ready


def test_an_agent_that_cannot_be_imported_was_never_ready(host: Host) -> None:
    with agent(host, python("import nothing_of_that_name")) as process:
        request = process.next_request(PATIENCE)
        assert request is not None
        assert "nothing_of_that_name" in request.params["traceback"]
        assert not process.ready


@pytest.mark.parametrize(
    "line",
    [b"not json", b"[1]", b'{"method": 3}', b'{"method": "act", "params": []}', b"\xff\xfe", b"[" * 9999],
)
def test_what_is_no_request_is_a_fault(host: Host, line: bytes) -> None:
    source = f"""
import socket
class Agent:
    def __init__(self, config, seed):
        s = socket.socket(socket.AF_UNIX)
        raw = __import__("__main__")
        import gc
        c = [o for o in gc.get_objects() if type(o).__name__ == "Connection"][0]
        c._lines.write({line!r} + b"\\n"); c._lines.flush()
        c._lines.readline()
"""
    with agent(host, python(source)) as process, pytest.raises(AgentFault, match="no JSON-RPC line"):
        process.next_request(PATIENCE)


def test_unknown_methods_are_answered_with_an_error(host: Host) -> None:
    source = """
import gc
class Agent:
    def __init__(self, config, seed):
        c = [o for o in gc.get_objects() if type(o).__name__ == "Connection"][0]
        try:
            c.call("steal")
        except RuntimeError as fault:
            self.said = str(fault)
    def act(self, observation):
        return {"tool": "finish", "arguments": {"summary": self.said}}
"""
    with agent(host, python(source)) as process:
        request = process.next_request(PATIENCE)
        assert request is not None
        assert request.params["arguments"]["summary"] == "no method 'steal'"


def test_thinking_too_long_ends_the_wait(host: Host) -> None:
    source = (
        "import time\nclass Agent:\n    def __init__(s, c, d): pass\n    def act(s, o): time.sleep(600)\n"
    )
    with agent(host, python(source)) as process:
        assert process.next_request(1.0) is None
        assert not process.gone


def test_nothing_of_an_agent_survives_its_end(host: Host) -> None:
    word = unique(7654)
    source = f"""
import os, subprocess
class Agent:
    def __init__(self, config, seed):
        subprocess.Popen(["/bin/sh", "-c", "exec sleep {word}"], start_new_session=True)
    def act(self, observation):
        return {{"tool": "shell", "arguments": {{"command": "x"}}}}
"""
    with agent(host, python(source)) as process:
        assert process.next_request(PATIENCE) is not None
        until(lambda: ending_in(word))
    await_none(word)


# What an agent of ours can reach: the socket its runtime holds.
STEAL = """
import json, os, socket, threading, time
def is_socket(name):
    try:
        return os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    except OSError:
        return False
class Steal:
    def __init__(self):
        held = [f for f in os.listdir("/proc/self/fd") if is_socket(f)]
        self.socket = socket.socket(fileno=os.dup(int(held[0])))
    def send(self, method, times=1, **params):
        call = json.dumps({"id": 1, "method": method, "params": params}) + chr(10)
        self.socket.sendall(call.encode() * times)
    def read(self):
        while self.socket.recv(1 << 16): pass
class Agent:
    def __init__(self, config, seed): BEGIN
    def act(self, observation):
        ACT
"""


def stealing(begin: str = "pass", act: str = "pass") -> AgentProgram:
    return python(STEAL.replace("BEGIN", begin).replace("ACT", act))


def test_an_agent_that_acts_is_ready_whether_it_says_so_or_not(host: Host) -> None:
    with agent(host, stealing(begin="Steal().send('act', tool='shell'); time.sleep(60)")) as process:
        assert process.next_request(PATIENCE) is not None
        assert process.ready


def test_closing_the_connection_is_no_time_out(host: Host) -> None:
    source = "Steal().socket.shutdown(socket.SHUT_RDWR); time.sleep(6000)"
    with agent(host, stealing(act=source)) as process:
        assert process.next_request(None) is None
        assert process.gone


def test_an_agent_that_asks_and_never_reads_does_not_hold_the_trial(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.agents.process.SEND_SECONDS", 1.0)
    source = "s = Steal()\n        while True: s.send('hello', 1000)"
    with agent(host, stealing(act=source)) as process:
        assert process.next_request(3.0) is None


def test_a_flood_of_requests_does_not_outlast_the_time(host: Host) -> None:
    source = """s = Steal()
        threading.Thread(target=s.read, daemon=True).start()
        while True: s.send("x", 500)"""
    with agent(host, stealing(act=source)) as process:
        assert process.next_request(2.0) is None
        assert not process.gone


def test_a_flood_on_stderr_keeps_its_end_only(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatrial.agents.process._LAST_SECONDS", PATIENCE)
    source = "[os.write(2, b'e' * 65536) for _ in range(400)]; os.write(2, b'the end'); os._exit(1)"
    with agent(host, stealing(act=source)) as process:
        assert process.next_request(PATIENCE) is None
        assert process.problems().endswith("the end")
        assert len(process.problems()) <= 4000


def test_the_processes_of_an_agent_are_bounded(host: Host) -> None:
    source = """count = 0
        try:
            while count < 2000:
                if os.fork() == 0: time.sleep(60); os._exit(0)
                count += 1
        except OSError:
            pass
        return {"tool": "shell", "arguments": {"command": str(count)}}"""
    with agent(host, stealing(act=source)) as process:
        request = process.next_request(PATIENCE)
        assert request is not None
        assert 100 < int(request.params["arguments"]["command"]) < 600


def greet(listener: socket.socket) -> None:
    with listener.accept()[0] as end:
        end.sendall(b"hello")


def test_a_door_to_a_model_is_one_more_socket_and_its_shutting_is_noticed(host: Host) -> None:
    source = """
import os, socket, time
class Agent:
    def __init__(self, config, seed): pass
    def act(self, observation):
        if observation["text"] == "again":
            time.sleep(60)
        door = socket.socket(socket.AF_UNIX)
        door.connect(os.environ["MODEL_SOCKET"])
        seen = {"run": sorted(os.listdir("/run")), "heard": door.recv(9).decode()}
        return {"tool": "shell", "arguments": seen}
"""
    path = f"{host.stage}/door"
    wake = os.eventfd(0)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen()
        process = AgentProcess(host, python(source), HELLO, "with-a-door", ModelDoor(path, wake))
        try:
            greeting = threading.Thread(target=greet, args=(listener,))
            greeting.start()
            request = process.next_request(PATIENCE)
            greeting.join()
            assert request is not None
            assert request.params["arguments"] == {
                "run": ["agent.py", "gateway.sock", "model.sock", "pycache"], "heard": "hello",
            }  # fmt: skip
            process.answer(request, shown("again"))
            threading.Timer(0.2, os.eventfd_write, (wake, 1)).start()
            assert process.next_request(None) is None
            assert not process.gone
        finally:
            process.close()
            os.close(wake)
            os.unlink(path)
