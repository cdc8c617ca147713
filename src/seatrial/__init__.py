"""Seatrial: sea trials for long-horizon AI agents."""

__version__ = "0.1.0"
