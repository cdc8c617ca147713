"""Forking recorded states: where, what is changed there, and what came of it."""
