from seatrial.families.draws import Draws


def test_the_same_seed_and_name_give_the_same_choices():
    assert Draws(7, "a").numbers(20) == Draws(7, "a").numbers(20)


def test_another_name_gives_other_choices():
    assert Draws(7, "a").numbers(20) != Draws(7, "b").numbers(20)


def test_choices_are_pinned():
    # A change here changes every generated task: it needs a new generator version.
    assert Draws(1, "pinned").numbers(8, 0, 99) == [17, 90, 56, 44, 50, 41, 90, 87]


def test_shuffling_keeps_every_item():
    assert sorted(Draws(3, "x").shuffled(range(50))) == list(range(50))
