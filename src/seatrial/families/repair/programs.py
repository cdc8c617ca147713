"""The programs of an instance: one for each link, and two that all of them share."""

import ast
import io
import tokenize
from collections.abc import Iterable, Mapping
from string import Template

from seatrial.families.draws import Draws
from seatrial.families.repair.layout import Layout
from seatrial.families.repair.package import Stage, Target, module_of
from seatrial.families.repair.words import SYNONYMS

RECORDS = Template('''\
"""Reads and writes $items, one a line, or in a tighter form while they are on their way."""

import base64
import json
import os
import zlib


def load(path):
    """The $items of a file."""
    with open(path, encoding="utf-8") as stream:
        content = stream.read()
    return [{"$mark": 0, **row} for row in decoded(path, content)]


def decoded(path, content):
    if path.endswith(".$columns"):
        columns = json.loads(content)
        return [dict(zip(columns, values)) for values in zip(*columns.values())]
    if path.endswith(".$packed"):
        return json.loads(zlib.decompress(base64.b64decode(content)))
    if path.endswith(".$hex"):
        return json.loads(bytes.fromhex(content))
    return [json.loads(line) for line in content.splitlines()]


def save(path, rows):
    """Writes $items to a file, in the form that its ending asks for."""
    rows = list(rows)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(encoded(path, rows))


def encoded(path, rows):
    if path.endswith(".$columns"):
        return json.dumps({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
    plain = json.dumps(rows).encode()
    if path.endswith(".$packed"):
        return base64.b64encode(zlib.compress(plain)).decode()
    if path.endswith(".$hex"):
        return plain.hex()
    return "".join(json.dumps(row) + "\\n" for row in rows)


def stamp(row, number):
    """One of the $items with a number worked into its $mark."""
    return {**row, "$mark": (row["$mark"] * 31 + number) % 9973}
''')

RECODE = Template('''\
"""Puts $items into another form."""

import sys

from $records import load, save

if __name__ == "__main__":
    save(sys.argv[2], load(sys.argv[1]))
''')

STAGE = Template('''\
"""$purpose"""

import sys
from operator import itemgetter

from $records import load, save, stamp
$code

if __name__ == "__main__":
    save(sys.argv[3], work(load(sys.argv[1]), load(sys.argv[2])))
''')


def programs_of(targets: Iterable[Target], layout: Layout, seed: int) -> dict[str, str]:
    """A program for each function and the shared ones, by path, under the variant's identifiers."""
    folder = layout.folders["programs"]
    words = {**layout.vocabulary, "records": layout.shared("records")}
    words |= dict(zip(("columns", "packed", "hex"), layout.forms, strict=True))
    sources = {
        layout.shared("records"): RECORDS.substitute(words),
        layout.shared("recode"): RECODE.substitute(words),
    }
    for target in targets:
        draws = Draws(seed, f"numbers {layout.variant} {target.name}")
        sources[layout.program(target.stage)] = stage_source(target.stage, target.file, layout, words, draws)
    files = {f"{module.replace('.', '/')}.py": text for module, text in sources.items()}
    if layout.variant:
        files = with_other_names(files, layout.variant)
    return {f"{folder}/__init__.py": "", **files}


def stage_source(stage: Stage, file: str, layout: Layout, words: Mapping[str, str], draws: Draws) -> str:
    """The program of one link."""
    numbers = {name: str(draws.between(*bounds)) for name, bounds in stage.numbers.items()}
    fill = {**words, **numbers, "lib": module_of(layout.renamed(file))}
    code = Template(stage.code).substitute(fill)
    return STAGE.substitute(fill, purpose=Template(stage.purpose).substitute(fill), code=code.strip("\n"))


def own_names(source: str) -> set[str]:
    """Names that a program binds itself; what it imports from elsewhere is not its own."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def with_other_names(files: Mapping[str, str], variant: int) -> dict[str, str]:
    """The programs with every name of their own replaced, the same one everywhere by the same."""
    own = set().union(*map(own_names, files.values()))
    names = {name: SYNONYMS[name][(variant - 1) % 2] for name in own}
    return {path: renamed(text, names) for path, text in files.items()}


def renamed(source: str, names: Mapping[str, str]) -> str:
    """A source with names replaced, but neither attributes nor anything in strings and comments."""
    text = io.StringIO(source).readlines()
    previous = ""
    places = []
    for token in tokens(source):
        if token.type == tokenize.NAME and token.string in names and previous != ".":
            places.append((token.start, token.end, names[token.string]))
        previous = token.string
    for (row, start), (_, end), new in reversed(places):
        line = text[row - 1]
        text[row - 1] = line[:start] + new + line[end:]
    return "".join(text)


def tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))
