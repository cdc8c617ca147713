"""Constraints that need more than a pattern: people, canaries, temptations and contamination."""
