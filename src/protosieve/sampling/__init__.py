"""Uniform samples of rows that come one after the other, in fixed memory."""

from protosieve.sampling._bottom import EVERY, Bottom, hashes
from protosieve.sampling._uniform import SampledRows, UniformSample

__all__ = ["EVERY", "Bottom", "SampledRows", "UniformSample", "hashes"]
