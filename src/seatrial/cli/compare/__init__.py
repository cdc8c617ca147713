"""Two systems or two sets of records side by side."""
