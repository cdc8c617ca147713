"""A person in a task's sandbox."""
