"""Many trials: the plan, attempts, retries, resuming."""
