"""Proves that a task's verifiers tell right products from wrong ones, and freezes tasks that were proven."""
