"""Makes grounds and worlds for tests, and takes them down again."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.ground import ActionLimits, Ground
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.state.base import Base, index_base, lay_out
from seatrial.journal.entries import State
from seatrial.journal.objects import ObjectStore
from tests.waiting import PATIENCE

FILES = {
    "LICENSE": b"MIT\n", "a.txt": b"A\n", "sub/b.txt": b"B\n", "sub/deep/c.txt": b"C\n", "other/d": b"D\n",
}  # fmt: skip


class Lab:
    """One folder with objects, bases and worlds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._open, self._bases = folder, list[BubblewrapSandbox](), 0
        self.scratch = folder / "scratch"

    @cached_property
    def host(self) -> Host:
        number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
        return prepare_host(slot=200 + int(number))

    @cached_property
    def objects(self) -> ObjectStore:
        return ObjectStore(self.folder / "objects")

    def base(self, files: Mapping[str, bytes] = FILES, links: Mapping[str, str] | None = None) -> Base:
        self._bases += 1
        source = self.folder / f"files{self._bases}"
        source.mkdir()
        for name, data in files.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for name, target in (links or {}).items():
            (source / name).symlink_to(target)
        place = self.scratch / "bases" / f"b{self._bases}"
        lay_out(source, place, self.host.uid("world") if self.host.mode == "root" else None)
        return index_base(str(place), self.objects, self.host.uid("world"))

    def ground(
        self, base: Base | None = None, limits: ActionLimits | None = None, providers: Sequence[Any] = ()
    ) -> Ground:
        limits = limits or ActionLimits(seconds=PATIENCE)
        return Ground(self.host, str(self.scratch), base or self.base(), self.objects, limits, providers)

    def world(
        self, ground: Ground | None = None, delta: State | None = None, masked: Sequence[str] = ()
    ) -> BubblewrapSandbox:
        return self.keep(BubblewrapSandbox(ground or self.ground(), delta, masked))

    def keep(self, sandbox: BubblewrapSandbox) -> BubblewrapSandbox:
        self._open.append(sandbox)
        return sandbox

    @property
    def is_root(self) -> bool:
        return self.host.mode == "root"

    def close(self) -> None:
        for sandbox in self._open:
            sandbox.close()
        if "host" in self.__dict__:
            release_host(self.host)

    def clean(self) -> None:
        """Remove what the world's user owns, as far as this process may."""
        if os.geteuid() == 0:
            subprocess.run(["rm", "-rf", str(self.scratch)], check=False)


def output(sandbox: BubblewrapSandbox, command: str, **more: Any) -> str:
    """What a command says; it must end with 0."""
    result = sandbox.shell(command, **more)
    text = result.output.decode(errors="replace")
    assert result.exit_code == 0, (result.exit_code, text)
    return text
