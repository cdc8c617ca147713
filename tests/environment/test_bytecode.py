"""The interpreter's bytecode is used inside a sandbox, and nobody else's."""

import sys
from pathlib import Path

from tests.environment.lab import Lab, output

PLANT = """\
mkdir -p __pycache__ && echo 'WORD = "planted"' > ~/other.py && echo 'WORD = "source"' > mod.py
python3 - <<'END'
import importlib.util, os, py_compile
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
name = f"__pycache__/mod.{__import__('sys').implementation.cache_tag}.pyc"
py_compile.compile(os.path.expanduser("~/other.py"), name, "mod.py", True, invalidation_mode=mode)
END
python3 -c 'import mod; print(mod.WORD)'
"""
COMPILED = "python3 -v -c 'import json' 2>&1 | grep -c 'code object from .*/json/.*pyc'"


def has_bytecode() -> bool:
    """Whether this host's interpreter brought any: not every installation does."""
    return (Path(sys.modules["json"].__file__ or "").parent / "__pycache__").is_dir()


def test_the_library_is_not_compiled_anew_at_every_start(lab: Lab) -> None:
    world = lab.world()
    expected = "3" if has_bytecode() else "0"
    assert output(world, f"{COMPILED} || true").strip() >= expected


def test_bytecode_that_an_agent_plants_does_not_run_and_the_cache_cannot_be_written(lab: Lab) -> None:
    world = lab.world()
    assert output(world, PLANT).strip() == "source"
    assert "Read-only" in output(world, "touch /run/pycache/x 2>&1 || true")
    assert output(world, "find /run/pycache -type f | wc -l").strip() == "0"
