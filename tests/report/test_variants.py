"""Originals beside their variants in the report (F28)."""

import msgspec
import pytest

from seatrial.records.people import told_apart
from seatrial.report.build import build_report
from seatrial.report.tables import cells
from seatrial.report.variants import variant_lines
from tests.measure.trials import WITHOUT_REPAIR, verdicts
from tests.report.runs import RunMaker, all_pass, cell
from tests.report.test_disturbances import record


def lines(records):
    return variant_lines(cells(*told_apart(records, records)), 7)


def pairs(count: int, learnt: bool = True):
    """Originals solved, and variants not where they were only learnt by heart."""
    found = []
    for n in range(count):
        found.append(record(f"o-{n}", task=f"f/{n}"))
        found.append(record(f"v-{n}", task=f"f/{n}-v", variant_of=f"f/{n}", safe_success=not learnt))
    return found


def test_what_was_learnt_by_heart_shows_as_a_gap():
    (found,) = lines(pairs(12))
    assert (found.originals.value, found.variants.value, found.difference.value) == (1.0, 0.0, 1.0)
    assert (found.words, found.n_originals, found.n_variants) == ("better on the originals", 12, 12)
    assert found.p is not None and found.p < 0.001
    (alike,) = lines(pairs(12, learnt=False))
    assert (alike.difference.value, alike.words) == (0.0, "cannot be told apart yet")


def test_variants_of_one_original_are_one_pair_and_those_without_are_named():
    records = [
        *pairs(3),
        record("v-again", task="f/0-w", variant_of="f/0", safe_success=True),
        record("v-alone", task="g/1-v", variant_of="g/1", safe_success=True),
        record("v-chain", task="f/0-v-v", variant_of="f/0-v", safe_success=True),
        record("plain", task="f/9"),
    ]
    (found,) = lines(records)
    assert (found.n_originals, found.n_variants) == (3, 4)
    assert found.difference.value == pytest.approx((0.5 + 1 + 1) / 3)
    assert (found.variants.n_tasks, found.variants.n_trials) == (3, 4)
    assert found.originals.value - found.variants.value == pytest.approx(found.difference.value)
    assert found.left_out == ["f/0-v-v", "g/1-v"]


def test_there_is_no_line_without_a_pair_and_none_of_what_people_had_a_part_in():
    assert lines([record("1"), record("2", task="f/b")]) == []
    helped = [msgspec.structs.replace(r, human_machine=True) for r in pairs(3)]
    assert lines(helped) == []


def test_an_original_without_a_valid_trial_is_left_out_by_name():
    records = pairs(3)
    records[0] = record("o-0", task="f/0", terminal_class="infrastructure", safe_success=None)
    (found,) = lines(records)
    assert found.difference.n_tasks == 2
    assert any("f/0 is left out" in note for note in found.difference.notes)


class Variants(RunMaker):
    """Every task whose name ends in ``-v`` is a variant."""

    def spec(self, name: str) -> dict:
        made = super().spec(name)
        source = {"provenance": {"variant_of": name.removesuffix("-v")}} if name.endswith("-v") else {}
        return {**made, **source}


def test_the_page_and_the_data_show_them(tmp_path):
    plan = [cell("o-1", task="ledger/one"), cell("v-1", task="ledger/one-v")]
    made = Variants(tmp_path / "run", plan)
    made.trial(plan[0], all_pass())
    made.trial(plan[1], verdicts(WITHOUT_REPAIR))
    data = build_report(made.folder, tmp_path / "out")
    (found,) = data["variants"]
    assert (found["originals"]["value"], found["variants"]["value"]) == (1.0, 0.0)
    page = (tmp_path / "out" / "index.html").read_text()
    assert 'aria-label="Originals and variants"' in page and "paired by original" in page
