"""What may be concluded from records: one file a kind."""
