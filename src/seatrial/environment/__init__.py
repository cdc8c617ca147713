"""Where trials happen: sandboxes, one overlay for all that is writable, fingerprints, forks."""
