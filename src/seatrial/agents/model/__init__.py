"""The recording model proxy: the only way an agent reaches a model, and where its calls are metered."""
