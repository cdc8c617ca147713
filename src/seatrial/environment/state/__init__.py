"""What the world's files are: the base, the state over it, its fingerprint, restoring it."""
