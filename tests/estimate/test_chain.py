"""Chains of conditions, each link on its own denominator (D7, E8)."""

import pytest

from seatrial.estimate.chain import condition_chain

NAMES = ["seen", "understood", "mended"]


def counts(trials, passed_over=()):
    chain = condition_chain(trials, NAMES, passed_over)
    return [(link.reached, link.held, link.broke, link.unknown, link.lost) for link in chain]


def test_a_link_counts_only_where_all_before_it_held():
    trials = {
        "f/a": [(True, True, True), (True, False, True)],
        "f/b": [(False, True, True), (True, True, False)],
    }
    assert counts(trials) == [(4, 3, 1, 0, 0), (3, 2, 1, 0, 0), (2, 1, 1, 0, 0)]
    rates = [link.rate.value for link in condition_chain(trials, NAMES)]
    # Tasks count once each: seen ½·(1 + ½), understood ½·(½ + 1), mended ½·(1 + 0).
    assert rates == pytest.approx([0.75, 0.75, 0.5])


def test_an_unknown_link_ends_the_chain_and_is_told_apart_from_a_broken_one():
    assert counts({"f/a": [(True, None, True), (True, True, True)]}) == [
        (2, 2, 0, 0, 0), (2, 1, 0, 1, 0), (1, 1, 0, 0, 1),
    ]  # fmt: skip


def test_a_link_may_be_passed_over_where_nothing_could_show_it():
    assert counts({"f/a": [(True, None, False)]}, ["understood"])[2] == (1, 0, 1, 0, 0)


def test_without_trials_there_is_no_rate():
    assert [link.rate.value for link in condition_chain({}, NAMES)] == [None] * 3


def test_trials_must_have_all_links():
    with pytest.raises(ValueError, match="must have 3 links"):
        condition_chain({"f/a": [(True,)]}, NAMES)
