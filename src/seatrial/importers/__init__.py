"""Rows made by others, as TrialRecords: pure functions from bytes, with their limits in words."""
