"""Running an experiment, with its progress."""
