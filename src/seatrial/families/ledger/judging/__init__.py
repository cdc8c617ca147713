"""The verifiers' own code; it runs in a task's folder, with the standard library only."""
