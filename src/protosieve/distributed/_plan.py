"""Between the passes: how rows are encoded and what they are judged by, settled once for all partitions."""

import itertools
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve.distributed._drawn import limit_of, number_of
from protosieve.distributed._outline import seed_for
from protosieve.distributed._summary import Summary
from protosieve.errors import ProtosieveWarning
from protosieve.means import Calibrated, CalibratedMean, FixedMean, MeanState
from protosieve.objectives import KernelMean
from protosieve.pipeline._gallery import MOST, Gallery
from protosieve.pipeline._options import METHODS, Options
from protosieve.pipeline._run import Run, check_some
from protosieve.preprocess import Encoding
from protosieve.selectors import ProtoSwap, StreamSelector
from protosieve.selectors._selector import generator

__all__ = ["ALL_OFFERED", "Plan", "looked_at", "settle"]

ALL_OFFERED = 2**40  # candidates of a merge: every row that partitions offer


@storable
@dataclass(frozen=True, eq=False)
class Plan:
    """What `select_partition` needs to know, and no more: weighted points, a thousand or more, stand for the target.

    ``limit`` is the largest hash of rows that every partition returns besides those it chooses: a uniform sample of all
    rows, that the last merge looks at.
    """

    options: Options
    seed: int
    n_prototypes: int
    encoding: Encoding
    objective: KernelMean
    before: list[int]  # rows of the input before each file
    counts: dict[int, int]  # usable rows of each partition
    limit: int

    @property
    def skip(self) -> bool:
        """Whether rows that cannot be used are left out."""
        return self.options.bad_rows == "skip"

    @property
    def looked_at(self) -> int:
        """Rows of the sample the last merge looks at."""
        return looked_at(self.n_prototypes)

    def selector(self, *purpose: int, **options: Any) -> StreamSelector[Any, Any]:
        """A selector of no rows yet, that judges by the shared mean."""
        seed = seed_for(self.seed, *purpose) % 2**31
        made = METHODS[self.options.method](self.n_prototypes, kernel=self.objective.kernel, random_state=seed)
        made.set_params(**{name: of for name, of in options.items() if name in made.get_params(deep=False)})
        assert isinstance(self.objective.mean, FixedMean)
        made._begin_by(self.objective, self.objective.mean.rows)
        return made


def settle(run: Run, inputs: Summary, target: Summary | None = None) -> Plan:
    """The plan that follows from all partitions, and the run brought to where its rows are chosen.

    O(sample^2 d) once, as `CalibratedMean` says. The summary of the inputs is changed where there is a target.
    """
    _check_some(run, inputs, target)
    ends = itertools.accumulate((inputs.ends.get(file, 0) for file in range(len(run.files))), initial=0)
    run.n_rows = run.n_target = inputs.survey.rows
    if target is not None:
        run.n_target = target.survey.rows
        inputs.learn(target)
    run.left_out, run.survey = inputs.left_out, inputs.survey
    run.settle()
    run.target = run.encoded.transform(inputs.drawn.sample()[1])
    _check_sample(run)
    run.gallery = None if target is None else _gallery(run, inputs, target.ends)
    objective = _objective(run)
    with one_thread():
        points = _points_of(objective.mean)
    return Plan(
        options=run.options,
        seed=run.seed,
        n_prototypes=run.selector.n_prototypes,
        encoding=run.encoded,
        objective=KernelMean(objective.kernel, points),
        before=list(ends)[:-1],
        counts=inputs.counts,
        limit=_limit(run.selector.n_prototypes, run.n_rows),
    )


def _check_some(run: Run, inputs: Summary, target: Summary | None) -> None:
    check_some([file["name"] for file in run.files], inputs.survey.rows, inputs.left_out)
    if target is not None:
        check_some([file["name"] for file in run.target_files], target.survey.rows, target.left_out)


def _check_sample(run: Run) -> None:
    """Of rows that are mostly unusable fewer may have been drawn than are wanted: see `Outline.limit`."""
    assert run.target is not None
    wanted, drawn = min(run.options.sample, run.n_target), len(run.target)
    if drawn < wanted:
        warnings.warn(
            f"so many rows were left out that the sample has {drawn:,} in place of {wanted:,}; the mean they stand for "
            "is less sure. A larger sample makes up for it",
            ProtosieveWarning,
            stacklevel=2,
        )


def _gallery(run: Run, whole: Summary, ends: dict[int, int]) -> Gallery:
    """Rows of the target to look at, under their numbers in it, encoded."""
    assert whole.gallery is not None
    whole.gallery.convert(run.encoded.transform)
    found = whole.gallery.shown()
    before = np.cumsum([0, *(ends.get(file, 0) for file in range(len(run.target_files)))])
    return Gallery.of(run.seed, found._replace(numbers=number_of(found.numbers, before)), run.n_target)


def _objective(run: Run) -> KernelMean:
    """Kernel and mean as one stream would settle them with its first block; the run's selector begins by them."""
    assert run.target is not None
    is_sample = run.n_target > len(run.target)
    run.choose_selector(run.options.kernel, CalibratedMean(run.options.sample) if is_sample else None)
    rows = run.selector._working(run.target)
    with one_thread():
        objective = run.selector._objective(rows, rows, generator(run.seed))
    assert isinstance(objective, KernelMean)
    if isinstance(run.selector, ProtoSwap):
        run.selector.set_params(candidates=ALL_OFFERED)
    run.selector._begin_by(objective, rows)
    return objective


def _points_of(mean: MeanState) -> FixedMean:
    """The weighted rows that others are judged by: as few as there are, for every partition gets them."""
    points = mean.quick if isinstance(mean, Calibrated) else mean
    assert isinstance(points, FixedMean)
    return points


def looked_at(n_prototypes: int) -> int:
    """No fewer than there may be prototypes: as many random rows are compared with them."""
    return max(MOST, n_prototypes)


def _limit(n_prototypes: int, rows: int) -> int:
    """A hash that at least `looked_at` rows are below, but for one run in a thousand million: 6 deviations more."""
    wanted = looked_at(n_prototypes)
    return limit_of(wanted + 6 * math.sqrt(wanted), rows)
