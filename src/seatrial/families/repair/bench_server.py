"""The child of ``bench``: modules are imported once, every job runs in a fork of its own.

Reads JSON lines from standard input and answers each with one on standard output. It knows nothing of the
project but the text of the verifiers' runtime, which the first line brings.
"""

import gc
import json
import os
import resource
import runpy
import signal
import sys
import tempfile
from typing import Any

MEMORY = 2 << 30
# What programs load anyway.
OFTEN = ("base64", "contextlib", "zlib")


def bound(seconds: float) -> None:
    """A fault may loop or grow for ever. By processor time, so that the answer does not depend on how busy
    the machine is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, seconds)


def patch(patches: list[list[str]]) -> None:
    """Other functions in the place of imported ones."""
    for module, source in patches:
        exec(compile(source, module, "exec"), sys.modules[module].__dict__)


def run_programs(job: dict[str, Any]) -> dict[str, Any]:
    """Runs programs in order in a folder of their own; what each wrote, or None where it failed."""
    made: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for path, text in job["files"].items():
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        for module, arguments in job["runs"]:
            product = arguments[-1]
            try:
                sys.argv = [module, *arguments]
                runpy.run_module(module, run_name="__main__", alter_sys=True)
                with open(product, encoding="utf-8") as file:
                    made[product] = file.read()
            except BaseException as error:
                made[product] = None
                made[f"error of {product}"] = repr(error)
        os.chdir("/")
    return made


def work(job: dict[str, Any], runtime: dict[str, Any], out: int) -> None:
    """One job in the forked child; never returns."""
    try:
        os.dup2(out, 1)
        bound(job["seconds"])
        patch(job["patches"])
        if "runs" in job:
            os.write(1, json.dumps(run_programs(job)).encode())
        else:
            runtime["main"](job["payload"])
    finally:
        os._exit(3)


def answer(job: dict[str, Any], runtime: dict[str, Any]) -> str:
    """What a job printed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        work(job, runtime, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said.decode("utf-8", "replace")


def main() -> None:
    first = json.loads(sys.stdin.readline())
    # What the package prints when it is imported is no answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.dont_write_bytecode = True
    sys.pycache_prefix = "/nonexistent"
    sys.path.append(first["view"])
    runtime: dict[str, Any] = {"__name__": "observe"}
    exec(compile(first["runtime"], "observe", "exec"), runtime)
    for module in (*OFTEN, *first["modules"]):
        __import__(module)
    # The runtime appends the working directory to the path: here nothing may be found in it.
    os.chdir("/")
    # A collection in a child would copy every page it looks at.
    gc.collect()
    gc.freeze()
    gc.disable()
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line), runtime)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
