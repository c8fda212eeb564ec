"""Weights: pure linear algebra on Gram matrices; knows no kernel and no rows."""

from protosieve.weights._equal import EqualWeights
from protosieve.weights._matrices import definite_cholesky, free_weights, grown
from protosieve.weights._newton import Newton, Point
from protosieve.weights._nonnegative import GRADIENT_TOLERANCE, NonNegativeQP, Projection
from protosieve.weights._projections import Projections

__all__ = [
    "GRADIENT_TOLERANCE",
    "EqualWeights",
    "Newton",
    "NonNegativeQP",
    "Point",
    "Projection",
    "Projections",
    "definite_cholesky",
    "free_weights",
    "grown",
]
