"""Every test here runs in a forked child: entering namespaces changes a process for good, and needs one
without threads, which a worker of a parallel run is not."""

import os
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environment.lab import Lab


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run(pyfuncitem, writer)
    os.close(writer)
    with open(reader, "rb") as file:
        said = file.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if said.startswith("SKIP "):
        pytest.skip(said[5:])
    if code:
        pytest.fail(said or f"the test's process ended with {code}", pytrace=False)
    return True


def _run(item: pytest.Function, writer: int) -> None:
    said, code = "", 0
    try:
        names = item._fixtureinfo.argnames
        item.obj(**{name: item.funcargs[name] for name in names})
    except pytest.skip.Exception as reason:
        said = f"SKIP {reason}"
    except BaseException:
        said, code = traceback.format_exc(), 1
    try:
        lab = item.funcargs.get("lab")
        if isinstance(lab, Lab):
            lab.close()
    except BaseException:
        said, code = said + traceback.format_exc(), 1
    with open(writer, "wb") as file:
        file.write(said.encode(errors="replace"))
    os._exit(code)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Where worlds are made; nothing is made before the test asks for it, in the test's own process."""
    lab = Lab(tmp_path)
    yield lab
    lab.clean()
