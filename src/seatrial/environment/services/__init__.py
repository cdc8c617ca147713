"""Services of a trial: real servers outside the sandbox whose rows are part of the state."""
