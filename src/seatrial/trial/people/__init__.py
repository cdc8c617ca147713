"""Who is asked in a trial: a script, a person at the runner's terminal, or nobody."""
