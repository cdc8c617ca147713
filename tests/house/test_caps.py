"""The caps of the house: sizes, folder names, and nothing of one machine in the files."""

import ast
import re
import sys
from pathlib import Path
from statistics import median

from tests.house.files import ROOT, project_files, python_files, shown

MAX_FILE_LINES = 600
MAX_MEDIAN_LINES = 150
MAX_FUNCTION_LINES = 80
MAX_PARAMETERS = 8
# Data and generated files (pins, the requirement map, golden journals) have no cap.
WRITTEN_BY_HAND = {".py", ".sh", ".js", ".css", ".j2", ".html"}
VAGUE_FOLDERS = {"utils", "util", "_util", "helpers", "common"}

# Joined from pieces, so that this file does not hold what it forbids.
HOSTS = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "crates" + ".io"]
HOSTS += ["deb." + "debian.org", "security." + "debian.org", "proxy." + "golang.org"]
# Where this checkout and this interpreter lie, unless that is a place like /usr that every machine has.
PLACES = [path for path in (ROOT, Path(sys.base_prefix)) if len(path.parts) > 2]
MACHINE_PATHS = [*map(str, PLACES), "/." + "pyenv/", "/.cache/" + "pip", "file:///" + "opt/"]
FORBIDDEN = re.compile("|".join(re.escape(piece) for piece in HOSTS + MACHINE_PATHS))
INDEX_OPTION = re.compile(r"^\s*(-[if]|--(extra-)?index-url|--find-links|--trusted-host)\b", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> list[Function]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def parameter_count(function: Function) -> int:
    """All parameters, starred ones too, but not the receiver of a method."""
    spec = function.args
    named = [argument.arg for argument in spec.posonlyargs + spec.args + spec.kwonlyargs]
    starred = [argument for argument in (spec.vararg, spec.kwarg) if argument is not None]
    receiver = bool(named) and named[0] in {"self", "cls"}
    return len(named) + len(starred) - receiver


def test_no_file_is_too_long():
    long = {
        shown(path): count
        for path in project_files()
        if path.suffix in WRITTEN_BY_HAND and (count := line_count(path)) >= MAX_FILE_LINES
    }
    assert not long, f"split these by what they do (under {MAX_FILE_LINES} lines): {long}"


def test_files_are_short_as_a_rule():
    assert median(line_count(path) for path in python_files()) < MAX_MEDIAN_LINES


def test_no_function_is_too_long():
    long = {
        f"{shown(path)}::{function.name}": count
        for path in python_files()
        for function in functions(path)
        if (count := (function.end_lineno or function.lineno) - function.lineno + 1) >= MAX_FUNCTION_LINES
    }
    assert not long, f"name the parts (under {MAX_FUNCTION_LINES} lines): {long}"


def test_no_function_takes_too_many_parameters():
    wide = {
        f"{shown(path)}::{function.name}": count
        for path in python_files()
        if not path.is_relative_to(ROOT / "tests")
        for function in functions(path)
        if (count := parameter_count(function)) > MAX_PARAMETERS
    }
    assert not wide, f"pass a typed options object (at most {MAX_PARAMETERS}): {wide}"


def test_every_folder_is_named_for_its_job():
    folders = {path.relative_to(ROOT).parent for path in project_files()}
    vague = sorted(folder.as_posix() for folder in folders if VAGUE_FOLDERS.intersection(folder.parts))
    assert not vague, f"name the folder for what it does: {vague}"


def test_no_file_names_a_registry_or_one_machine():
    found = {}
    for path in project_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        if match := FORBIDDEN.search(text):
            found[shown(path)] = match.group()
    assert not found, f"these say where they were made: {found}"


def test_requirements_name_no_index():
    found = [
        shown(path)
        for path in project_files()
        if path.parent == ROOT / "requirements"
        and path.suffix in {".in", ".txt"}
        and INDEX_OPTION.search(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"an index belongs to the machine, not to the project: {found}"
