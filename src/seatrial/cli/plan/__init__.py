"""How much to run, and how often to look."""
