"""One run of one system on one task: from the proven reset to the last verdict."""
