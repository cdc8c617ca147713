"""What is measured: tasks, experiments and scripts as frozen values, and how they are read and linted."""
