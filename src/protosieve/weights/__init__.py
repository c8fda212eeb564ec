"""Weights: pure linear algebra on Gram matrices; knows no kernel and no rows."""

from protosieve.weights._nonnegative import NonNegativeQP, Projection, Projections

__all__ = ["NonNegativeQP", "Projection", "Projections"]
