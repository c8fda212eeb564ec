"""The state of a run over files: one value that can be stored, and the phases that carry it on."""

import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_raw, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, ProtosieveWarning, arg
from protosieve.io import Source
from protosieve.means import CalibratedMean
from protosieve.pipeline._blocks import FEWEST, Block, LeftOut, Position
from protosieve.pipeline._gallery import MOST, Gallery
from protosieve.pipeline._options import METHODS, Options
from protosieve.pipeline._tables import Records
from protosieve.preprocess import Encoding, Layout, Survey
from protosieve.preprocess._differences import FirstRows
from protosieve.sampling import Reservoir
from protosieve.selectors import StreamSelector
from protosieve.selectors._files import restored
from protosieve.selectors._stream import Saved, Standing

__all__ = ["Phase", "Run", "Surveying", "Weighing", "check_count", "check_files", "check_some", "phases_of"]

_HEAD = 10_000  # rows of standard input, to the end of their block, that settle the encoding and the kernel's width
_PER_PROTOTYPE = 4  # rows of a stream that are kept to be chosen from again, where memory has room
_MATRICES = 4  # of m x m numbers in float64 that a selector holds at a time, with its copy


@storable
@dataclass
class Weighing:
    """The members' exact means and how many rows are nearest to each, over all of the target."""

    similarity: Float64  # summed
    nearest: NDArray[np.int64]
    rows: int = 0

    def _check_form(self) -> None:
        require(self.similarity.ndim == 1 and self.similarity.shape == self.nearest.shape, "the means of members")
        require(are_finite(self.similarity) and are_counts(self.rows, *self.nearest.tolist()), "the means of members")


@storable
@dataclass(frozen=True)
class UnlikeHead:
    """How the first rows of a stream, which settled its encoding, differ from all of them."""

    rows: int
    differences: list[str]
    chosen_from: int | None  # rows of the sample that was chosen from again,
    why_not: str | None  # or why it was not


@storable
@dataclass
class Run:
    """How far a run has come, and all it knows.

    ``position`` is where the phase it is in goes on, ``rows`` how many that phase has used.
    """

    options: Options
    files: list[dict[str, Any]]  # what the inputs were like when it began
    target_files: list[dict[str, Any]]
    seed: int
    survey: Survey
    phase: int = 0
    begun: bool = False  # whether that phase has
    position: Position = field(default_factory=Position)
    rows: int = 0
    n_rows: int = 0  # of the input, usable
    n_target: int = 0  # of the target, usable; of the input where there is none
    left_out: LeftOut = field(default_factory=LeftOut)
    sample: Reservoir | None = None  # of the target, as it was read
    encoding: Encoding | None = None
    target: Array | None = None  # the sample as rows
    saved: Saved | None = None  # the selector; brought up to date by `storable`
    records: Records = field(default_factory=Records)
    random: Reservoir | None = None  # as many random rows as there may be prototypes, to compare with
    weighing: Weighing | None = None
    gallery: Gallery | None = None  # rows of the target, or of the input where there is none, to look at
    head: FirstRows | None = None  # of a stream: the rows that settled the encoding
    unlike: UnlikeHead | None = None
    command: str | None = None  # the command line that began it, if one did

    def __post_init__(self) -> None:
        self._selector = None if self.saved is None else restored(self.saved)

    def _check_form(self) -> None:
        """That its parts are of one run: an encoding follows from the survey, and tells how wide all rows are."""
        require(are_counts(self.seed, self.phase, self.rows, self.n_rows, self.n_target), "how far a run has come")
        check_files([*self.files, *self.target_files])
        require(self.sample is None or are_raw(self.sample.rows, self.layout.width), "a sample of the target")
        if self.encoding is None:
            require(self.target is None and self.saved is None, "rows were chosen before their columns were known")
            return
        settled = self.survey.settle(self.options.scale, self.options.max_categories)
        require(self.encoding.as_dict() == settled.as_dict(), "an encoding is not what the survey says")
        require(self.encoding.layout == self.layout, "an encoding of other columns")
        width = len(self.encoding.names)
        require(self.target is None or (are_rows(self.target, width) and len(self.target) > 0), "the target's rows")
        require(self.random is None or are_rows(self.random.rows, width), "random rows")
        require((self.saved is None) == (self.random is None), "a selector, and random rows to compare with")
        if self.saved is not None:
            require(self.saved.n_features == width, "a selector of other rows")
            require(np.isin(self.selector.held_indices_, self.records.places[:, 0]).all(), "columns of rows are lost")
            require(self.selector.n_samples_seen_ <= self.n_rows, "a selector has seen more rows than there are")
            require((self.records.places[:, 2] < len(self.files)).all(), "rows are of no file")

    @property
    def follows_stream(self) -> bool:
        """Whether the target is what has come through standard input so far; the gallery then holds raw rows."""
        return self.options.from_stdin and not self.options.target

    @property
    def layout(self) -> Layout:
        return self.survey.layout

    @property
    def selector(self) -> StreamSelector[Any, Any]:
        assert self._selector is not None
        return self._selector

    @property
    def encoded(self) -> Encoding:
        assert self.encoding is not None
        return self.encoding

    def storable(self) -> "Run":
        """The same, as `protosieve._state` can write it."""
        values = {name: value for name, value in vars(self).items() if name != "_selector"}
        values["begun"] = self.begun and self.rows > 0  # before the first block a phase can begin again
        values["saved"] = None if self.random is None else self.selector._saved()
        values["records"] = self.records.pack()
        values["gallery"] = None if self.gallery is None else self.gallery.pack()
        packed = object.__new__(Run)
        vars(packed).update(values)
        return packed

    def standing(self) -> Standing | None:
        return None if self._selector is None or self.random is None else self._selector.standing_

    def rng(self, purpose: int) -> np.random.Generator:
        """A generator for one purpose, of the run's seed."""
        return np.random.default_rng([self.seed, purpose])

    def settle(self) -> None:
        """All that will be learnt of the columns is known."""
        self.encoding = self.survey.settle(self.options.scale, self.options.max_categories)
        self._check_image_shape()

    def _check_image_shape(self) -> None:
        """What cannot be shown in the end is told before rows are chosen."""
        if self.options.image_shape is None:
            return
        size = math.prod(int(side) for side in self.options.image_shape.split("x"))
        widths = [column.width for column in self.layout.items]
        if size not in (len(self.encoded.names), sum(widths), *widths):
            raise ParameterError(
                f"{arg('image_shape', self.options.image_shape)} has {size:,} pixels, and a row has "
                f"{sum(widths):,} numbers; give the shape of the rows, or leave it out"
            )

    def take_survey(self, block: Block) -> None:
        """Of blocks with all columns, which are cut short where rows are heavy or late: the bits follow the cuts."""
        for start in range(0, len(block), FEWEST):
            self.survey.update(block.rows[start : start + FEWEST])

    def choose_selector(self, kernel: Any, mean: Any) -> None:
        self._selector = METHODS[self.options.method](self._count(), kernel=kernel, mean=mean, random_state=self.seed)

    def _count(self) -> int:
        """Prototypes to look for: no more than there are rows, where that is known, and than memory has room for."""
        m = self.options.count(self.n_rows)
        if self.n_rows and not self.options.from_stdin and m > self.n_rows:
            warnings.warn(
                f"{m:,} prototypes were asked for, and there are {self.n_rows:,} rows: at most these are kept",
                ProtosieveWarning,
                stacklevel=2,
            )
            m = self.n_rows
        needed, free = _MATRICES * 8 * m**2 / 1e9, _free_memory() / 1e9
        if needed > free:
            raise ParameterError(
                f"{arg('n_prototypes', m)} needs about {needed:,.0f} GB for the similarities between prototypes, "
                f"and {free:,.0f} GB are free; ask for fewer"
            )
        return m

    def feed(self, block: Block, rows: Array, target: Array | None) -> None:
        """The next rows of the input: to the selector, the records and the random rows; without a target to look at."""
        self.selector.partial_fit(rows, target=target)
        if self.random is None:
            self.random = Reservoir.empty(self.selector.n_prototypes, rows, self.rng(2))
            most = _PER_PROTOTYPE * self.selector.n_prototypes if self.follows_stream else 0
            self.gallery = self.gallery if self.options.target else Gallery.empty(self.seed, most=max(MOST, most))
        if self.gallery is not None and not self.options.target:
            self.gallery.take(block.numbers, block.rows, block.tables)
        first = self.random.seen
        self.random.observe(rows)
        self.keep_records(block, first)

    def keep_records(self, block: Block, first: int) -> None:
        """The users' own columns of rows that may be chosen, of a block whose first row has this number."""
        self.records.follow(self.selector.held_indices_, first, block.numbers, block.sources, block.tables)


class Phase(ABC):
    """One pass over some of the files."""

    label: ClassVar[str]

    def __init__(self, sources: Sequence[Source], columns: Sequence[str] | None = None, is_first: bool = False) -> None:
        self.sources = sources
        self.columns = columns  # to be read; None for all
        self.is_first = is_first  # of the passes over these files: rows that cannot be used are counted once

    def grows(self, run: Run) -> bool:
        """Whether categories that were not seen before are new ones."""
        return False

    def needs_whole_blocks(self, run: Run) -> bool:
        """Whether rows of a slow pipe must wait for a full block, because where it ends matters."""
        return self.grows(run)

    def convert(self, run: Run, raw: Array) -> Array:
        """What `take` wants of the numbers that were read; called ahead of it, in another thread."""
        return run.encoded.transform(raw)

    def begin(self, run: Run) -> None:  # noqa: B027  (most have nothing to do)
        """Before the first block; not called where a stored run goes on."""

    @abstractmethod
    def take(self, run: Run, block: Block) -> None:
        """The next block. ``run.rows`` is the number of its first row among the usable ones of this phase."""

    def end(self, run: Run) -> None:  # noqa: B027  (most have nothing to do)
        """After the last."""

    def check_some(self, run: Run) -> None:
        """`InputError` where none of the rows of these files could be used."""
        if self.is_first:
            check_some(_names(self.sources), run.rows, run.left_out)


class Surveying(Phase):
    """Pass 1: statistics, categories, the number of rows, and a sample of the target.

    A target of its own is read but here, so with all columns: some of its rows are kept to be looked at.
    """

    label = "survey"

    def __init__(self, sources: Sequence[Source], layout: Layout, is_input: bool, is_target: bool) -> None:
        super().__init__(sources, layout.columns if is_input else None, is_first=True)
        self._is_input, self._is_target = is_input, is_target

    def grows(self, run: Run) -> bool:
        return True

    def convert(self, run: Run, raw: Array) -> Array:
        return raw

    def take(self, run: Run, block: Block) -> None:
        if self._is_input:
            run.survey.update(block.rows)
            run.n_rows += len(block)
        else:
            run.take_survey(block)
        if self._is_target:
            self._sample(run, block)

    def _sample(self, run: Run, block: Block) -> None:
        run.n_target += len(block)
        if run.sample is None:
            run.sample = Reservoir.empty(run.options.sample, block.rows, run.rng(1))
            run.gallery = None if self._is_input else Gallery.empty(run.seed)
        run.sample.observe(block.rows)
        if run.gallery is not None:
            run.gallery.take(block.numbers, block.rows, block.tables)

    def end(self, run: Run) -> None:
        if not self._is_target:
            return
        assert run.sample is not None
        run.settle()
        run.target = run.encoded.transform(run.sample.sample)
        run.sample = None
        if run.gallery is not None:
            run.gallery.convert(run.encoded.transform)


class _Selecting(Phase):
    """Pass 2: selection, against the sample of the target. From standard input it is the only pass."""

    label = "select"

    def begin(self, run: Run) -> None:
        assert run.target is not None
        is_sample = run.n_target > len(run.target)
        run.choose_selector(run.options.kernel, CalibratedMean(run.options.sample) if is_sample else None)

    def take(self, run: Run, block: Block) -> None:
        run.n_rows += len(block) if self.is_first else 0
        run.feed(block, block.rows, None if run.rows else run.target)

    def end(self, run: Run) -> None:
        check_count(_names(self.sources), run.rows, run.n_rows)


class _Streaming(Phase):
    """Standard input, which comes once: the first rows settle the encoding, then the target is what has been seen.

    The survey goes on to the end: what all rows say of the columns may differ from what the first do (`by_all_rows`).
    """

    label = "select"

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources, is_first=True)
        self._head: list[Block] = []

    def grows(self, run: Run) -> bool:
        return True

    def needs_whole_blocks(self, run: Run) -> bool:
        return run.encoding is None

    def convert(self, run: Run, raw: Array) -> Array:
        return raw

    def take(self, run: Run, block: Block) -> None:
        run.n_rows = run.n_target = run.n_rows + len(block)
        run.take_survey(block)
        if run.encoding is not None:
            run.feed(block, run.encoding.transform(block.rows), None)
            return
        self._head.append(block)
        if run.n_rows >= _HEAD:
            self._settle(run)

    def end(self, run: Run) -> None:
        if run.encoding is None:
            self._settle(run)

    def _settle(self, run: Run) -> None:
        run.settle()
        run.head = FirstRows.of(run.survey, np.concatenate([block.rows for block in self._head]), run.rng(5))
        blocks, self._head = self._head, []
        encoded = [run.encoded.transform(block.rows) for block in blocks]
        kernel = run.options.kernel.resolve(np.concatenate(encoded), run.rng(3))
        run.choose_selector(kernel, CalibratedMean(run.options.sample))
        for block, rows in zip(blocks, encoded, strict=True):
            run.feed(block, rows, None)


class _Weighing(Phase):
    """One more pass over the target, for the members alone: their exact means."""

    label = "weigh"

    def begin(self, run: Run) -> None:
        kept = len(run.selector.result_)
        run.weighing = Weighing(np.zeros(kept), np.zeros(kept, np.int64))

    def take(self, run: Run, block: Block) -> None:
        assert run.weighing is not None
        rows, weighing = block.rows, run.weighing
        weighing.similarity += run.selector.transform(rows).sum(axis=0, dtype=np.float64)
        weighing.nearest += np.bincount(run.selector.predict(rows), minlength=len(weighing.nearest))
        weighing.rows += len(rows)

    def end(self, run: Run) -> None:
        check_count(_names(self.sources), run.rows, run.n_target)


def phases_of(options: Options, layout: Layout, inputs: Sequence[Source], target: Sequence[Source]) -> list[Phase]:
    """The passes a run makes over its files."""
    if options.from_stdin:
        if not target:
            return [_Streaming(inputs)]
        return [Surveying(target, layout, is_input=False, is_target=True), _Selecting(inputs, is_first=True)]
    phases: list[Phase] = [Surveying(inputs, layout, is_input=True, is_target=not target)]
    if target:
        phases.append(Surveying(target, layout, is_input=False, is_target=True))
    phases.append(_Selecting(inputs))
    if options.exact_weights:
        phases.append(_Weighing(target or inputs, layout.columns))
    return phases


def _free_memory() -> float:
    """In bytes; more than anybody has where the system does not tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def check_count(files: Sequence[str], found: int, before: int) -> None:
    """Files that somebody still writes to would be surveyed in part and weighed as another whole."""
    if found != before:
        raise InputError(
            f"{_named(files)}: had {before:,} usable rows when read first and {found:,} now, so it has changed "
            "on the way; run again when it is complete"
        )


def check_files(files: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ValueError` where something that was read does not say what files were like."""
    for file in files:
        require(isinstance(file.get("name"), str), "a file without a name")
        require(all(type(value) in (str, int, type(None)) for value in file.values()), "what a file was like")


def check_some(files: Sequence[str], rows: int, left_out: LeftOut) -> None:
    """`InputError` where no row could be used."""
    if rows:
        return
    if left_out.count:
        raise InputError(f"{_named(files)}: no row can be used; the first problem is {left_out.first[0]}")
    raise InputError(f"{_named(files)}: there are no rows; give files that have some")


def _names(sources: Sequence[Source]) -> list[str]:
    return [source.name for source in sources]


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{len(files)} files"
