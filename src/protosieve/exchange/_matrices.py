"""What both exchange sets begin with, and what those read from a file must be."""

from typing import Any

import numpy as np

from protosieve._typed import are_finite, require
from protosieve._typing import Float64


def no_matrix() -> Float64:
    return np.zeros((0, 0))


def no_vector() -> Float64:
    return np.zeros(0)


def check_matrices(members: Any) -> None:
    """Raise `ValueError` where the matrices and vectors of an exchange set that was read do not fit together."""
    slots, gram = members.w.shape, members.gram
    require(len(slots) == 1 and members.mu.shape == slots, "the weights of members")
    require(gram.shape == members.inverse.shape == slots * 2, "the matrices of members")
    known = (gram, members.inverse, members.mu, members.w, members.scale, members.margin)
    require(are_finite(*known), "what members are like")
    require(0 < members.noise < 1 and members.margin >= 0 and members.scale >= 0, "the tolerances of a set")
    require((gram == gram.T).all() and (gram.diagonal() >= 0).all(), "no matrix of similarities")
