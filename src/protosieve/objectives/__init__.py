"""Objectives: what a selection is worth."""

from protosieve.objectives._base import BestPossible, Block, Need, Objective, Weighed, same
from protosieve.objectives._coverage import Coverage, Covered, covering_for
from protosieve.objectives._features import FeatureObjective, SmoothObjective
from protosieve.objectives._fitted import Fit, FittedObjective
from protosieve.objectives._glm import LeastSquares, Logistic, Poisson
from protosieve.objectives._kernel_mean import KernelMean
from protosieve.objectives._set_function import SetFunction

__all__ = [
    "BestPossible",
    "Block",
    "Coverage",
    "Covered",
    "FeatureObjective",
    "Fit",
    "FittedObjective",
    "KernelMean",
    "LeastSquares",
    "Logistic",
    "Need",
    "Objective",
    "Poisson",
    "SetFunction",
    "SmoothObjective",
    "Weighed",
    "covering_for",
    "same",
]
