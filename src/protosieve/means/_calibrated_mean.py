"""The mean of every row in fixed memory, as it is asked for."""

from dataclasses import dataclass

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.kernels import Kernel
from protosieve.means._base import Mean, MeanState
from protosieve.means._calibrated import calibrated, points_of, sums_over
from protosieve.means._calibrated_stream import CalibratedStream
from protosieve.means._reservoir import check_seed, check_size, sample_seed
from protosieve.means._sizes import candidates_of, judging_for, sample_for
from protosieve.sampling import UniformSample

__all__ = ["CalibratedMean"]

_LEAST = 10  # rows of a sample: two are held out then


@storable
@dataclass(frozen=True)
class CalibratedMean(Mean):
    """The mean of every row, in memory that does not grow with them: sums at a few points, and a sample.

    Each row of the target costs ``points`` kernel values, which are added up; so at the points the mean of *all* rows
    is known. Rows of a stream are judged by the points alone; candidates and the prototypes that are chosen in the end
    by the sample too, corrected so that it agrees with all rows at the points. The weights, the residual and the
    certificate of a result are then those of all rows, with a small error bar, not those of a sample.

    The default for streams, and for targets so large that `ExactMean` costs more. With a target the points are chosen
    once. Without one they follow the stream and are chosen anew each time it has doubled.

    Parameters
    ----------
    sample : int, optional
        Rows of the sample; by default 320 for each prototype, at least 10,240 and at most 40,960, fewer where they have
        more than 1,024 columns. A fifth of them is held out to judge results by.
    points : int, optional
        Random rows of the sample: exchanged ones express as much with half as many, and cost more than the other half.
        By default as many as it takes, 128 to 3,072 and no more than four for each prototype or 1,024: until residuals
        are in doubt by a few hundredths at most.
    random_state : int, optional
        Seed of the sample; by default it follows from the selector's ``random_state``.

    Notes
    -----
    O(points d) per row of the target; O(points (sample d + points^2)) each time points are chosen; for the candidates
    of a result O(sample^2 d / 2), once. Memory is the sample, O(points^2) and, for a result, the sample again.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import ProtoSwap
    >>> from protosieve.means import CalibratedMean
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> exact = ProtoSwap(20, random_state=0).fit(X).result_
    >>> mean = CalibratedMean(sample=1000, points=100)
    >>> quick = ProtoSwap(20, mean=mean, random_state=0).fit(X).result_
    >>> 0.9 < quick.residual / exact.residual < 1.1
    True
    """

    sample: int | None = None
    points: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("sample", _LEAST), ("points", 1)):
            if getattr(self, name) is not None:
                check_size("CalibratedMean", name, getattr(self, name), least)
        check_seed("CalibratedMean", self.random_state)

    def check(self, target: Array | None) -> None:
        pass

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        seed = sample_seed(rng, self.random_state)
        size = sample_for(n_prototypes, like.shape[1]) if self.sample is None else self.sample
        if target is None:
            return CalibratedStream.begin(kernel, size, self.points, n_prototypes, like, seed)
        sample = UniformSample.empty(size, target, seed)
        sample.observe(target, np.arange(len(target)))
        sample.settle()
        points = points_of(kernel, sample, n_prototypes) if self.points is None else self.points
        rows = candidates_of(sample).rows[:points]
        return calibrated(kernel, sample, sums_over(kernel, target, kernel.prepare(rows)), judging_for(n_prototypes))
