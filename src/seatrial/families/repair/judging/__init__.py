"""Programs that are copied into every task's ``verifiers/``; they import nothing of the project."""
