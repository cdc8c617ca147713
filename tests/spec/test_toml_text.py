import tomllib

from hypothesis import given
from hypothesis import strategies as st

from seatrial.spec.toml_text import table_text

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t\"\\'"))
VALUES = TEXT | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(TEXT.filter(bool), VALUES | st.lists(VALUES) | st.dictionaries(TEXT, VALUES)))
def test_what_is_written_is_read_back(values: dict[str, object]):
    assert tomllib.loads(table_text("[step]", values)) == {"step": [values]}
