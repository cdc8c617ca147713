"""One row per trial with everything it showed; null where the journal cannot say."""
