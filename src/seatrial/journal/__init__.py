"""The waist: typed events in an append-only chain, objects by content, and the state they fold to."""
