"""Verdicts bound to state: a view of what was declared, a verifier apart from agent-made code, a cache."""
