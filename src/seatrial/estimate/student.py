"""Student's t: the two numbers that intervals and tests need."""


def t_quantile(level: float, df: float) -> float:
    """Half-width, in standard errors, of the two-sided interval at ``level`` in (0, 1); ``df`` > 0."""
    # A fraction of scipy.stats' cost, and still too slow to load for a command without intervals.
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def t_two_sided(t: float, df: float) -> float:
    """Probability of a |t| at least as large, in [0, 1]; ``df`` > 0."""
    # Loaded here for the same reason.
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))
