"""How a process is confined: the host made ready, sandboxes started, PID 1 inside them."""
