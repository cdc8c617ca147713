"""The smallest replacement of whole lines that turns one text into another and can be found in it once."""

import ast

from seatrial.families.repair.mutate import Text, find_function


def smallest_edit(before: str, after: str) -> tuple[str, str]:
    """Old and new lines; old occurs exactly once in the text before.

    Args:
        before: a text.
        after: another one.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    # Context is added on both sides until the place is named unmistakably.
    while head or tail:
        found = "".join(old[head : len(old) - tail])
        # Not count: occurrences that overlap would be one.
        if found.strip() and before.find(found) == before.rfind(found):
            break
        head, tail = max(head - 1, 0), max(tail - 1, 0)
    return "".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail])


def with_body(source: str, part: str, body: str) -> str:
    """A file in which one function has another body; its docstring stays."""
    function, text = find_function(source, part), Text(source)
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    start = text.starts[statements[0].lineno - 1]
    end = text.starts[statements[-1].end_lineno or 0]
    return source[:start] + body + source[end:]
