"""Weights of thousands of members, near their optimum in a few factorisations.

Block principal pivoting (Portugal, Judice and Vicente 1994; Kim and Park 2011). For a guess F of the members that have
a weight, solve ``K_FF w_F = mu_F``. A member is wrong if it is in F with a negative weight, or outside with a positive
gradient. All wrong members change sides at once, and so on until none is wrong. Mostly that takes three to ten turns,
however many members there are. There is no proof of that, and it may cycle: where the number of wrong members has not
fallen for some turns, members only leave F from there on, until none of its weights is negative. `NonNegativeQP`, which
adds one member at a time, continues from such weights.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf

from protosieve._typing import Float64

_PATIENCE = 3  # turns without progress; three, as both papers have it
_TURNS = 20  # of each kind, at most


def pivoted(gram: Float64, mu: Float64, inside: NDArray[np.bool_], tolerance: float, least: float) -> Float64:
    """Non-negative weights, nearly always the best ones, from a guess of the members with one. O(q^3) a turn.

    Gradients up to ``tolerance`` count as zero. A member that is a combination of others, but for a share ``least`` of
    its squared length, gets no weight: copies do not divide one between them.
    """
    fewest, patience = len(mu) + 1, _PATIENCE
    for _ in range(_TURNS):
        inside, w = _solved(gram, mu, inside, least)
        wrong = (w < 0) | (~inside & (mu - gram @ w > tolerance))
        n_wrong = int(np.count_nonzero(wrong))
        if not n_wrong:
            return w
        patience = _PATIENCE if n_wrong < fewest else patience - 1
        if not patience:
            break
        fewest, inside = min(fewest, n_wrong), inside ^ wrong
    for _ in range(_TURNS):
        if (w >= 0).all():
            break
        inside, w = _solved(gram, mu, inside & (w >= 0), least)
    return np.maximum(w, 0.0)


def _solved(gram: Float64, mu: Float64, inside: NDArray[np.bool_], least: float) -> tuple[NDArray[np.bool_], Float64]:
    """The members inside, without those that are combinations of others, and their best weights, signs ignored."""
    members, w = np.flatnonzero(inside), np.zeros(len(mu))
    diagonal, length = gram.diagonal()[members], np.ones(len(members))
    root, failed = dpotrf(gram[np.ix_(members, members)].T, lower=1, overwrite_a=1)
    if failed or (root.diagonal() ** 2 < least * diagonal).any():
        length = np.sqrt(np.maximum(diagonal, np.finfo(np.float64).tiny))
        scaled = gram[np.ix_(members, members)].T / np.multiply.outer(length, length)
        root, order, rank, _ = dpstrf(scaled, tol=least, lower=1, overwrite_a=1)
        first = order[:rank] - 1
        members, root, length = members[first], root[:rank, :rank], length[first]
    if len(members):
        w[members] = dpotrs(root, mu[members] / length, lower=1)[0] / length
    found = np.zeros(len(mu), np.bool_)
    found[members] = True
    return found, w
