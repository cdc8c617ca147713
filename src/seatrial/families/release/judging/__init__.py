"""What stands in a task's ``verifiers/``."""
