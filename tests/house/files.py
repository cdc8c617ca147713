"""Which files belong to the project: the same answer in a checkout and in an unpacked copy of one."""

import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What .gitignore keeps out of a checkout.
NOT_OURS = {
    ".git", ".venv", "__pycache__", "build", "dist", "runs",
    ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache",
}  # fmt: skip


def from_git() -> list[Path] | None:
    """Tracked and not yet tracked files, or None where this is no checkout."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        return None
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def from_disk() -> list[Path]:
    """Every file below the root but those in folders that tools make."""
    found = []
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name not in NOT_OURS and not name.endswith(".egg-info")]
        found += [Path(folder, name) for name in files]
    return found


@cache
def project_files() -> tuple[Path, ...]:
    """The project's regular files, sorted."""
    listed = from_git()
    candidates = from_disk() if listed is None else listed
    # A file deleted but not yet committed is still listed by git.
    return tuple(sorted(path for path in set(candidates) if path.is_file() and not path.is_symlink()))


def python_files() -> list[Path]:
    """The project's Python modules."""
    return [path for path in project_files() if path.suffix == ".py"]


def shown(path: Path) -> str:
    """The path as it is written in messages and in the requirement map."""
    return path.relative_to(ROOT).as_posix()
