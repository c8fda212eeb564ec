"""Between the passes: what the survey of all rows settles, and the mean that rows are then judged by."""

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64
from protosieve.errors import ProtosieveWarning
from protosieve.kernels import Kernel
from protosieve.means import FixedMean, PointSums, calibrated, candidates_of, judging_for, points_of
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes._blocks import LeftOut
from protosieve.passes._checks import (
    check_drawn,
    check_image_shape,
    check_sample,
    check_some,
    note_columns,
    number_of_prototypes,
)
from protosieve.passes._choose import ChoosePass
from protosieve.passes._fetch import FetchPass
from protosieve.passes._job import Job, sample_size
from protosieve.passes._options import METHODS
from protosieve.passes._partitions import Numbering, Partition
from protosieve.passes._result import Grouped, Selected, result_of
from protosieve.passes._row_sample import MOST
from protosieve.passes._sums import Sums, SumsPass
from protosieve.passes._survey import Summary
from protosieve.passes._tables import Records, typed
from protosieve.preprocess import Encoding
from protosieve.result import DataSample, Prototypes
from protosieve.sampling import SampledRows, UniformSample
from protosieve.selectors import Best, ProtoSwap, Quotas, StreamSelector, nearest_for


@dataclass(frozen=True, eq=False)
class Plan:
    """What follows from the survey. Nothing in it changes.

    ``candidates`` is the uniform sample of the inputs, encoded, by row numbers in the whole input; ``target`` that of
    the target, if it has files of its own.
    """

    job: Job
    encoding: Encoding
    n_prototypes: int
    n_rows: int
    n_target: int
    beyond: list[str]  # what the target has and the inputs do not
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
        """The sample of the rows that prototypes represent."""
        return self.candidates if self.target is None else self.target

    @property
    def fits_in_memory(self) -> bool:
        """Whether the samples hold all rows."""
        return self.candidates.is_whole and self.target_sample.is_whole

    def selector(self, kernel: Any = None) -> StreamSelector[Any, Any]:
        """Of no rows yet."""
        kernel = self.job.options.kernel if kernel is None else kernel
        options = self.job.options
        return METHODS[options.method](
            self.n_prototypes, kernel=kernel, random_state=self.job.seed, **options.objective
        )

    # -- if the sample holds all rows

    def fitted(self, aside: Mapping[str, Array]) -> StreamSelector[Any, Any]:
        """The selector, fitted to all rows in their order, as it would be in memory."""
        rows = _in_order(self.candidates)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "n_prototypes=.* but X has", ProtosieveWarning)  # told by `settle`
            return self.selector().fit(rows, target=None if self.target is None else _in_order(self.target), **aside)

    # -- if there are more rows

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
        """The sample of the target, in the dtype in which rows are compared."""
        return self.target_sample.mapped(self.working, lambda numbers: numbers)

    @cached_property
    def n_points(self) -> int:
        with one_thread():
            return points_of(self.kernel, self._sample, self.n_prototypes)

    @cached_property
    def estimate(self) -> KernelMean:
        """What rows are judged by until all of the target is summed up."""
        with one_thread():
            return KernelMean(self.kernel, PointSums.by(self.kernel, candidates_of(self._sample).rows, self.n_points))

    @property
    def _n_best(self) -> int:
        """Rows most like the target that are kept: ProtoBasic's, and of another target than the inputs candidates."""
        return self.n_prototypes if self.target is None else nearest_for(self.n_prototypes)

    def sums(self, stage: str, objective: KernelMean | Coverage, *, of_target: bool, of_input: bool) -> SumsPass:
        """The pass over all rows of the target, of the inputs, or of what is both."""
        return SumsPass(
            stage=stage,
            encoding=self.encoding,
            objective=objective.for_rows(),
            most=self._n_best if of_input else 0,
            n_points=self.n_points if of_target else 0,
            dtype=self.dtype,
            counts=self.counts if of_input else self.target_counts,
            skip=self.job.skip,
        )

    def mean(self, sums: Float64 | None) -> KernelMean:
        """What results are judged by: the mean of all rows, by their sums; of the sample if rows came only once."""
        sample = self._sample
        with one_thread():
            if sample.is_whole:
                rows = _in_order(sample)
                return self.selector(self.kernel).objective_for(rows)
            if sums is None:
                return KernelMean(self.kernel, FixedMean.over(self.kernel, sample.rows, sample.seen))
            return KernelMean(self.kernel, calibrated(self.kernel, sample, sums, judging_for(self.n_prototypes)))

    def best(self, objective: KernelMean | Coverage, sums: Sums | None) -> Best:
        """The rows most like the target, under their numbers in the whole; none of inputs that cover themselves, which
        are compared with the sample only.
        """
        if sums is not None:
            return Best(self.numbering.numbers(sums.best.indices), sums.best.rows, sums.best.pull)
        rows, held = self.working(self.candidates.rows), self.candidates
        found, order = Best.none(rows), np.argsort(held.numbers)
        if self.job.options.covers and self.target is None:
            return found
        with one_thread():
            found.take(objective.means(rows)[order], held.numbers[order], rows[order], self._n_best)
        return found

    @cached_property
    def coverage(self) -> Coverage:
        """What results are judged by if prototypes are to cover the target: the sample of it."""
        found: Coverage = self.job.options.objective["objective"]
        return found.by(self.kernel, self._sample.rows, self.n_target, self.n_prototypes)

    def aside(self, records: Records | None) -> dict[str, Array]:
        """What stands beside the inputs, as arguments of a selector; by the columns of rows that may be chosen."""
        job, rows = self.job, np.zeros((0, len(self.encoding.names)), np.float32)
        if records is not None and job.options.id and not job.aside.is_empty:
            barred = records.where(job.aside.barred(records, job.options.id))
            rows = self.encoding.encode(typed(barred.table, self.encoding.layout)) if len(barred) else rows
        return job.aside.encoded(self.encoding, rows)

    def chosen(self, objective: KernelMean | Coverage, best: Best, aside: Mapping[str, Array]) -> Prototypes:
        """ProtoSwap's choice of rows that match or cover the target."""
        drawn = candidates_of(self.candidates)
        if self.target is not None:  # few rows of the inputs may be like it, and next to none of these in a sample
            drawn = SampledRows.joined([replace(drawn, rows=self.working(drawn.rows)), best.others(drawn)])
        return self.chosen_of(drawn, objective, best, aside)

    def chosen_of(
        self,
        drawn: SampledRows,
        objective: KernelMean | Coverage,
        best: Best,
        aside: Mapping[str, Array],
        quotas: Quotas | None = None,
    ) -> Prototypes:
        """Its choice of these rows, perhaps so many of each group."""
        selector, drawn = self.selector(self.kernel), replace(drawn, rows=self.working(drawn.rows))
        assert isinstance(selector, ProtoSwap)
        keep, exclude = (self.working(aside[name]) if aside else None for name in ("keep", "exclude"))
        return selector.choose_from(drawn, best, objective, self.n_rows, keep, exclude, quotas)

    def choosing(self, objective: KernelMean | Coverage) -> ChoosePass:
        """The pass of a method that judges rows one by one."""
        return ChoosePass(
            stage="choose",
            encoding=self.encoding,
            objective=objective,
            selector=self.job.options.method,
            stated=self.job.options.objective,
            n_prototypes=self.n_prototypes,
            seed=self.job.seed,
            like=self.working(self.candidates.rows[:1]),
            n_rows=self.n_rows,
            skip=self.job.skip,
        )

    def result(
        self,
        chosen: Prototypes,
        numbers: NDArray[np.int64],
        records: Records,
        judge: KernelMean | Coverage,
        groups: Grouped | None = None,
    ) -> Prototypes:
        """All about prototypes of these numbers and columns."""
        return result_of(
            Selected(
                job=self.job,
                encoding=self.encoding,
                n_prototypes=self.n_prototypes,
                n_rows=self.n_rows,
                n_target=self.n_target,
                beyond=self.beyond,
                skipped=self.skipped,
                result=replace(chosen, indices=numbers),
                judge=judge,
                records=records,
                represented=self.target_sample.rows,
                random=self.job.aside.allowed(self.encoding, self.candidates.rows)[: self.n_prototypes],
                shown=self.data_sample(),
                groups=groups,
            )
        )

    def data_sample(self) -> DataSample:
        """Rows to show beside prototypes."""
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
    """The plan that follows from all partitions, for ``n_prototypes`` or as many as the options ask for. If there is a
    target, the summaries are changed.
    """
    for names, found in ((job.names, inputs), ([file["name"] for file in job.target_files], target)):
        if found is not None:
            check_some(names, found.rows, found.skipped)
            check_drawn(names, found)
    numbering = Numbering.of(job.inputs, inputs.ends)
    seen, numbers, n_rows = inputs, numbering, inputs.rows
    samples = [_drawn(inputs, numbering)]
    survey = copy.deepcopy(inputs.survey)  # before it learns what the target is like
    if target is not None:
        seen, numbers = target, Numbering.of(job.targets, target.ends)
        inputs.learn(target, is_same=False)
        samples.append(_drawn(target, numbers))
    how = job.options
    encoding = inputs.survey.settle(how.scale, how.max_categories, samples, how.balance)
    check_image_shape(job, encoding)
    m = number_of_prototypes(job, n_rows) if n_prototypes is None else n_prototypes
    size = min(sample_size(job.options, len(encoding.names), n_rows), inputs.sample.size)
    candidates = _encoded(inputs, size, encoding, numbering)
    sample = candidates if target is None else _encoded(target, size, encoding, numbers)
    made = Plan(
        job=job,
        encoding=encoding,
        n_prototypes=m,
        n_rows=n_rows,
        n_target=seen.rows,
        beyond=[] if target is None else survey.beyond(encoding, target.survey, samples[1].rows),
        skipped=inputs.skipped,
        numbering=numbering,
        counts=inputs.counts,
        candidates=candidates,
        records=inputs.sample.records().under(numbering.numbers),
        target=None if target is None else sample,
        target_counts={} if target is None else target.counts,
        shown=seen.sample.light(min(MOST, len(sample.rows))).under(numbers.numbers),
    )
    check_sample(min(size, made.n_target), len(sample.rows))
    note_columns(job, encoding, samples[0].rows)
    return made


def _drawn(summary: Summary, numbering: Numbering) -> SampledRows:
    """The rows of a sample, raw."""
    assert summary.sample.rows is not None
    return summary.sample.rows.mapped(lambda rows: rows, numbering.numbers).held


def _encoded(summary: Summary, size: int, encoding: Encoding, numbering: Numbering) -> UniformSample:
    assert summary.sample.rows is not None
    drawn = summary.sample.rows.settled()
    if not drawn.is_whole:
        size = min(size, len(drawn.rows))  # of the rows that were drawn some are held out, however few they are
    return drawn.first(size).mapped(encoding.transform, numbering.numbers)
