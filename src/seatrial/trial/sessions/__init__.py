"""A trial in which a person acts, in a process of its own."""
