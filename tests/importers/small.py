"""Small sources of each format, made by hand."""

import gzip
import io
import json
import tarfile
from pathlib import Path

from seatrial.importers.formats import FORMATS
from seatrial.importers.imported import Imported
from seatrial.importers.mapping import read_mapping
from seatrial.importers.request import Request
from seatrial.importers.unpack import unpack

METR_ROW = {
    "run_id": "r-1", "task_id": "maze/small", "task_family": "maze", "alias": "model a", "model": "a",
    "score": 0.5, "score_binarized": 0, "started_at": 1000, "completed_at": 61_000, "fatal_error_from": None,
    "human_minutes": 30.0, "human_source": "baseline", "invsqrt_task_weight": 0.25, "equal_task_weight": 0.5,
}  # fmt: skip

TRIAL = {
    "trial_name": "hello.1-of-2", "task_id": "hello", "instruction": "…", "is_resolved": True,
    "failure_mode": "unset", "parser_results": {"a": "passed", "b": "passed"}, "total_input_tokens": 10,
    "total_output_tokens": 5, "agent_started_at": "2025-01-01T00:00:00+00:00",
    "agent_ended_at": "2025-01-01T00:00:01.5+00:00",
}  # fmt: skip

REPORT = {
    "schema_version": 2, "total_instances": 5, "submitted_instances": 5, "completed_instances": 2,
    "resolved_instances": 1, "unresolved_instances": 1, "empty_patch_instances": 1, "error_instances": 1,
    "resolved_ids": ["a__a-1"], "unresolved_ids": ["a__a-2"], "empty_patch_ids": ["a__a-3"],
    "error_ids": ["b__b-4"], "incomplete_ids": ["b__b-5"], "completed_ids": ["a__a-1", "a__a-2"],
    "submitted_ids": ["a__a-1", "a__a-2", "a__a-3", "b__b-4", "other-9"],
}  # fmt: skip


def lines(*rows: dict) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def tar_gz(members: dict[str, bytes]) -> bytes:
    return gzip.compress(tar(members), mtime=0)


def read(name: str, files: dict[str, bytes], mapping: str | None = None, systems=()) -> Imported:
    """Import bytes without any disk."""
    known = FORMATS[name]
    pieces = [p for n, (file, data) in enumerate(files.items()) for p in unpack(file, data, n, known.wanted)]
    labels = [Path(file).name.split(".")[0] for file in files]
    table = None if mapping is None else read_mapping("mapping.toml", mapping)
    return known.read(Request("e" * 64, pieces, labels, systems, table))
