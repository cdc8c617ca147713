"""Perturbations at the door: what is armed, when it fires, what it changes and what the agent is told."""
