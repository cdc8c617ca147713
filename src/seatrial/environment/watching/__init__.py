"""Which paths were touched, as the kernel tells it."""
