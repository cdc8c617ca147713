"""A run read back: journals and verdict tables, measured anew."""
