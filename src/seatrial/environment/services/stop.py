"""How an effect is stopped in the middle."""


class StoppedPartway(Exception):
    """A fault ended an effect after its first row."""
