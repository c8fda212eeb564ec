"""`select`: from files to prototypes."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

from protosieve import _defaults as default
from protosieve.errors import OutputError, ParameterError, ProtosieveWarning, arg
from protosieve.io import Source, find_sources
from protosieve.kernels import Kernel
from protosieve.passes import Job, Options, job_of, options_of
from protosieve.result import Prototypes
from protosieve.result.files import as_dash, check_output, write_table
from protosieve.run._dask import LocalWorkers
from protosieve.run._drive import choose
from protosieve.run._engine import Engine, Here
from protosieve.run._executor import OnExecutor
from protosieve.run._progress import RunProgress, Watcher, tell, watching
from protosieve.run._signals import Stop, Stopped, stops
from protosieve.run._store import Store
from protosieve.run._watch import Onlookers, report_place, served

Path: TypeAlias = str | os.PathLike[str]


def select(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    n_prototypes: int | str,
    *,
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    method: str = default.METHOD,
    goal: str = default.GOAL,
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    id: str | Sequence[str] | None = None,
    label: str | None = None,
    embedding: str | None = None,
    categorical: str | Sequence[str] | None = None,
    scale: str = default.SCALE,
    max_categories: int = default.MAX_CATEGORIES,
    kernel: str | Kernel | Callable[..., Any] = default.KERNEL,
    width: float | str | None = None,
    sample: int | None = None,
    output: str | os.PathLike[str] | None = None,
    random_state: int | None = default.RANDOM_STATE,
    bad_rows: str = default.BAD_ROWS,
    format: str | None = None,
    image_shape: str | Sequence[int] | None = None,
    image: str | None = None,
    text: str | None = None,
    coordinates: Sequence[str] | None = None,
    per: str | None = None,
    split: str = default.SPLIT,
    report: str | os.PathLike[str] | None = None,
    watch: bool | str = False,
    quiet: bool = True,
    progress: Watcher | None = None,
    executor: Executor | None = None,
    partition_rows: int = default.PARTITION_ROWS,
    window: int | None = None,
    work: str | os.PathLike[str] | None = None,
) -> Prototypes:
    """The rows of files that represent them best, each with a weight, in memory that does not grow with them.

    What ``protosieve select`` does, from Python. Files are read twice. The first pass learns how columns become
    numbers, counts the rows and draws a uniform sample; in the second every row counts in the mean that prototypes are
    to match. They are then chosen from the sample. If the sample holds all rows, or prototypes are to cover the rows
    (``goal="cover"``), one pass is enough. If it holds all rows the result is that of the selector's ``fit`` on the
    encoded rows. Methods that judge rows one by one (``"stream"``, ``"basic"``, ``"streak"``, ``"sieve"``) read all
    rows once more.

    Standard input, ``"-"``, is read once: its first 10,000 rows, to the end of their block, settle the encoding and the
    kernel's width, and the target is what has been seen so far. If all rows then say otherwise, the choice is made
    again from a uniform sample of them, and ``provenance["unlike_head"]`` tells why.

    The result depends on the rows, the options and the seed. The place where the work is done, here or by any number
    of workers, does not change a bit of it.

    Parameters
    ----------
    inputs : path, URL or glob, or several
        Files or folders of Parquet, Arrow, CSV, TSV, JSON lines, .npy or .npz, all with one schema; ``"-"`` for
        standard input. docs/formats.md has the rules.
    n_prototypes : int or str
        Rows to keep at most; ``"1%"`` for a share of all.
    target : path, URL or glob, or several, optional
        Files whose rows are to be matched or covered; by default the inputs themselves.
    method : str, default "swap"
        ``"swap"``, ``"stream"``, ``"basic"``, ``"streak"`` or ``"sieve"``: the selectors that stream.
    goal : str, default "match"
        ``"match"``: the weighted prototypes have the statistics of the rows, to be used in place of them. ``"cover"``:
        every row has a prototype near it, to label, to look at or to classify by; weights are the shares of the sample
        nearest to each. See docs/match-or-cover.md.
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
    kernel : str or Kernel, default "multiscale"
        ``"multiscale"``, ``"gaussian"``, ``"laplacian"``, ``"linear"``, ``"cosine"``, ``"polynomial"``, or a kernel of
        `protosieve.kernels`.
    width : float or "median", optional
        Of the multi-scale (its largest), Gaussian or Laplacian kernel; by default the median distance between rows.
    sample : int, optional
        Rows of the uniform sample: those that may be chosen, and a fifth that is held out to judge the choice. By
        default it follows from ``n_prototypes``: 10,240 to 40,960 rows.
    output : path, optional
        Where to write the prototypes: .parquet, .csv, .tsv, .jsonl, .json, .npz or .arrow; ``"-"`` for JSON lines on
        standard output. A named pipe can take .csv, .tsv or .jsonl.
    random_state : int or None, default 0
        The seed; ``None`` for another choice on every run.
    bad_rows : str, default "error"
        ``"error"``: the first row that cannot be used is an error; ``"skip"``: such rows are skipped and counted.
    format : str, optional
        Of the inputs, where their names do not tell.
    image_shape : str or tuple, optional
        Where rows, or their embedding, are images: height and width, perhaps 1, 3 or 4 channels: ``"28x28"``,
        ``(32, 32, 3)``. Like the next three it says what to show of a row, and changes nothing about the choice.
    image, text : column, optional
        A column of images (paths, bytes or base64), and one of text to read. Kept, not compared by.
    coordinates : two columns, optional
        Where each row is to stand on a map. Kept, not compared by.
    per : column, optional
        Choose prototypes for each value of this column, each against the rows of its own group: ``n_prototypes`` of
        each, say five examples of every class. It is not compared by. At most 1,000 values; null is one of them.
        With ``target``, the rows of a value are to match those of the same value. See docs/groups.md.
    split : str, default "each"
        With ``per``: ``"each"`` gives every group ``n_prototypes``; ``"even"`` and ``"proportional"`` split these
        between the groups, evenly or in proportion to their rows, one each at least.
    report : path, optional
        Where to write a page about the result, one HTML file that needs nothing else: see docs/report.md.
    watch : bool or str, default False
        Serve that page while the run goes on, on this machine only and at an address that cannot be guessed, which is
        printed to standard error; ``"host:port"`` serves it there. While files are surveyed it shows a choice from the
        sample so far. The page is kept as a file: ``report``, else beside ``output``, else ``prototypes.html``.
    quiet : bool, default True
        Show no progress bar (it needs a terminal, and ``protosieve[cli]``).
    progress : callable, optional
        Called with a `Tick` before every pass and after every block, or partition, in place of the bar.
    executor : concurrent.futures.Executor, optional
        Where partitions of the files are worked on: threads, processes, or
        ``client.get_executor(retries=2, pure=False)`` of a Dask cluster; by default in this process, on all of its
        cores. Methods that judge rows one by one do so in this process, with a warning. See docs/scale.md.
    partition_rows : int, default 250,000
        Rows of a partition, about. Another number changes the last bits of sums, so the choice may be another one,
        about as good.
    window : int, optional
        Partitions that are at the executor at a time; by default two for each of its workers, and no fewer than 4.
    work : path, optional
        A folder that keeps what is done until ``output`` is written. The same call after an interrupted run, with or
        without an executor, goes on from there, with the same result. Not for standard input.

    Returns
    -------
    Prototypes
        With ``table`` (the rows as they stand in their files), ``shares``, ``encoding``, ``provenance`` and ``sample``
        (at most 8,192 random rows of what they represent); ``indices`` are row numbers in the whole input. With ``per``
        the table also has ``group_weight``, the weight within the group, and ``group_share``, the group's share of all
        rows; ``weight`` is the product of the two.

    Notes
    -----
    O(n points d) for the sums, with at most 3,072 points, and O(sample (m d + m^2)) for the choice. Memory is the
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
    >>> len(result), result.residual < 0.1
    (12, True)
    >>> result.table.column_names[:5]
    ['row', 'file', 'weight', 'share', 'kind']
    >>> sorted(set(result.table["kind"].to_pylist()))
    ['0', '1', '2']
    """
    return run(locals())


def run(given: Mapping[str, Any], command: str | None = None) -> Prototypes:
    """`select`, with its arguments by name, for the ``command`` line that asked for it, if one did."""
    options, output = options_of(given), as_dash(given["output"])
    if output is not None:
        check_output(os.fspath(output))
    page = report_place(given["report"], given["watch"], output)
    _check_executor(given["executor"], given["window"])
    if options.from_stdin:
        _check_stream(given)
    with served(given["watch"], options) as live:
        job, sources = begin(options, command)
        _check_apart({"output": output, "report": page}, sources)
        _check_again(given["work"], sources)
        onlookers = Onlookers(options, page, live, output)
        with _opened(given["work"], job, [output, page, *(source.name for source in sources)]) as store:
            job = job if store is None else replace(job, seed=store.seed)
            if not given["quiet"] and store is not None and store.there:
                tell(store.told())
            with watching(given["quiet"], given["progress"]) as watcher:
                result = _result(job, store, onlookers, watcher, given["executor"], given["window"])
            if output is not None:
                write_table(result.table, os.fspath(output), dict(result.provenance or {}))
            onlookers.finish(result)
            if store is not None and output is not None:
                store.remove()
    return result


def begin(options: Options, command: str | None = None) -> tuple[Job, list[Source]]:
    """Look at the heads of all files; returns what is to be done, and all files that are read."""
    inputs = find_sources(options.inputs, options.format)
    target = [] if options.target is None else find_sources(options.target, options.format)
    return job_of(options, inputs, target, command), [*inputs, *target]


def _result(
    job: Job,
    store: Store | None,
    onlookers: Onlookers,
    watcher: Watcher,
    executor: Executor | None,
    window: int | None,
) -> Prototypes:
    progress = RunProgress(job, watcher, onlookers)
    with stops() as stop:
        try:
            with _engine(job, progress, stop, store, executor, window) as engine:
                onlookers.look = engine.look
                with stop.at_once(), nullcontext() if store is None else store.relied_on():
                    return choose(job, engine)
        except Stopped as stopped:
            stopped.tell(_place(progress, stopped, job, store, onlookers))
            raise


@contextmanager
def _engine(
    job: Job, progress: RunProgress, stop: Stop, store: Store | None, executor: Executor | None, window: int | None
) -> Iterator[Engine]:
    if executor is None:
        yield Here(job, progress, stop, store)
        return
    if isinstance(executor, LocalWorkers):
        _check_busy(len(job.inputs), executor.workers)
    if job.options.judges_rows:
        warnings.warn(
            ProtosieveWarning(
                f"{arg('method', job.options.method)} judges rows one after the other: that pass is made in this "
                "process, whatever workers there are"
            ),
            stacklevel=6,
        )
    with OnExecutor(job, progress, stop, store, executor, window) as engine:
        yield engine


@contextmanager
def _opened(work: Path | None, job: Job, others: Sequence[Path | None]) -> Iterator[Store | None]:
    if work is None:
        yield None
        return
    for path in others:  # what is read or written must not be among the files that are removed in the end
        if path is not None and Store.owns(work, job, path):
            raise OutputError(
                f"{os.fspath(path)}: is where a result of a partition would be written; give another {arg('work')}"
            )
    with Store(work, job) as store:
        yield store


def _place(progress: RunProgress, stopped: Stopped, job: Job, store: Store | None, onlookers: Onlookers) -> str:
    """Where a run was stopped, and what is kept of it."""
    left = onlookers.leave(progress.place) if stopped.whole else None
    if store is not None:
        told = f"{progress.place}; what was done is kept in {store.folder}: the same run goes on from there"
        return f"{told}; {left}" if left else told
    hint = "" if job.options.from_stdin else f". With {arg('work', 'DIR')} a run can go on later"
    return f"{progress.place}; {left or 'nothing was written'}{hint}"


def _check_executor(executor: Any, window: int | None) -> None:
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ParameterError(f"{arg('executor')} must be one of concurrent.futures, got {executor!r}")
    if window is not None and executor is None:
        raise ParameterError(f"{arg('window')} is for runs at an executor; give {arg('executor')} too")


def _check_stream(given: Mapping[str, Any]) -> None:
    """Refuse what standard input, one stream that comes once, cannot be combined with."""
    if given["work"] is not None:
        raise ParameterError(
            f"{arg('work')} cannot bring back rows of standard input; store them in a file first, or use the "
            "selectors' own save"
        )
    if given["executor"] is not None:
        raise ParameterError(
            f"{arg('executor')}: standard input is one stream of rows, for one process; store the rows in a file first"
        )


def _check_apart(outputs: Mapping[str, Path | None], sources: Sequence[Source]) -> None:
    """No output may overwrite an input, or another output."""
    taken = {os.path.realpath(source.name): "one of the files to be read" for source in sources}
    for what, path in outputs.items():
        if path is None or os.fspath(path) == "-":
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise OutputError(f"{os.fspath(path)}: is {taken[place]}, which would be lost; give another {arg(what)}")
        taken[place] = f"the {what}"


def _check_again(work: Path | None, sources: Sequence[Source]) -> None:
    """A run that can go on later must be able to read its rows again."""
    once = next((source for source in sources if source.comes_once), None)
    if work is not None and once is not None:
        raise ParameterError(
            f"{arg('work')} needs rows that can be read again, and {once.name} comes once; store its rows in a file "
            "first"
        )


def _check_busy(partitions: int, workers: int) -> None:
    """Warn if there are more workers than partitions."""
    if partitions < workers:
        few = f"{partitions} partition{'s' * (partitions > 1)} for {workers} workers"
        warnings.warn(
            ProtosieveWarning(
                f"{few}: not all of them have something to do; fewer {arg('partition_rows')}, or smaller row groups, "
                "make more"
            ),
            stacklevel=7,
        )
