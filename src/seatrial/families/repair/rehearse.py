"""Plays scripts of a fresh task on this machine and judges what comes of them; no agent has touched it."""

import json
import os
import py_compile
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from seatrial.environment.scratch import scratch_folder
from seatrial.errors import EnvironmentFault, SpecError, VerifierFault
from seatrial.families.repair.bench import SCRATCH, Server, Stream, environment
from seatrial.families.repair.judging import judge
from seatrial.families.repair.package import module_of
from seatrial.spec.patterns import compile_pattern
from seatrial.spec.toml_text import read_toml

PROBE = Path(__file__).with_name("local_probe.py")
SECONDS = 120
CPU_SECONDS = 10.0
Step = Mapping[str, Any]
State = frozenset[tuple[str, bytes]]


def commands(folder: Path) -> str:
    """A PATH on which ``probe`` is the one without walls and ``python3`` is this interpreter.

    Args:
        folder: new; the two are put there.
    """
    folder.mkdir()
    python = shlex.quote(sys.executable)
    for command, line in {
        # Without what is installed beside it, which no program needs and which takes long to look at.
        "python3": f"{python} -s -S",
        "probe": f"{python} -I -S -B {shlex.quote(str(PROBE))}",
    }.items():
        path = folder / command
        path.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    return f"{folder}:{os.defpath}"


def files_of(folder: Path) -> dict[str, bytes]:
    """Every regular file below a folder."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


class Rehearsal:
    """A workspace of a task, with its verifiers; ``files`` is what it holds, by path.

    Verdicts are those of the verifiers' own code; behind it stands an interpreter of ours instead of a
    probe, and what was judged once is not judged again.

    Args:
        task: the task's folder.
    """

    def __init__(self, task: Path) -> None:
        self.task = task.resolve()
        self.nodes: list[dict[str, Any]] = read_toml(task / "task.toml")["subgoal"]
        self._open = ExitStack()
        self._scratch = self._open.enter_context(scratch_folder(SCRATCH))
        self._path = commands(self._scratch / "commands")
        self.workspace = self._scratch / "workspace"
        self._given = files_of(self.task / "environment")
        self._reads = {node["id"]: [compile_pattern(text) for text in node["reads"]] for node in self.nodes}
        self._known: dict[tuple[str, State], bool] = {}
        self._made: dict[tuple[str, State], dict[str, bytes]] = {}
        self.workspace.mkdir()
        self.files: dict[str, bytes] = {}
        self.reset()
        self._keep_bytecode()

    def __enter__(self) -> "Rehearsal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def reset(self, files: Mapping[str, bytes] | None = None) -> None:
        """The workspace as the agent finds it, or as it was at another time."""
        wanted = self._given if files is None else files
        for path in self.files.keys() - wanted.keys():
            (self.workspace / path).unlink()
        self._write({path: data for path, data in wanted.items() if self.files.get(path) != data})
        self.files = dict(wanted)

    def _write(self, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            target = self.workspace / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        self.files = {**self.files, **files}

    def _keep_bytecode(self) -> None:
        """Bytecode for commands that are run again and again: of the standard library as it is loaded once,
        of the workspace with hashes that are checked against the sources at every use."""
        shown = {path for name in self._reads for path in self.visible(name)}
        wanted = sorted({module_of(path) for path in shown if path.endswith(".py")})
        code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
        subprocess.run(
            ["bash", "-c", 'exec python3 -c "$0" "$@"', code, *wanted], cwd=self.workspace,
            env=self._environment(), timeout=SECONDS, capture_output=True, check=False,
        )  # fmt: skip
        for path in self.workspace.rglob("*.py"):
            cached = Path(
                f"{self._scratch}/bytecode{path.with_suffix('')}.{sys.implementation.cache_tag}.pyc"
            )
            mode = py_compile.PycInvalidationMode.CHECKED_HASH
            py_compile.compile(str(path), str(cached), invalidation_mode=mode, quiet=1)

    # -- playing --------------------------------------------------------------------------------------
    def play(self, script: str, steps: Sequence[Step], may_fail: bool = False) -> None:
        """Applies steps.

        Args:
            script: names them in errors.
            steps: what to do.
            may_fail: whether commands may fail.

        Raises:
            SpecError: an edit does not fit, or a command fails.
        """
        for index, step in enumerate(steps):
            place = f"step[{index}]"
            if step["tool"] == "edit_file":
                text = self.files[step["path"]].decode()
                if text.count(step["old"]) != 1:
                    raise SpecError(
                        script, place, f"`old` occurs {text.count(step['old'])} times", "Correct the edit"
                    )
                self._write({step["path"]: text.replace(step["old"], step["new"]).encode()})
            elif step["tool"] == "write_file":
                self._write({step["path"]: step["content"].encode()})
            elif step["tool"] == "shell":
                self._shell(step["command"], f"{script}: {place}", may_fail)

    def _shell(self, command: str, place: str, may_fail: bool) -> None:
        """Runs one of our own commands; on a workspace that it has met, what it did then is done again."""
        before = self.files
        key = (command, frozenset(before.items()))
        if key in self._made:
            self._write(self._made[key])
            return
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.workspace, env=self._environment(), timeout=SECONDS,
            capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode != 0 and not may_fail:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise SpecError(place, "", f"the command fails with {done.returncode}: {said}", "Correct it")
        self.files = after = files_of(self.workspace)
        if before.keys() <= after.keys():
            self._made[key] = {path: data for path, data in after.items() if before.get(path) != data}

    def _environment(self) -> dict[str, str]:
        """What a command is told; a home of its own, for it must not touch the caller's."""
        home = self._scratch / "home"
        home.mkdir(exist_ok=True)
        own = {"PATH": self._path, "HOME": str(home), "PYTHONPYCACHEPREFIX": f"{self._scratch}/bytecode"}
        return {**environment(0, self._scratch), **own}

    # -- judging --------------------------------------------------------------------------------------
    def passes(self, names: Sequence[str] = ()) -> dict[str, bool]:
        """Whether subgoals pass on the workspace as it is; without names, all of them."""
        views = {name: self.visible(name) for name in names or self._reads}
        keys = {name: (name, frozenset(view.items())) for name, view in views.items()}
        unknown: dict[State, list[str]] = {}
        for name, key in keys.items():
            if key in self._known:
                continue
            if name.startswith("stage-"):
                record = judge.product(f"{self.task}/verifiers", name, str(self.workspace))
                self._known[key] = record["verdict"] == "pass"
            else:
                unknown.setdefault(key[1], []).append(name)
        for alike in unknown.values():
            for name, passed in self._focused(views[alike[0]], alike).items():
                self._known[keys[name]] = passed
        return {name: self._known[key] for name, key in keys.items()}

    def visible(self, name: str) -> dict[str, bytes]:
        """What the verifier of a subgoal is shown of the workspace."""
        patterns = self._reads[name]
        return {
            path: data
            for path, data in self.files.items()
            if any(pattern.matches(f"workspace/{path}") for pattern in patterns)
        }

    def _focused(self, seen: Mapping[str, bytes], names: Sequence[str]) -> dict[str, bool]:
        """Verdicts of functions on one view."""
        with TemporaryDirectory(dir=self._scratch) as folder:
            for path, data in seen.items():
                Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
                Path(folder, path).write_bytes(data)
            modules = [module_of(path) for path in seen]
            server = Server(Path(folder), modules, 0, CPU_SECONDS)
            try:
                return {name: self._judged(name, server) for name in names}
            finally:
                server.close()

    def _judged(self, name: str, server: Server) -> bool:
        def ask(payload: Mapping[str, Any]) -> tuple[Stream, str]:
            try:
                found, complete = server.observe(payload)
            except EnvironmentFault:
                # The module took its interpreter along, as it would a probe.
                return {}, "ended early"
            return found, "" if complete else "incomplete"

        return bool(judge.focused(f"{self.task}/verifiers", name, asked=ask)["verdict"] == "pass")

    def verdict(self, name: str) -> dict[str, Any]:
        """One verifier's record, by the verifier's program itself.

        Raises:
            VerifierFault: it did not give one.
        """
        node = next(node for node in self.nodes if node["id"] == name)
        with TemporaryDirectory(dir=self._scratch) as folder:
            view, record = Path(folder, "view"), Path(folder, "record")
            view.mkdir()
            for path, data in self.visible(name).items():
                (view / path).parent.mkdir(parents=True, exist_ok=True)
                (view / path).write_bytes(data)
            verifier = self.task / node["verifier"]
            done = subprocess.run(
                ["bash", "-c", 'exec "$0" 3>"$1"', str(verifier), str(record)], cwd=view,
                env={"PATH": self._path, "TMPDIR": folder}, capture_output=True, text=True, timeout=SECONDS,
                check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise VerifierFault(f"{verifier} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
            found = json.loads(record.read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found
