"""Who acts: agents run in a process and sandbox of their own and know only what comes through a socket."""
