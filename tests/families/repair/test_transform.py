import pytest

from seatrial.families.repair.transform import observation_program


def rewritten(assertion: str, before: str = "") -> str:
    lines = [*before.splitlines(), assertion]
    program = observation_program("def test_it():\n" + "\n".join(f"    {line}" for line in lines) + "\n")
    return "\n".join(line.strip() for line in program.splitlines()[1:])


@pytest.mark.parametrize(
    ("assertion", "program"),
    [
        ("assert f(1) == [1, 2]", "__sight__.value(f(1))"),
        ("assert {'a': (1, -2)} == f(1)", "__sight__.value(f(1))"),
        ("assert f(1) == list('BCD')", "__sight__.value(f(1))"),
        ("assert f(1) is True", "__sight__.value(f(1))"),
        ("assert f(1) == g(1)", "__sight__.compare('==', (f(1), g(1)), (True, True))"),
        ("assert f(1) != g(1) == 3", "__sight__.compare('!= ==', (f(1), g(1), 3), (True, True, False))"),
        ("assert f(1)", "__sight__.truth(f(1))"),
        ("assert not f(1), 'message'", "__sight__.truth(not f(1))"),
        ("assert f(1) in g(1)", "__sight__.truth(f(1) in g(1))"),
        ("assert f(1) is g", "__sight__.truth(f(1) is g)"),
        ("assert f(hash(x)) == f(1)", "__sight__.truth(f(hash(x)) == f(1))"),
        ("assert g.__doc__ == f.__doc__", "__sight__.truth(g.__doc__ == f.__doc__)"),
        ("assert raises(KeyError, lambda: f(1))", "__sight__.raising(KeyError, lambda: f(1))"),
        ("pytest.raises(KeyError, f, 1)", "__sight__.raising(KeyError, f, 1)"),
        ("with pytest.raises(KeyError): f(1)", "with __sight__.raises(KeyError):\nf(1)"),
    ],
)
def test_an_assertion_becomes_an_observation(assertion: str, program: str):
    assert rewritten(assertion) == program


def test_a_name_that_only_holds_the_expected_value_is_dropped():
    assert rewritten("assert f(1) == wanted", "wanted = {1: 'secret'}") == "__sight__.value(f(1))"


def test_a_name_that_is_used_otherwise_stays():
    program = rewritten("assert log == [1]", "log = []\nf(log.append)")
    assert program == "log = []\nf(log.append)\n__sight__.value(log)"
