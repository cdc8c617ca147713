"""How a verb says no."""

import http


class Refusal(Exception):
    """A request that a service does not carry out; nothing of it was done.

    Args:
        status: HTTP status, 400 to 599.
        problem: why, in words for the caller.
    """

    def __init__(self, status: int, problem: str) -> None:
        self.status, self.problem = status, problem
        super().__init__(problem)


def in_words(status: int) -> str:
    """A status as people read it: ``409 Conflict``."""
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
