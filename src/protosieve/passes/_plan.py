"""Between the passes: what the survey of all rows settles, and what rows are then judged by."""

import math
import os
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._prototypes import DataSample, Prototypes
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, ProtosieveWarning, arg
from protosieve.kernels import Kernel
from protosieve.means import FixedMean, PointSums, calibrated, judging_for, points_of, stage_of
from protosieve.objectives import KernelMean
from protosieve.passes._blocks import LeftOut
from protosieve.passes._choose import ChoosePass
from protosieve.passes._fetch import FetchPass
from protosieve.passes._finish import Found, finish, typed
from protosieve.passes._job import Job, sample_size
from protosieve.passes._options import METHODS
from protosieve.passes._partitions import Numbering, Partition
from protosieve.passes._row_sample import MOST, Records
from protosieve.passes._sums import Sums, SumsPass
from protosieve.passes._survey import Summary
from protosieve.preprocess import Encoding
from protosieve.sampling import SampledRows, UniformSample
from protosieve.selectors import Best, ProtoSwap, StreamSelector, nearest_for

__all__ = ["Plan", "check_image_shape", "check_some", "number_of_prototypes", "settle"]

_LEAST = 10  # rows of a sample, where it does not hold all: two of them are held out
_MATRICES = 4  # of m x m numbers in float64 that a selector holds at a time, with its copy


@dataclass(frozen=True, eq=False)
class Plan:
    """All that the survey has told, and what follows from it. Nothing in it changes.

    ``candidates`` are the uniform sample of the inputs, encoded, under their numbers in the whole; ``target`` is that
    of the target where it has files of its own.
    """

    job: Job
    encoding: Encoding
    n_prototypes: int
    n_rows: int
    n_target: int
    skipped: LeftOut
    numbering: Numbering
    counts: dict[int, int]
    candidates: UniformSample
    records: Records  # of the candidates whose columns are kept
    target: UniformSample | None
    target_counts: dict[int, int]
    shown: Records  # rows of the target, or of the inputs, to look at

    @property
    def target_sample(self) -> UniformSample:
        """That of the rows which prototypes represent."""
        return self.candidates if self.target is None else self.target

    @property
    def fits_in_memory(self) -> bool:
        """Whether the samples hold all rows."""
        return self.candidates.is_whole and self.target_sample.is_whole

    def selector(self, kernel: Any = None) -> StreamSelector[Any, Any]:
        """Of no rows yet."""
        kernel = self.job.options.kernel if kernel is None else kernel
        return METHODS[self.job.options.method](self.n_prototypes, kernel=kernel, random_state=self.job.seed)

    # -- all rows at hand

    def fitted(self) -> StreamSelector[Any, Any]:
        """The selector after all rows, in their order: what it is in memory."""
        rows = _in_order(self.candidates)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "n_prototypes=.* but X has", ProtosieveWarning)  # told by `settle`
            return self.selector().fit(rows, target=None if self.target is None else _in_order(self.target))

    # -- more rows than are at hand

    @cached_property
    def kernel(self) -> Kernel:
        rows, rng = self.working(_in_order(self.target_sample)), np.random.default_rng([self.job.seed, 3])
        return self.job.options.kernel.resolve(rows, rng)

    def working(self, rows: Array) -> Array:
        """Rows in the dtype the kernel can be trusted in."""
        return rows.astype(self.dtype, copy=False)

    @property
    def dtype(self) -> str:
        return "float32" if self.job.options.kernel.nonnegative else "float64"

    @cached_property
    def _sample(self) -> UniformSample:
        """That of the target, as it is worked on."""
        return self.target_sample.mapped(self.working, lambda numbers: numbers)

    @cached_property
    def n_points(self) -> int:
        with one_thread():
            return points_of(self.kernel, self._sample, self.n_prototypes)

    @cached_property
    def estimate(self) -> KernelMean:
        """What rows are judged by before all of the target is summed up."""
        with one_thread():
            return KernelMean(self.kernel, PointSums.by(self.kernel, stage_of(self._sample).rows, self.n_points))

    @property
    def _n_best(self) -> int:
        """Rows most like the target that are kept: ProtoBasic's, and of another target than the inputs candidates."""
        return self.n_prototypes if self.target is None else nearest_for(self.n_prototypes)

    def sums(self, stage: str, objective: KernelMean, *, of_target: bool, of_input: bool) -> SumsPass:
        """The pass over all rows of the target, of the inputs, or of what is both."""
        return SumsPass(
            stage=stage,
            encoding=self.encoding,
            objective=objective,
            most=self._n_best if of_input else 0,
            n_points=self.n_points if of_target else 0,
            dtype=self.dtype,
            counts=self.counts if of_input else self.target_counts,
            skip=self.job.skip,
        )

    def mean(self, sums: Float64 | None) -> KernelMean:
        """What results are judged by: the mean of all rows, by their sums; of the sample where rows came but once."""
        sample = self._sample
        with one_thread():
            if sample.is_whole:
                rows = _in_order(sample)
                return self.selector(self.kernel).objective_for(rows)
            if sums is None:
                return KernelMean(self.kernel, FixedMean.over(self.kernel, sample.rows, sample.seen))
            return KernelMean(self.kernel, calibrated(self.kernel, sample, sums, judging_for(self.n_prototypes)))

    def best(self, objective: KernelMean, sums: Sums | None) -> Best:
        """The rows most like the target, under their numbers in the whole."""
        if sums is not None:
            return Best(self.numbering.numbers(sums.best.indices), sums.best.rows, sums.best.pull)
        rows, held = self.working(self.candidates.rows), self.candidates
        found, order = Best.none(rows), np.argsort(held.numbers)
        with one_thread():
            found.take(objective.means(rows)[order], held.numbers[order], rows[order], self._n_best)
        return found

    def chosen(self, objective: KernelMean, best: Best) -> Prototypes:
        """ProtoSwap's choice."""
        selector = self.selector(self.kernel)
        assert isinstance(selector, ProtoSwap)
        stage = stage_of(self.candidates)
        drawn = replace(stage, rows=self.working(stage.rows))
        if self.target is not None:  # few rows of the inputs may be like it, and next to none of these in a sample
            drawn = SampledRows.joined([drawn, best.others(drawn)])
        return selector.choose_from(drawn, best, objective, self.n_rows)

    def choosing(self, objective: KernelMean) -> ChoosePass:
        """The pass of a method that judges rows one by one."""
        return ChoosePass(
            stage="choose",
            encoding=self.encoding,
            objective=objective,
            selector=self.job.options.method,
            n_prototypes=self.n_prototypes,
            seed=self.job.seed,
            like=self.working(self.candidates.rows[:1]),
            n_rows=self.n_rows,
            skip=self.job.skip,
        )

    def result(self, chosen: Prototypes, numbers: NDArray[np.int64], records: Records, judge: KernelMean) -> Prototypes:
        """All about prototypes of these numbers and columns."""
        return finish(
            Found(
                job=self.job,
                encoding=self.encoding,
                n_prototypes=self.n_prototypes,
                n_rows=self.n_rows,
                n_target=self.n_target,
                skipped=self.skipped,
                result=replace(chosen, indices=numbers),
                judge=judge,
                records=records,
                represented=self.target_sample.rows,
                random=self.candidates.rows[: self.n_prototypes],
                shown=self.data_sample(),
            )
        )

    def data_sample(self) -> DataSample:
        """Rows to look at beside prototypes."""
        numbers, table = self.shown.numbers, typed(self.shown.table, self.encoding.layout)
        rows = self.target_sample.rows_of(numbers)
        return DataSample(numbers, rows, table, self.n_target, self.target is not None)

    def fetching(self, numbers: NDArray[np.int64]) -> tuple[FetchPass, list[Partition]]:
        """The pass that brings the columns of rows that were not kept, and the partitions that have them."""
        missing = numbers[~np.isin(numbers, self.records.numbers)]
        homes = [self.job.inputs[home] for home in np.unique(self.numbering.homes(missing))]
        keys = np.sort(self.numbering.key(missing))
        return FetchPass("fetch", self.encoding, keys, self.job.skip), homes


def _in_order(sample: UniformSample) -> Array:
    """The rows of a sample in the order of their numbers."""
    return sample.rows[np.argsort(sample.numbers)]


def settle(job: Job, inputs: Summary, target: Summary | None = None, *, n_prototypes: int | None = None) -> Plan:
    """The plan that follows from all partitions, for as many prototypes as the options say of the inputs' rows, or so
    many. The summaries are changed where there is a target.
    """
    for names, found in ((job.names, inputs), ([file["name"] for file in job.target_files], target)):
        if found is not None:
            check_some(names, found)
            _check_drawn(names, found)
    numbering = Numbering([one.key for one in job.inputs], [inputs.ends.get(one.number, 0) for one in job.inputs])
    n_rows = inputs.rows
    if target is not None:
        inputs.learn(target, is_same=False)
    encoding = inputs.survey.settle(job.options.scale, job.options.max_categories)
    check_image_shape(job, encoding)
    m = number_of_prototypes(job, n_rows) if n_prototypes is None else n_prototypes
    size = min(sample_size(job.options, len(encoding.names), n_rows), inputs.sample.size)
    candidates = _encoded(inputs, size, encoding, numbering)
    seen, shown = inputs, numbering
    if target is not None:
        ends = [target.ends.get(one.number, 0) for one in job.targets]
        seen, shown = target, Numbering([one.key for one in job.targets], ends)
    sample = candidates if target is None else _encoded(target, size, encoding, shown)
    made = Plan(
        job=job,
        encoding=encoding,
        n_prototypes=m,
        n_rows=n_rows,
        n_target=seen.rows,
        skipped=inputs.skipped,
        numbering=numbering,
        counts=inputs.counts,
        candidates=candidates,
        records=inputs.sample.records().under(numbering.numbers),
        target=None if target is None else sample,
        target_counts={} if target is None else target.counts,
        shown=seen.sample.light(min(MOST, len(sample.rows))).under(shown.numbers),
    )
    _check_sample(made, size)
    return made


def _encoded(summary: Summary, size: int, encoding: Encoding, numbering: Numbering) -> UniformSample:
    assert summary.sample.rows is not None
    drawn = summary.sample.rows.settled()
    if not drawn.is_whole:
        size = min(size, len(drawn.rows))  # of the rows that were drawn some are held out, however few they are
    return drawn.first(size).mapped(encoding.transform, numbering.numbers)


def check_some(files: list[str], found: Summary) -> None:
    """`InputError` where no row could be used."""
    if found.rows:
        return
    named = files[0] if len(files) == 1 else f"{len(files)} files"
    if found.skipped.count:
        raise InputError(f"{named}: no row can be used; the first problem is {found.skipped.first[0]}")
    raise InputError(f"{named}: there are no rows; give files that have some")


def _check_drawn(files: list[str], found: Summary) -> None:
    """`InputError` where next to none of the usable rows are among those that were drawn: see `SurveyPass.limit`."""
    assert found.sample.rows is not None
    drawn = found.sample.rows.settled()
    if drawn.is_whole or len(drawn.rows) >= _LEAST:
        return
    named = files[0] if len(files) == 1 else f"{len(files)} files"
    raise InputError(
        f"{named}: {found.rows:,} rows can be used and {found.skipped.count:,} cannot, so that the sample has "
        f"{len(drawn.rows):,}; store the rows that can be used in a file of their own, or give a larger {arg('sample')}"
    )


def check_image_shape(job: Job, encoding: Encoding) -> None:
    """What cannot be shown in the end is told before rows are chosen."""
    shape = job.options.image_shape
    if shape is None:
        return
    size = math.prod(int(side) for side in shape.split("x"))
    widths = [column.width for column in encoding.layout.items]
    if size not in (len(encoding.names), sum(widths), *widths):
        raise ParameterError(
            f"{arg('image_shape', shape)} has {size:,} pixels, and a row has "
            f"{sum(widths):,} numbers; give the shape of the rows, or leave it out"
        )


def number_of_prototypes(job: Job, n_rows: int | None) -> int:
    """No more than there are rows, where that is known, and than memory has room for."""
    m = job.options.count(n_rows)
    if n_rows is not None and m > n_rows:
        warnings.warn(
            f"{m:,} prototypes were asked for, and there are {n_rows:,} rows: at most these are kept",
            ProtosieveWarning,
            stacklevel=2,
        )
        m = n_rows
    needed, free = _MATRICES * 8 * m**2 / 1e9, _free_memory() / 1e9
    if needed > free:
        raise ParameterError(
            f"{arg('n_prototypes', m)} needs about {needed:,.0f} GB for the similarities between prototypes, "
            f"and {free:,.0f} GB are free; ask for fewer"
        )
    return m


def _free_memory() -> float:
    """In bytes; more than there is where the system does not tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def _check_sample(plan: Plan, size: int) -> None:
    """Of rows that are mostly unusable fewer may have been drawn than are wanted: see `SurveyPass.limit`."""
    wanted, drawn = min(size, plan.n_target), len(plan.target_sample.rows)
    if drawn < wanted:
        warnings.warn(
            f"so many rows were left out that the sample has {drawn:,} in place of {wanted:,}; the mean they stand for "
            "is less sure. A larger sample makes up for it",
            ProtosieveWarning,
            stacklevel=2,
        )
