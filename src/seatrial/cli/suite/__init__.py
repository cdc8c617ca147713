"""Making, checking and freezing tasks."""
