"""The paper's convergence rates, as numbers, with the constant that is proved (docs/paper.md)."""

from __future__ import annotations

import math

from dominantsets._checks import check_choice


def log_gap_bound(
    algorithm: str,
    *,
    a_max: float,
    gain: float,
    t: int,
    support0: int = 1,
    n: int = 1,
) -> float:
    r"""Logarithm of a bound on the smallest gap within t iterations: Theorems 1 to 3 with a proved constant.

    With :math:`\tilde g_t = \min_{\ell \le t} 2(r_i - f)` the gap of the theory, and no negative similarity,

    - fw: :math:`2 \sqrt{2\overline M\,(f_t - f_0) / t}`,
    - pairwise: :math:`2 \sqrt{6\,n!\,\overline M\,(f_t - f_0) / t}`,
    - away: :math:`2 \sqrt{4\overline M\,(f_t - f_0) / (t + 1 - |\sigma_0|)}`,

    and infinite while the denominator is not positive. For fw and away the paper has
    :math:`2\overline M - \underline M` in place of :math:`2\overline M`; its proof has a gap (docs/paper.md).

    Parameters
    ----------
    algorithm : {"fw", "pairwise", "away"}
        The method.
    a_max : float
        Largest similarity of two different objects, the shift included.
    gain : float
        :math:`f(x_t) - f(x_0)`.
    t : int
        Iterations.
    support0 : int, default=1
        Size of the support of :math:`x_0` (away).
    n : int, default=1
        Number of objects (pairwise).

    Returns
    -------
    float
        The natural logarithm of the bound; -inf for a bound of 0. n! is far beyond floating point
        for the sizes of real data, which is why this is the primary form.

    Examples
    --------
    >>> from dominantsets.theory import log_gap_bound
    >>> log_gap_bound("pairwise", a_max=1.0, gain=1.0, t=10, n=1000) > 2900
    True
    """
    check_choice("algorithm", algorithm, ("fw", "pairwise", "away"))
    steps = t + 1 - support0 if algorithm == "away" else t
    if steps <= 0:
        return math.inf
    if gain <= 0:
        return -math.inf
    if algorithm == "pairwise":
        log_beta = math.log(6.0 * a_max) + math.lgamma(n + 1.0)
    else:
        log_beta = math.log(2.0 * a_max * (2.0 if algorithm == "away" else 1.0))
    return math.log(2.0) + 0.5 * (log_beta + math.log(gain) - math.log(steps))


def gap_bound(
    algorithm: str,
    *,
    a_max: float,
    gain: float,
    t: int,
    support0: int = 1,
    n: int = 1,
) -> float:
    """The bound itself: the exponential of :func:`log_gap_bound`, inf where that overflows.

    Takes the parameters of :func:`log_gap_bound`.

    Examples
    --------
    >>> from dominantsets.theory import gap_bound
    >>> round(gap_bound("fw", a_max=1.0, gain=0.5, t=100), 12)
    0.2
    """
    log_bound = log_gap_bound(algorithm, a_max=a_max, gain=gain, t=t, support0=support0, n=n)
    return math.exp(log_bound) if log_bound < 709.0 else math.inf
