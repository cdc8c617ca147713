"""Text of a trial, or of a path, made safe for a terminal."""


def visible(text: str) -> str:
    """Control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def visible_line(text: str) -> str:
    """The same for text that has to stay on one line, such as a path."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")
