"""Rules that a run must meet before release."""
