"""Standard input, which comes once: its first rows settle the encoding, and all of them count as they go by."""

import warnings
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from protosieve._prototypes import DataSample, Prototypes
from protosieve._typing import Array
from protosieve.errors import InputError, ProtosieveWarning
from protosieve.io import Source
from protosieve.kernels import Kernel
from protosieve.means import CalibratedMean
from protosieve.objectives import KernelMean
from protosieve.passes import (
    FEWEST,
    METHODS,
    MOST,
    Block,
    Choice,
    Found,
    Job,
    LeftOut,
    Plan,
    Position,
    Records,
    RowSample,
    UnlikeHead,
    ahead,
    by_sample,
    check_image_shape,
    finish,
    number_of_prototypes,
    patience,
    read_as_they_come,
    settle,
    typed,
)
from protosieve.preprocess import Encoding, FirstRows, Survey, ratio_differs
from protosieve.run._drive import Driver
from protosieve.run._progress import Progress
from protosieve.run._signals import Stop
from protosieve.selectors import StreamSelector

__all__ = ["Stream"]

_HEAD = 10_000  # rows of standard input, to the end of their block, that settle the encoding and the kernel's width
_PER_PROTOTYPE = 4  # rows of a stream that are kept to be chosen from again, where memory has room
_ENOUGH = 2  # sampled rows per prototype, to choose from
_FEW = "they are few"
_LARGE = "rows are too large to keep enough of them and choose again"


class Stream:
    """A run over standard input. Without a target it represents what has been seen so far.

    The survey goes on to the end: what all rows say of the columns may differ from what the first do, and rows are then
    chosen again, from a sample.
    """

    def __init__(self, job: Job, target: Plan | None, objective: Any) -> None:
        self._job, self._target = job, target
        self._n_prototypes = number_of_prototypes(job, None)
        self._survey, self._skipped, self._rows = Survey.of(job.layout), LeftOut(), 0
        self._sample = RowSample.empty(job.seed, max(MOST, _PER_PROTOTYPE * self._n_prototypes))
        self._waiting: list[Block] = []
        self._head: FirstRows | None = None
        self._encoding: Encoding | None = None
        self._choice: Choice | None = None
        if target is not None:
            self._encoding = target.encoding
            selector = self._selector(target.kernel, None)
            selector.begin_by(objective, target.working(target.candidates.rows[:1]))
            self._choice = Choice.by(selector)

    @classmethod
    def begin(cls, job: Job, driver: Driver) -> "Stream":
        """Before the first row: a target is read, and summed up where it can be read again."""
        if not job.targets:
            return cls(job, None, None)
        alone = replace(job, inputs=job.targets, targets=[], files=job.target_files)
        m = number_of_prototypes(job, None)
        plan = settle(alone, driver.gather(job.survey(of_target=True), job.targets), n_prototypes=m)
        sums = None
        if not (plan.candidates.is_whole or any(s.comes_once for one in job.targets for s in one.stretches)):
            work = plan.sums("target-sums", plan.estimate, of_target=True, of_input=False)
            sums = driver.gather(replace(work, counts=plan.counts), job.targets).sums
        return cls(job, plan, plan.mean(sums))

    def read(self, source: Source, progress: Progress, stop: Stop) -> None:
        """All rows there are."""
        progress.begin("select", self._job.inputs)
        with closing(self._blocks(source)) as blocks:
            while True:
                with stop.at_once():
                    block = next(blocks, _END)
                if block is _END:
                    break
                if block is not None:
                    self._take(block)
                standing = None if self._choice is None or not self._choice.rows else self._choice.selector.standing_
                read = None if block is None else block.bytes_read
                progress.at(self._job.inputs[0], self._rows, read, standing)
        if not self._rows:
            why = f"no row can be used; the first problem is {self._skipped.first[0]}" if self._skipped.count else None
            raise InputError(f"{source.name}: {why or 'there are no rows; give files that have some'}")
        if self._encoding is None:
            self._settle()

    def _blocks(self, source: Source) -> Generator[Any, None, None]:
        layout = self._job.layout if self._target is None else self._target.encoding.layout
        grows = self._target is None
        blocks = read_as_they_come(
            [source], layout, None, Position(), self._job.skip,
            lambda: grows, lambda raw: raw, lambda: self._encoding is None,
        )  # fmt: skip
        return blocks if grows and layout.has_categories else ahead(blocks, depth=1, patience=patience([source]))

    def _take(self, block: Block) -> None:
        self._skipped.merge(block.left_out)
        if not len(block):
            return
        self._rows += len(block)
        if self._target is None:
            for start in range(0, len(block), FEWEST):
                self._survey.update(block.rows[start : start + FEWEST])
        if self._encoding is None:
            self._waiting.append(block)
            if self._rows >= _HEAD:
                self._settle()
            return
        self._feed(block)

    def _settle(self) -> None:
        """All that the head tells is known: how rows are encoded, and what makes two of them alike."""
        self._encoding = self._survey.settle(self._job.options.scale, self._job.options.max_categories)
        check_image_shape(self._job, self._encoding)
        blocks, self._waiting = self._waiting, []
        raw = np.concatenate([block.rows for block in blocks])
        self._head = FirstRows.of(self._survey, raw, self._rng(5))
        kernel = self._job.options.kernel.resolve(self._encoding.transform(raw), self._rng(3))
        self._choice = Choice.by(self._selector(kernel, CalibratedMean(self._job.options.sample)))
        for block in blocks:
            self._feed(block)

    def _feed(self, block: Block) -> None:
        assert self._choice is not None
        assert self._encoding is not None
        self._choice.rows += len(block)
        self._choice.take(block, self._encoding.transform(block.rows))
        self._sample.take(block)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._job.seed, purpose])

    def _selector(self, kernel: Any, mean: Any) -> StreamSelector[Any, Any]:
        method = METHODS[self._job.options.method]
        return method(self._n_prototypes, kernel=kernel, mean=mean, random_state=self._job.seed)

    # -- what there is so far

    def look(self) -> Prototypes | None:
        """The result if no more rows came, which changes nothing; None before there is one."""
        if self._choice is None or self._choice.selector.n_samples_seen_ < self._choice.selector.block_size:
            return None
        with warnings.catch_warnings(), suppress(InputError):
            warnings.simplefilter("ignore", ProtosieveWarning)  # of a choice that is not the last
            return self.result()
        return None

    def result(self) -> Prototypes:
        """That of all rows so far; where the first were unlike the rest, chosen anew from a sample of all."""
        assert self._choice is not None
        assert self._encoding is not None
        unlike, again = self._unlike_head() if self._head is not None else (None, None)
        if again is not None:
            return self._chosen_again(unlike, again)
        chosen, records = self._choice.selector.result_, self._choice.records()
        return self._finished(chosen, records, self._encoding, self._choice.selector.known_mean(), unlike)

    def _unlike_head(self) -> tuple[UnlikeHead | None, Encoding | None]:
        """How the first rows differ from all, and by what to encode rows where they are to be chosen again."""
        assert self._head is not None
        assert self._encoding is not None
        assert self._sample.rows is not None
        whole = self._survey.settle(self._job.options.scale, self._job.options.max_categories)
        raw = self._sample.rows.settled().rows[: len(self._sample.shown.numbers)]
        found = self._head.differences(self._encoding, self._survey, whole, raw)
        words, matters = [one.words for one in found], any(one.matters for one in found)
        if not matters and self._width_differs(self._encoding.transform(raw)):
            words, matters = [*words, "distances between rows are others"], True
        if not words:
            return None, None
        if not (matters and len(raw) >= min(_ENOUGH * self._n_prototypes, self._rows)):
            return UnlikeHead(self._head.n_rows, words, None, _LARGE if matters else _FEW), None
        return UnlikeHead(self._head.n_rows, words, len(raw), None), whole

    def _width_differs(self, rows: Array) -> bool:
        """Of the kernel, were it learnt from all rows, encoded as they are."""
        assert self._choice is not None
        kernels = self._choice.selector.kernel, self._kernel(rows)
        before, after = (getattr(kernel, "width", None) for kernel in kernels)
        return isinstance(before, float) and isinstance(after, float) and ratio_differs(before, after)

    def _kernel(self, rows: Array) -> Kernel:
        return self._job.options.kernel.resolve(rows, self._rng(3))

    def _chosen_again(self, unlike: UnlikeHead | None, encoding: Encoding) -> Prototypes:
        """By what all rows say, from the uniform sample of them. O(sample (m d + m^2))."""
        assert self._sample.rows is not None
        sample, records = self._sample.rows.settled(), self._sample.records()
        numbers = sample.numbers[: len(records.numbers)]  # in the order of hashes: a stream may be sorted
        rows = encoding.transform(sample.rows[: len(numbers)])
        selector = self._selector(self._kernel(rows), None).fit(rows)
        chosen, judge = by_sample(selector, rows, self._rows)
        return self._finished(chosen, records.of(numbers[chosen.indices]), encoding, judge, unlike)

    def _finished(
        self, chosen: Prototypes, records: Records, encoding: Encoding, judge: KernelMean, unlike: UnlikeHead | None
    ) -> Prototypes:
        assert self._sample.rows is not None
        sampled = encoding.transform(self._sample.rows.settled().rows)
        target = self._target
        return finish(
            Found(
                job=self._job,
                encoding=encoding,
                n_prototypes=self._n_prototypes,
                n_rows=self._rows,
                n_target=self._rows if target is None else target.n_rows,
                skipped=self._skipped if target is None else target.skipped.plus(self._skipped),
                result=replace(chosen, indices=records.numbers),
                judge=judge,
                records=records,
                represented=sampled if target is None else target.candidates.rows,
                random=sampled[: self._n_prototypes],
                shown=self._shown(encoding) if target is None else replace(target.data_sample(), is_target=True),
                unlike=unlike,
            )
        )

    def _shown(self, encoding: Encoding) -> DataSample:
        assert self._sample.rows is not None
        light = self._sample.light()
        rows = encoding.transform(self._sample.rows.settled().rows_of(light.numbers))
        return DataSample(light.numbers, rows, typed(light.table, encoding.layout), self._rows, False)


_END: Any = object()
