"""The mean embedding of the target: what the prototypes are to match."""

from protosieve.means._base import FOREVER, FixedMean, Mean, MeanState, Sampled, SettledMean
from protosieve.means._calibrated import (
    Calibrated,
    CalibratedMean,
    PointSums,
    calibrated,
    judging_for,
    points_for,
    points_of,
    sample_for,
    stage_of,
    stage_size,
)
from protosieve.means._exact import ExactMean
from protosieve.means._reservoir import ReservoirMean
from protosieve.means._sampling import Judge, SamplingError

__all__ = [
    "FOREVER",
    "Calibrated",
    "CalibratedMean",
    "ExactMean",
    "FixedMean",
    "Judge",
    "Mean",
    "MeanState",
    "PointSums",
    "ReservoirMean",
    "Sampled",
    "SamplingError",
    "SettledMean",
    "calibrated",
    "judging_for",
    "points_for",
    "points_of",
    "sample_for",
    "stage_of",
    "stage_size",
]
