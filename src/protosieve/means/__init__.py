"""The mean embedding of the target: what the prototypes are to match."""

from protosieve.means._base import FOREVER, FixedMean, Mean, MeanState, Sampled, SettledMean
from protosieve.means._calibrated import Calibrated, PointSums, calibrated, points_of
from protosieve.means._calibrated_mean import CalibratedMean
from protosieve.means._exact import ExactMean
from protosieve.means._reservoir import ReservoirMean
from protosieve.means._sampling import Judge, SamplingError
from protosieve.means._sizes import candidates_in, candidates_of, judging_for, points_for, sample_for, with_held_out
from protosieve.means._span import Span

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
    "Span",
    "calibrated",
    "candidates_in",
    "candidates_of",
    "judging_for",
    "points_for",
    "points_of",
    "sample_for",
    "with_held_out",
]
