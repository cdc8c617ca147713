import ast
import builtins
import json
import keyword
from itertools import pairwise

import pytest

from seatrial.families.repair import PACKAGES, Knobs
from seatrial.families.repair.bench import Server, lay
from seatrial.families.repair.layout import chosen, layout_of
from seatrial.families.repair.package import Package
from seatrial.families.repair.programs import own_names, programs_of, renamed, tokens
from seatrial.families.repair.words import SYNONYMS


def programs(package: Package, variant: int, seed: int = 1) -> dict[str, str]:
    return programs_of(package.targets, layout_of(package, Knobs(seed=seed, variant=variant)), seed)


def test_names_are_replaced_but_not_attributes_texts_and_comments():
    source = "def work(rows):  # rows\n    return [row.rows for row in rows], 'rows'\n"
    assert renamed(source, {"rows": "bales", "row": "bale", "work": "do"}) == (
        "def do(bales):  # rows\n    return [bale.rows for bale in bales], 'rows'\n"
    )


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_a_variant_shares_no_name_of_its_own_with_the_original(package: Package):
    names = [set().union(*map(own_names, programs(package, variant).values())) for variant in (0, 1, 2)]
    assert not names[0] & names[1] and not names[0] & names[2]
    paths = [set(programs(package, variant)) for variant in (0, 1)]
    assert not paths[0] & paths[1]


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_no_new_name_hides_another(package: Package):
    files = programs(package, 0).values()
    own = set().union(*map(own_names, files))
    used = {token.string for text in files for token in tokens(text)} | set(dir(builtins))
    for column in (0, 1):
        new = [SYNONYMS[name][column] for name in sorted(own)]
        assert len(set(new)) == len(new) and not used & set(new)
        assert not any(map(keyword.iskeyword, new))


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_every_program_is_python_in_every_variant(package: Package):
    for variant in range(4):
        for text in programs(package, variant).values():
            assert "$" not in text
            ast.parse(text)


def test_the_same_seed_gives_the_same_programs_and_another_seed_other_numbers():
    toolz = PACKAGES["toolz"]
    assert programs(toolz, 1) == programs(toolz, 1)
    assert programs(toolz, 0, 1) != programs(toolz, 0, 2)


@pytest.mark.parametrize("variant", [0, 1])
def test_no_form_loses_anything(tmp_path, variant: int):
    package = PACKAGES["toolz"]
    layout = layout_of(package, Knobs(variant=variant))
    lay(programs(package, variant), tmp_path)
    words = layout.vocabulary
    row = {words["item"]: "a1", words["moment"]: 3, words["group"]: "ü", words["amount"]: 5}
    server = Server(tmp_path, [], 0)
    try:
        for rows in ([], [row], [row, {**row, words["amount"]: 7}]):
            text = "".join(json.dumps(each) + "\n" for each in rows)
            files = [f"work/form.{form}" for form in layout.forms]
            way = ["in.jsonl", "first.jsonl", *files, "last.jsonl"]
            runs = [(layout.shared("recode"), [old, new]) for old, new in pairwise(way)]
            made = server.programs({"in.jsonl": text}, runs)
            assert made["last.jsonl"] == made["first.jsonl"]
            assert len({made[file] for file in files}) == 3
    finally:
        server.close()


def test_no_variant_takes_the_originals_entry():
    for size in (2, 3, 4):
        for first in range(size):
            taken = [chosen(range(size), first, variant) for variant in range(8)]
            assert taken[0] == first and first not in taken[1:] and set(taken) == set(range(size))
