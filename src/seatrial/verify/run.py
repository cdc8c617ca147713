"""One verifier process: what its sandbox holds, and how its end becomes a verdict.

Anything but exactly one record and exit code 0 is ``error``: never fail, never pass.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seatrial.environment.confine import rootfs
from seatrial.environment.confine.box import Box, Mount
from seatrial.environment.confine.cgroups import ControlGroup
from seatrial.environment.confine.host import Host
from seatrial.journal.entries import SERVICES, VIEWED
from seatrial.records.verdicts import Verdict
from seatrial.verify.confined import Bounds, Ended, Order, Stream, run_to_end
from seatrial.verify.mounts import Mounted, Mounts
from seatrial.verify.probes import Ground, ProbeServer
from seatrial.verify.record import RECORD_BYTES, RecordError, parse_record

OUTPUT_BYTES = 16 << 10
VERIFIER_PLACE = "/verifier"
# Names the folder with the rows of services, which without a sandbox lies elsewhere.
ROWS_VARIABLE = "SERVICE_ROWS"
_CLIENT = Path(__file__).with_name("probe_client.py").read_bytes()
_PROBE = "/run/seatrial/bin/probe"
_SOCKET = "/run/seatrial/probe.sock"


@dataclass(frozen=True)
class Judged:
    """What one verifier run came to."""

    verdict: Verdict
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """One run's view and program.

    Attributes:
        view: folder of the view, relative to the scratch folder.
        roots: which of its roots the verifier sees.
        program: path inside the sandbox, below ``/verifier``.
        seconds: wall time it may take.
    """

    view: str
    roots: tuple[str, ...]
    program: str
    seconds: float


class Bench:
    """Where verifiers of one task run.

    Args:
        host: the prepared host.
        mounter: for the folders below the scratch folder.
        files: folder with the verifiers' own files, relative to the scratch folder.
        bounds: memory and processes, for a verifier and for each probe.
        groups: control groups of verifiers and of probes, kept for all runs.
    """

    def __init__(
        self,
        host: Host,
        mounter: Mounts,
        files: str,
        bounds: Bounds,
        groups: tuple[ControlGroup, ControlGroup],
    ) -> None:
        self._host, self._mounter, self._bounds = host, mounter, bounds
        self._group, self._probe_group = groups
        self._files: Mounted = mounter.read_only(files, executable=True)
        self._client = f"#!{host.interpreter.program} -IS\n".encode() + _CLIENT
        self._runs = 0

    def close(self) -> None:
        """Unmount the verifiers' files."""
        self._files.close()

    def run(self, subject: Subject, ground: Ground) -> Judged:
        """Run one verifier once.

        Args:
            subject: view and program.
            ground: for its probes.

        Raises:
            VerifierFault, EnvironmentFault: the host could not run it; says nothing about the product.
        """
        record = Stream(RECORD_BYTES + 1, fatal=True)
        stdout, stderr = Stream(OUTPUT_BYTES), Stream(OUTPUT_BYTES)
        bounds = Bounds(self._bounds.memory_mb, self._bounds.processes, subject.seconds)
        self._runs += 1
        view = self._mounter.read_only(subject.view, executable=False)
        try:
            server = ProbeServer(ground, f"{self._host.stage}/q{os.getpid()}-{id(self):x}-{self._runs}")
            try:
                order = Order(
                    self._box(subject, view.tree, server.path), [subject.program], bounds, self._group,
                    stdout, stderr, record, wake={server.descriptor: server.accept},
                )  # fmt: skip
                ended = run_to_end(order, self._host)
            finally:
                server.close()
        finally:
            view.close()
        return verdict_of(ended, record, (stdout, stderr), bounds)

    def _box(self, subject: Subject, tree: str, socket: str) -> Box:
        host = self._host
        tmp = "/run/tmp" if "tmp" in subject.roots else "/tmp"
        mounts = [Mount(f"{tree}/{root}", VIEWED[root]) for root in subject.roots]
        return Box(
            command=[],
            uid=host.uid("verifier"),
            mounts=[*mounts, Mount(self._files.tree, VERIFIER_PLACE), Mount(socket, _SOCKET)],
            tmpfs=[tmp],
            files={_PROBE: self._client},
            environment={
                "SEATRIAL_PROBE": _SOCKET,
                **({ROWS_VARIABLE: VIEWED[SERVICES]} if SERVICES in subject.roots else {}),
                "PATH": f"{os.path.dirname(_PROBE)}:{rootfs.search_path(host.interpreter)}",
                # Dot files and packages of the agent's home would be read by programs a verifier starts.
                "HOME": tmp,
                "TMPDIR": tmp,
                "PYTHONNOUSERSITE": "1",
                # Python puts the working directory, here the agent's files, before its own library.
                "PYTHONSAFEPATH": "1",
                "PYTHONPATH": ":".join(dict.fromkeys([os.path.dirname(subject.program), VERIFIER_PLACE])),
            },
            chdir="/workspace",
        )


def verdict_of(ended: Ended, record: Stream, output: tuple[Stream, Stream], bounds: Bounds) -> Judged:
    """Turn how a verifier ended and what it wrote into a verdict."""
    reason = None
    if ended.end == "time":
        reason = f"timed out after {bounds.seconds:g} seconds"
    elif record.over:
        reason = f"the record is longer than {RECORD_BYTES} bytes"
    elif ended.out_of_memory:
        reason = f"a process was killed for memory (limit {bounds.memory_mb} MiB)"
    elif ended.status > 128:
        reason = f"was killed by signal {ended.status - 128}, or says so: exit code {ended.status}"
    elif ended.status != 0:
        reason = f"exit code {ended.status} instead of 0"
    else:
        try:
            given = parse_record(bytes(record.data))
            return Judged(given.verdict, {} if given.evidence is None else {"given": given.evidence})
        except RecordError as fault:
            reason = str(fault)
    shown = {
        name: _text(stream) for name, stream in zip(("stdout", "stderr"), output, strict=True) if stream.total
    }
    return Judged("error", {"reason": reason, **shown})


def _text(stream: Stream) -> str:
    text = stream.data.decode(errors="replace")
    omitted = stream.total - len(stream.data)
    return f"{text}\n[… {omitted} bytes omitted …]" if omitted else text
