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


def t_as_z(t: float, df: float) -> float:
    """The normal deviate with as much probability beyond it as ``t`` has; ``df`` > 0."""
    # Loaded here for the same reason.
    from scipy.special import ndtri, stdtr

    return float(-ndtri(stdtr(df, -abs(t)))) * (1 if t >= 0 else -1)


def z_as_t(z: float, df: float) -> float:
    """The inverse of ``t_as_z``."""
    # Loaded here for the same reason.
    from scipy.special import ndtr, stdtrit

    return float(-stdtrit(df, ndtr(-abs(z)))) * (1 if z >= 0 else -1)
