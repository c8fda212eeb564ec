"""`select`: from files to prototypes."""

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from protosieve._prototypes import Prototypes
from protosieve._typing import Array
from protosieve.errors import InputError, OutputError, ParameterError
from protosieve.io import Source, check_output, find_sources, write_table
from protosieve.kernels import Gaussian, Kernel
from protosieve.pipeline._ahead import ahead
from protosieve.pipeline._bar import bar
from protosieve.pipeline._blocks import Block, Position, patience, read_blocks
from protosieve.pipeline._checkpoint import Checkpoint, take_up
from protosieve.pipeline._finish import finish
from protosieve.pipeline._fresh import fresh
from protosieve.pipeline._options import Options, kernel_of, names, shape_text
from protosieve.pipeline._progress import Tick, Watcher
from protosieve.pipeline._run import Phase, Run, Surveying, phases_of
from protosieve.pipeline._signals import Stop, Stopped, stops
from protosieve.pipeline._watch import Onlookers, report_place, served
from protosieve.preprocess import Encoding

__all__ = ["Surveyed", "select", "survey"]


def select(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    n_prototypes: int | str,
    *,
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    method: str = "swap",
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    id: str | Sequence[str] | None = None,
    label: str | None = None,
    embedding: str | None = None,
    categorical: str | Sequence[str] | None = None,
    scale: str = "standard",
    max_categories: int = 32,
    kernel: str | Kernel | Callable[..., Any] = "gaussian",
    width: float | str | None = None,
    sample: int = 16384,
    exact_weights: bool = False,
    passes: int = 1,
    output: str | os.PathLike[str] | None = None,
    random_state: int | None = 0,
    bad_rows: str = "error",
    format: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1_000_000,
    resume: bool = False,
    image_shape: str | Sequence[int] | None = None,
    image: str | None = None,
    text: str | None = None,
    coordinates: Sequence[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    watch: bool | str = False,
    quiet: bool = True,
    progress: Watcher | None = None,
) -> Prototypes:
    """The rows of files that represent them best, each with a weight, in memory that does not grow with them.

    What ``protosieve select`` does, from Python. Stored files are read twice: the first pass learns how columns become
    numbers, counts the rows and draws a sample of the target; the second selects against that sample. Standard input,
    ``"-"``, is read once: its first block, or blocks, of 10,000 rows or a few more settle the encoding and the kernel's
    width, and the target is what has been seen so far.

    Parameters
    ----------
    inputs : path, URL or glob, or several
        Files or folders of Parquet, Arrow, CSV, TSV, JSON lines, .npy or .npz, all with one schema; ``"-"`` for
        standard input. docs/formats.md has the rules.
    n_prototypes : int or str
        Rows to keep at most; ``"1%"`` for a share of all.
    target : path, URL or glob, or several, optional
        Files whose distribution is to be matched; by default that of the inputs.
    method : str, default "swap"
        ``"swap"``, ``"stream"``, ``"basic"``, ``"streak"`` or ``"sieve"``: the selectors that stream.
    features, exclude, categorical : column or columns, optional
        The columns to compare rows by; those not to; those whose numbers are names.
    id, label : column or columns, and one column, optional
        Columns that are kept but not compared by; they come first in the result.
    embedding : column, optional
        A column of lists of numbers, taken as they are; unless ``features`` says more it is the only feature.
    scale : str, default "standard"
        What becomes of number columns: ``"standard"``, ``"minmax"`` or ``"none"``.
    max_categories : int, default 32
        Values of a category column that get a column of their own; the rest share one.
    kernel : str or Kernel, default "gaussian"
        ``"gaussian"``, ``"laplacian"``, ``"linear"``, ``"cosine"``, ``"polynomial"``, or a kernel of
        `protosieve.kernels`.
    width : float or "median", optional
        Of the Gaussian or Laplacian kernel; by default the median distance between rows.
    sample : int, default 16384
        Rows of the target the mean is taken over.
    exact_weights : bool, default False
        Read the target once more and solve the weights, and count the shares, over all of its rows.
    passes : int, default 1
        Times the rows are offered to ``"swap"``.
    output : path, optional
        Where to write the prototypes: .parquet, .csv, .tsv, .jsonl, .json, .npz or .arrow; ``"-"`` for JSON lines on
        standard output.
    random_state : int or None, default 0
        The seed; ``None`` for another choice on every run.
    bad_rows : str, default "error"
        ``"error"``: the first row that cannot be used is an error; ``"skip"``: such rows are left out and counted.
    format : str, optional
        Of the inputs, where their names do not tell.
    checkpoint : path, optional
        A file to store the run in, every so many rows and when it is interrupted. It is removed when the run is over.
    every : int, default 1,000,000
        Rows between two checkpoints.
    resume : bool, default False
        Go on with the run in ``checkpoint``, if there is one. The result is that of a run without interruption, byte
        for byte.
    image_shape : str or tuple, optional
        Where rows, or their embedding, are images: height and width, perhaps 1, 3 or 4 channels: ``"28x28"``,
        ``(32, 32, 3)``. Like the next three it says what to show of a row, and changes nothing about the choice.
    image, text : column, optional
        A column of images (paths, bytes or base64), and one of text to read. Kept, not compared by.
    coordinates : two columns, optional
        Where each row is to stand on a map. Kept, not compared by.
    report : path, optional
        Where to write a page about the result, one HTML file that needs nothing else: see docs/report.md.
    watch : bool or str, default False
        Serve that page while the run goes on, on this machine only and at an address that cannot be guessed, which is
        told on standard error; ``"host:port"`` serves it there. The run leaves the page behind, beside ``output`` or
        as ``prototypes.html`` where ``report`` does not say.
    quiet : bool, default True
        Show no progress bar.
    progress : callable, optional
        Called with a `Tick` before every pass and after every block, in place of the bar.

    Returns
    -------
    Prototypes
        With ``table`` (the rows as they stand in their files), ``shares``, ``encoding``, ``provenance`` and ``sample``
        (at most 8,192 random rows of what they represent); ``indices`` are row numbers in the whole input.

    Notes
    -----
    Reading is O(n) twice; then O(n (points + m) d + m^2) per row as `ProtoSwap` with `CompressedMean`. Memory is the
    sample, a few pieces of a file and the selector's own, whatever the number of rows.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.csv
    >>> from sklearn.datasets import load_wine
    >>> import protosieve
    >>> wine = load_wine(as_frame=True).frame.rename(columns={"target": "kind"})
    >>> folder = tempfile.mkdtemp()
    >>> pa.csv.write_csv(pa.Table.from_pandas(wine), os.path.join(folder, "wine.csv"))
    >>> result = protosieve.select(os.path.join(folder, "*.csv"), 12, label="kind")
    >>> len(result), result.residual < 0.05
    (12, True)
    >>> result.table.column_names[:5]
    ['row', 'file', 'weight', 'share', 'kind']
    >>> sorted(set(result.table["kind"].to_pylist()))
    ['0', '1', '2']
    """
    several = {
        "target": target, "features": features, "exclude": exclude, "id": id, "categorical": categorical,
        "coordinates": coordinates,
    }  # fmt: skip
    options = Options(
        inputs=names(inputs, "inputs"),
        n_prototypes=n_prototypes,
        kernel=kernel_of(kernel, width),
        **_several(several),
        method=method,
        label=label,
        embedding=embedding,
        scale=scale,
        max_categories=max_categories,
        sample=sample,
        exact_weights=exact_weights,
        passes=passes,
        random_state=random_state,
        bad_rows=bad_rows,
        format=format,
        image_shape=shape_text(image_shape),
        image=image,
        text=text,
    )
    store = _checkpoint(options, checkpoint, every, resume)
    if output is not None:
        check_output(os.fspath(output))
    page = report_place(report, watch, output)
    with served(watch, options) as live:
        job = _begin(options, store, resume, {"output": output, "report": page})
        files = [source.name for source in job.inputs]
        job.onlookers = Onlookers(job.run, files, page, live)
        with bar(quiet) if progress is None else nullcontext(progress) as watcher:
            job.drive(watcher)
            result = finish(job.run, files)
        if output is not None:
            write_table(result.table, os.fspath(output), dict(result.provenance or {}))
        job.onlookers.finish(result)
    if store is not None:
        store.remove()
    return result


@dataclass(frozen=True, eq=False)
class Surveyed:
    """What one pass over files finds: how columns become numbers, the number of rows, and a uniform sample of them."""

    encoding: Encoding
    n_rows: int
    rows: Array


def survey(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    sample: int = 16384,
    random_state: int | None = 0,
    quiet: bool = True,
    progress: Watcher | None = None,
    **columns: Any,
) -> Surveyed:
    """Encode files as `select` would, and keep ``sample`` of their rows; O(n) time, memory for the sample.

    ``columns`` are the arguments of `select` that say what becomes of the columns and of rows that cannot be used.

    >>> import tempfile
    >>> import numpy as np
    >>> from protosieve.pipeline import survey
    >>> path = tempfile.mkdtemp() + "/x.npy"
    >>> np.save(path, np.random.default_rng(0).normal(size=(500, 3)))
    >>> survey(path, sample=100).rows.shape
    (100, 3)
    """
    options = Options(
        inputs=names(inputs, "inputs"),
        n_prototypes=1,
        kernel=Gaussian(),
        sample=sample,
        random_state=random_state,
        **_several(columns),
    )
    sources = find_sources(options.inputs, options.format)
    run = fresh(options, sources, [])
    job = _Job(run, sources, [Surveying(sources, run.layout, is_input=True, is_target=True)], None)
    with bar(quiet) if progress is None else nullcontext(progress) as watcher:
        job.drive(watcher)
    assert run.target is not None
    return Surveyed(run.encoded, run.n_rows, run.target)


def _several(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments that may be one name or several, as lists; those that were not given are left out."""
    lists = ("target", "features", "exclude", "id", "categorical", "coordinates")
    return {name: names(v, name) if name in lists else v for name, v in given.items() if v is not None}


def _checkpoint(options: Options, path: Any, every: int, resume: bool) -> Checkpoint | None:
    if path is None:
        if resume:
            raise ParameterError("resume needs the checkpoint to go on from: give --checkpoint FILE too")
        return None
    if options.from_stdin:
        raise ParameterError(
            "a checkpoint cannot bring back rows of standard input; store them in a file first, or use partial_fit and "
            "save of a selector in Python"
        )
    return Checkpoint(path, every)


@dataclass
class _Job:
    """A run and what it works on."""

    run: Run
    inputs: list[Source]
    phases: list[Phase]
    store: Checkpoint | None
    onlookers: Onlookers | None = None

    def drive(self, watcher: Watcher) -> None:
        """All passes that are left."""
        with stops() as stop:
            try:
                while self.run.phase < len(self.phases):
                    self._pass(self.phases[self.run.phase], watcher, stop)
                if self.store is not None:
                    self.store.finished(self.run)
            except Stopped as stopped:
                stopped.tell(self._story(stopped.whole))
                raise

    def _pass(self, phase: Phase, watcher: Watcher, stop: Stop) -> None:
        run = self.run
        if not run.begun:
            phase.begin(run)
            run.begun = True
        self._tell(watcher, self._tick(phase, 0))  # the first block may take a while
        with closing(self._blocks(phase)) as blocks:
            while (block := _next(blocks, stop)) is not None:
                self._take(phase, block)
                self._tell(watcher, self._tick(phase, block.bytes_read))
        phase.check_some(run)
        phase.end(run)
        run.phase, run.begun, run.position, run.rows = run.phase + 1, False, Position(), 0

    def _blocks(self, phase: Phase) -> Generator[Block, None, None]:
        run = self.run
        skip, grow, convert = run.options.bad_rows == "skip", partial(phase.grows, run), partial(phase.convert, run)
        blocks = read_blocks(phase.sources, run.layout, phase.columns, run.position, skip, grow, convert)
        if phase.grows(run) and run.layout.has_categories:
            return blocks  # in this thread: what grows must not do so while it is stored
        return ahead(blocks, depth=1, patience=patience(phase.sources))

    def _take(self, phase: Phase, block: Block) -> None:
        run = self.run
        if len(block):
            phase.take(run, block)
        if phase.is_first:
            run.left_out.merge(block.left_out)
        run.position, run.rows = block.until, run.rows + len(block)
        if self.store is not None:
            self.store.passed(run, len(block))

    def _tell(self, watcher: Watcher, tick: Tick) -> None:
        watcher(tick)
        if self.onlookers is not None:
            self.onlookers(tick)

    def _tick(self, phase: Phase, bytes_read: int) -> Tick:
        standing = None if phase.label == "survey" else self.run.standing()
        sizes = [source.size for source in phase.sources]
        return Tick(
            label=phase.label,
            phase=self.run.phase + 1,
            phases=len(self.phases),
            rows=self.run.rows,
            bytes_read=bytes_read,
            bytes_in_all=None if None in sizes else sum(size for size in sizes if size is not None),
            residual=None if standing is None else standing.residual,
            exchanged=None if standing is None else standing.exchanged,
        )

    def _story(self, whole: bool) -> str:
        run = self.run
        place = f"stopped at row {run.rows:,} of pass {run.phase + 1} of {len(self.phases)}"
        left = self.onlookers.leave(place) if whole and self.onlookers is not None else None
        if self.store is None:
            hint = "" if run.options.from_stdin else ". With --checkpoint FILE a run can go on later"
            return f"{place}; {left or 'nothing was written'}{hint}"
        stored = f"{place}; {self.store.leave(run)}" if whole else f"{place}. {self.store.untouched()}"
        return f"{stored}; {left}" if left else stored


def _begin(
    options: Options, store: Checkpoint | None, resume: bool, outputs: Mapping[str, str | os.PathLike[str] | None]
) -> _Job:
    """Look at all files, and settle what can be settled before rows are read."""
    inputs = find_sources(options.inputs, options.format)
    target = [] if options.target is None else find_sources(options.target, options.format)
    _check_apart(outputs, store, [*inputs, *target])
    run = fresh(options, inputs, target)
    _check_once(phases_of(options, run.layout, inputs, target), store)
    if store is not None:
        run = take_up(store.path, run, resume)
        store.begin(run)
    return _Job(run, inputs, phases_of(options, run.layout, inputs, target), store)


def _check_apart(
    outputs: Mapping[str, str | os.PathLike[str] | None], store: Checkpoint | None, sources: Sequence[Source]
) -> None:
    """What is written must not take the place of what is read, nor one of them that of another."""
    taken = {os.path.realpath(source.name): "one of the files to be read" for source in sources}
    if store is not None:
        taken[os.path.realpath(store.path)] = "the checkpoint"
    for what, path in outputs.items():
        if path is None or os.fspath(path) == "-":
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise OutputError(f"{os.fspath(path)}: is {taken[place]}, which would be lost; give another {what}")
        taken[place] = f"the {what}"


def _check_once(phases: Sequence[Phase], store: Checkpoint | None) -> None:
    """What flows by once, such as a named pipe, can be read by one pass, and not be taken up again."""
    times = Counter(source for phase in phases for source in phase.sources if source.comes_once)
    for source, passes in times.items():
        if passes > 1:
            raise InputError(
                f"{source.name}: comes once, and this run would read it {passes} times; store its rows in a file "
                "first, or pipe inputs to standard input, -"
            )
        if store is not None:
            raise ParameterError(f"checkpoint needs rows that can be read again, and {source.name} comes once")


def _next(blocks: Iterator[Block], stop: Stop) -> Block | None:
    with stop.at_once():
        return next(blocks, None)
