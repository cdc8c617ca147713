"""Programs that are copied into every task's ``verifiers/``: standard library only, no import of the project."""
