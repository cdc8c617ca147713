"""The command line: one file a verb; library errors become one line and exit code 2 here only."""
