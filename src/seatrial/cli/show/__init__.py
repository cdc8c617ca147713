"""A run in the terminal."""
