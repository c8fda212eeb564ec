"""The one pass over standard input: its first rows settle the encoding, and all rows count as they go by."""

import copy
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from protosieve._typing import Array
from protosieve.errors import InputError, ProtosieveWarning, arg, warn
from protosieve.kernels import Kernel
from protosieve.means import CalibratedMean
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes._blocks import FEWEST, LeftOut, RowBlock
from protosieve.passes._checks import check_image_shape, check_some, note_columns, number_of_prototypes
from protosieve.passes._choose import Choice
from protosieve.passes._job import Job
from protosieve.passes._options import METHODS
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value
from protosieve.passes._plan import Plan
from protosieve.passes._result import Selected, UnlikeHead, by_sample, result_of
from protosieve.passes._row_sample import MOST, RowSample
from protosieve.passes._tables import Records, typed
from protosieve.preprocess import Encoding, FirstRows, Layout, Moments, Survey, ratio_differs
from protosieve.result import DataSample, Prototypes
from protosieve.sampling import SampledRows
from protosieve.selectors import Standing, StreamSelector

_HEAD = 10_000  # rows of standard input, to the end of their block, that settle the encoding and the kernel's width
_PER_PROTOTYPE = 4  # rows of a stream that are kept to be chosen from again, where memory has room
_ENOUGH = 2  # sampled rows per prototype, to choose from
_HEAVY = 1 << 30  # bytes of columns
_FEW = "they are few"
_LARGE = "rows are too large to keep enough of them and choose again"


@dataclass(eq=False)
class Streamed(Value):
    """What is known of the rows so far, with a selector that follows them. Without a target it represents these rows.

    The survey goes on to the end: if all rows differ from the first, prototypes are chosen again, from a sample.
    """

    job: Job
    target: Plan | None
    n_prototypes: int
    survey: Survey
    sample: RowSample
    skipped: LeftOut = field(default_factory=LeftOut)
    waiting: list[RowBlock] = field(default_factory=list)  # the rows that settle the encoding
    head: FirstRows | None = None
    encoding: Encoding | None = None
    choice: Choice | None = None
    is_noted: bool = False  # that its rows are heavy

    @property
    def standing(self) -> Standing | None:
        return None if self.choice is None or not self.choice.rows else self.choice.standing

    def take(self, block: RowBlock) -> None:
        """The next rows."""
        if self.target is None:
            self.survey.update(block.rows, Moments.of_strips(block.rows, FEWEST))
        if self.encoding is not None:
            self._feed(block)
            return
        self.waiting.append(block)
        if self.rows >= _HEAD:
            self.settle()

    def settle(self) -> None:
        """All that the first rows tell is known: how rows are encoded, and what makes two of them alike."""
        blocks, self.waiting = self.waiting, []
        raw, numbers = (
            np.concatenate(parts) for parts in zip(*((one.rows, one.numbers) for one in blocks), strict=True)
        )
        self.encoding = self._encoding(SampledRows(raw, numbers, np.zeros(len(raw))))
        check_image_shape(self.job, self.encoding)
        note_columns(self.job, self.encoding, raw)
        self.head = FirstRows.of(self.survey, raw, np.random.default_rng([self.job.seed, 5]))
        kernel = self._kernel(self.encoding.transform(raw))
        mean = None if self.job.options.covers else CalibratedMean(self.job.options.sample)
        self.choice = Choice(self.selector(kernel, mean))
        self._begin_beside(self.choice, self.encoding)
        for block in blocks:
            self._feed(block)

    def _begin_beside(self, choice: Choice, encoding: Encoding) -> None:
        """Rows that stand beside the stream come before its first: they are told apart by values, ids or not."""
        aside = self.aside(encoding)
        if aside:
            choice.selector.partial_fit(aside["keep"][:0], **aside)

    def aside(self, encoding: Encoding) -> dict[str, Array]:
        """What stands beside the stream, as arguments of a selector."""
        return self.job.aside.encoded(encoding, np.zeros((0, len(encoding.names)), np.float32))

    def _encoding(self, sample: SampledRows) -> Encoding:
        options = self.job.options
        return self.survey.settle(options.scale, options.max_categories, [sample], options.balance)

    def _feed(self, block: RowBlock) -> None:
        assert self.choice is not None
        assert self.encoding is not None
        self.choice.rows += len(block)
        self.choice.take(block, self.encoding.transform(block.rows))
        self.sample.take(block)
        self._note_heavy()

    def _note_heavy(self) -> None:
        """A note, once, if the users' own columns of rows that may be selected take much memory."""
        assert self.choice is not None
        held = self.choice.held.records
        if held is None or self.is_noted or held.table.nbytes < _HEAVY:
            return
        self.is_noted = True
        warn(
            f"the columns of {len(held):,} rows that may be selected take {held.table.nbytes / 1e9:.1f} GB; drop large "
            f"columns before, give a smaller {arg('sample')}, or store the rows in a file, of which fewer are kept"
        )

    def _kernel(self, rows: Array) -> Kernel:
        return self.job.options.kernel.resolve(rows, np.random.default_rng([self.job.seed, 3]))

    def selector(self, kernel: Any, mean: Any) -> StreamSelector[Any, Any]:
        """Of no rows yet."""
        options, seed = self.job.options, self.job.seed
        fades = {} if options.half_life is None else {"half_life": options.half_life}
        return METHODS[options.method](
            self.n_prototypes, kernel=kernel, mean=mean, random_state=seed, **options.objective, **fades
        )

    # -- what there is so far

    def look(self) -> Prototypes | None:
        """The result if no more rows came, which changes nothing; None before there is one."""
        if self.choice is None or self.choice.selector.n_samples_seen_ < self.choice.selector.block_size:
            return None
        with warnings.catch_warnings(), suppress(InputError):
            warnings.simplefilter("ignore", ProtosieveWarning)  # of a choice that is not the last
            return self.result()
        return None

    def result(self) -> Prototypes:
        """That of all rows so far; if the first were unlike the rest, chosen again from a sample of all."""
        assert self.choice is not None
        assert self.encoding is not None
        if self.head is not None:
            new = self.head.texts(self.survey.layout, self._sampled())
            if new and self._are_enough(len(self.sample.shown.numbers)):
                words = [one.words for one in new]
                found = UnlikeHead(self.head.n_rows, words, len(self.sample.shown.numbers), None)
                return self._with_texts_learnt_again()._chosen_again(found)
        fades = self.job.options.half_life is not None  # such a stream is to differ from its first rows
        unlike, again = (None, None) if self.head is None or fades else self._unlike(self.head, self.encoding)
        if again is not None:
            return self._chosen_again(unlike)
        selector = self.choice.selector
        judge = selector.known_comparison()
        return self._finished(selector.result_, self.choice.records(), self.encoding, judge, unlike)

    def _sampled(self) -> Array:
        assert self.sample.rows is not None
        return self.sample.rows.settled().rows

    def _unlike(self, head: FirstRows, encoding: Encoding) -> tuple[UnlikeHead | None, Encoding | None]:
        """How the first rows differ from all, and by what to encode rows if they are to be chosen again."""
        assert self.sample.rows is not None
        whole = self._encoding(self.sample.rows.settled().held)
        raw = self._sampled()[: len(self.sample.shown.numbers)]
        found = head.differences(encoding, self.survey, whole, raw)
        words, matters = [one.words for one in found], any(one.matters for one in found)
        if not matters and self._width_differs(encoding.transform(raw)):
            words, matters = [*words, "distances between rows are others"], True
        if not words:
            return None, None
        if not (matters and self._are_enough(len(raw))):
            return UnlikeHead(head.n_rows, words, None, _LARGE if matters else _FEW), None
        return UnlikeHead(head.n_rows, words, len(raw), None), whole

    def _are_enough(self, sampled: int) -> bool:
        """Whether so many rows are enough to choose from again."""
        return sampled >= min(_ENOUGH * self.n_prototypes, self.rows)

    def _with_texts_learnt_again(self) -> "Streamed":
        """The same, as if the sampled rows whose columns are kept were the first: texts are what all of them tell."""
        assert self.sample.rows is not None
        drawn, layout = self.sample.rows.settled(), copy.deepcopy(self.job.layout)
        numbers = drawn.numbers[np.isin(drawn.numbers, self.sample.shown.numbers)]
        table = self.sample.records().of(numbers).table
        raw, _ = layout.raw(table, grow=True)
        survey = Survey.of(layout)
        survey.update(raw, Moments.of_strips(raw, FEWEST))
        rows = replace(drawn, size=len(raw), held=SampledRows(raw, numbers, np.zeros(len(raw))))
        twin = replace(self, survey=survey, sample=replace(self.sample, rows=rows))
        twin.rows = self.rows
        return twin

    def _width_differs(self, rows: Array) -> bool:
        """Of the kernel, were it learnt from all rows, encoded as they are."""
        assert self.choice is not None
        kernels = self.choice.selector.kernel, self._kernel(rows)
        before, after = (getattr(kernel, "width", None) for kernel in kernels)
        return isinstance(before, float) and isinstance(after, float) and ratio_differs(before, after)

    def _chosen_again(self, unlike: UnlikeHead | None) -> Prototypes:
        """By what all rows say, from the uniform sample of them. O(sample (m d + m^2))."""
        assert self.sample.rows is not None
        sample, records = self.sample.rows.settled(), self.sample.records()
        encoding = self._encoding(sample.held)
        numbers = sample.numbers[: len(records)]  # in the order of hashes: a stream may be sorted
        rows = encoding.transform(sample.rows[: len(numbers)])
        chosen, judge = by_sample(self.selector(self._kernel(rows), None), rows, self.rows, self.aside(encoding))
        new = chosen.indices[chosen.is_new]
        return self._finished(chosen, records.of(numbers[new]), encoding, judge, unlike)

    def _finished(
        self,
        chosen: Prototypes,
        records: Records,
        encoding: Encoding,
        judge: KernelMean | Coverage,
        unlike: UnlikeHead | None,
    ) -> Prototypes:
        assert self.sample.rows is not None
        sampled, target = encoding.transform(self._sampled()), self.target
        records = self.job.aside.beside(records, chosen.indices, len(self.job.files))
        return result_of(
            Selected(
                job=self.job,
                encoding=encoding,
                n_prototypes=self.n_prototypes,
                n_rows=self.rows,
                n_target=self.rows if target is None else target.n_rows,
                skipped=self.skipped if target is None else target.skipped.plus(self.skipped),
                result=replace(chosen, indices=records.numbers),
                judge=judge,
                records=records,
                represented=sampled if target is None else target.candidates.rows,
                random=self.job.aside.allowed(encoding, encoding.transform(self.sample.rows.leading(self.sample.size)))[
                    : self.n_prototypes
                ],
                shown=self._shown(encoding) if target is None else replace(target.data_sample(), is_target=True),
                unlike=unlike,
            )
        )

    def _shown(self, encoding: Encoding) -> DataSample:
        assert self.sample.rows is not None
        light, sample = self.sample.light(), self.sample.rows.settled()
        rows = encoding.transform(sample.rows_of(light.numbers))
        return DataSample(light.numbers, rows, typed(light.table, encoding.layout), self.rows, False)


@dataclass(frozen=True, eq=False)
class StreamPass(Pass[Streamed]):
    """Standard input: survey, sample and selection in one pass, because its rows come once.

    ``target`` is the plan of a target with files of its own, and ``objective`` what rows are judged by then.
    """

    label: ClassVar[str] = "select"

    job: Job
    skip: bool
    target: Plan | None = None
    objective: KernelMean | Coverage | None = None
    stage: str = "stream"

    @property
    def grows(self) -> bool:
        return self.target is None

    def needs_full_blocks(self, value: Streamed) -> bool:
        return value.encoding is None

    def begin(self, partition: Partition) -> Streamed:
        m, target = number_of_prototypes(self.job, None), self.target
        sample = RowSample.empty(self.job.seed, max(MOST, _PER_PROTOTYPE * m), half_life=self.job.options.half_life)
        value = Streamed(self.job, target, m, Survey.of(copy.deepcopy(self.job.layout)), sample)
        if target is not None:
            value.encoding = target.encoding
            value.choice = Choice(value.selector(target.kernel, None))
            like = target.working(target.candidates.rows[:1])
            value.choice.selector.begin_by(self.objective, like, **value.aside(target.encoding))
        return value

    def layout(self, value: Streamed) -> Layout:
        return value.survey.layout if self.target is None else self.target.encoding.layout

    def take(self, value: Streamed, block: RowBlock, seen: None, partition: Partition) -> None:
        value.take(block)

    def left_out(self, value: Streamed, block: RowBlock) -> None:
        value.skipped.merge(block.left_out)

    def end(self, value: Streamed, partition: Partition) -> None:
        check_some(partition.names, value.rows, value.skipped)
        if value.encoding is None:
            value.settle()
