"""Trials that begin where another one stood, and the proof that they do."""
