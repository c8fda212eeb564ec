"""`select`: from files to prototypes."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any, TypeAlias

from protosieve import _defaults as default
from protosieve import distributed
from protosieve._prototypes import Prototypes
from protosieve.distributed import Estimate, LocalWorkers, Serial, Work, drive, estimate
from protosieve.distributed._flight import window_of
from protosieve.errors import OutputError, ParameterError, ProtosieveWarning, arg
from protosieve.io import check_output, write_table
from protosieve.io._output import as_dash
from protosieve.kernels import Kernel
from protosieve.pipeline._bar import bar
from protosieve.pipeline._checkpoint import Checkpoint
from protosieve.pipeline._finish import finish
from protosieve.pipeline._job import begin, check_apart
from protosieve.pipeline._options import Options, options_of
from protosieve.pipeline._progress import Watcher, tell
from protosieve.pipeline._watch import Onlookers, report_place, served

__all__ = ["check_no_stream", "run", "select"]

Path: TypeAlias = str | os.PathLike[str]


def select(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    n_prototypes: int | str,
    *,
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    method: str = default.METHOD,
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
    sample: int = default.SAMPLE,
    exact_weights: bool = False,
    output: str | os.PathLike[str] | None = None,
    random_state: int | None = default.RANDOM_STATE,
    bad_rows: str = default.BAD_ROWS,
    format: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = default.EVERY,
    resume: bool = False,
    image_shape: str | Sequence[int] | None = None,
    image: str | None = None,
    text: str | None = None,
    coordinates: Sequence[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    watch: bool | str = False,
    quiet: bool = True,
    progress: Watcher | None = None,
    executor: Executor | None = None,
    partition_rows: int | None = None,
    window: int | None = None,
    work: str | os.PathLike[str] | None = None,
) -> Prototypes:
    """The rows of files that represent them best, each with a weight, in memory that does not grow with them.

    What ``protosieve select`` does, from Python. Stored files are read twice: the first pass learns how columns become
    numbers, counts the rows and draws a sample of the target; the second selects against that sample. Standard input,
    ``"-"``, is read once: its first block, or blocks, of 10,000 rows or a few more settle the encoding and the kernel's
    width, and the target is what has been seen so far. Where all rows then say otherwise, the choice is made again from
    a uniform sample of at most 8,192 of them, and ``provenance["unlike_head"]`` tells why.

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
    kernel : str or Kernel, default "multiscale"
        ``"multiscale"``, ``"gaussian"``, ``"laplacian"``, ``"linear"``, ``"cosine"``, ``"polynomial"``, or a kernel of
        `protosieve.kernels`.
    width : float or "median", optional
        Of the multi-scale (its largest), Gaussian or Laplacian kernel; by default the median distance between rows.
    sample : int, default 16384
        Rows of the target the mean is taken over.
    exact_weights : bool, default False
        Read the target once more and solve the weights, and count the shares, over all of its rows.
    output : path, optional
        Where to write the prototypes: .parquet, .csv, .tsv, .jsonl, .json, .npz or .arrow; ``"-"`` for JSON lines on
        standard output. A named pipe can take .csv, .tsv or .jsonl.
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
        Called with a `Tick` before every pass and after every block, or partition, in place of the bar.
    executor : concurrent.futures.Executor, optional
        Cut the files into partitions and work on these there: threads, processes, or
        ``client.get_executor(retries=2, pure=False)`` of a Dask cluster. See docs/scale.md.
    partition_rows : int, optional
        Cut the files into partitions of about so many rows; 250,000 where only ``executor`` or ``work`` is given. The
        choice depends on it, and not on the executor.
    window : int, optional
        Partitions that are at the executor at a time; by default two for each of its workers, and no fewer than 4.
    work : path, optional
        A folder in which results of partitions are kept until the run is over. The same call after a run that was cut
        short repeats only what is missing.

    Returns
    -------
    Prototypes
        With ``table`` (the rows as they stand in their files), ``shares``, ``encoding``, ``provenance`` and ``sample``
        (at most 8,192 random rows of what they represent); ``indices`` are row numbers in the whole input.

    Notes
    -----
    Reading is O(n) twice; then O(n (points + m) d + m^2) per row as `ProtoSwap` with `CalibratedMean`. Memory is the
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
    options = options_of(given)
    executor, watch, resume, progress = given["executor"], given["watch"], given["resume"], given["progress"]
    output = as_dash(given["output"])
    if output is not None:
        check_output(os.fspath(output))
    page = report_place(given["report"], watch, output)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ParameterError(f"{arg('executor')} must be one of concurrent.futures, got {executor!r}")
    if any(given[name] is not None for name in ("executor", "partition_rows", "work")):
        check_no_stream(given["checkpoint"], resume, watch)
        partitions = distributed.begin(options)
        partitions.run.command = command
        return _over_partitions(
            partitions, executor or Serial(), given["window"], given["work"], output, page, given["quiet"], progress
        )
    if given["window"] is not None:
        raise ParameterError(
            f"{arg('window')} is for runs over partitions; give {arg('executor')}, "
            f"{arg('partition_rows')} or {arg('work')} too"
        )
    store = _checkpoint(options, given["checkpoint"], given["every"], resume)
    with served(watch, options) as live:
        job = begin(options, store, resume, {"output": output, "report": page})
        job.run.command = command
        files = [source.name for source in job.inputs]
        job.onlookers = Onlookers(job.run, files, page, live, output)
        with bar(given["quiet"]) if progress is None else nullcontext(progress) as watcher:
            job.drive(watcher)
            with job.relied_on():
                result = finish(job.run, files)
        _write(result, output)
        job.onlookers.finish(result)
    if store is not None:
        store.remove()
    return result


def _over_partitions(
    job: distributed.Job,
    executor: Executor,
    window: int | None,
    work: Path | None,
    output: Path | None,
    page: str | None,
    quiet: bool,
    progress: Watcher | None,
) -> Prototypes:
    outputs = {"output": output, "report": page}
    check_apart(outputs, None, job.sources)
    if work is not None:
        _check_no_results(work, job, [*outputs.values(), *(source.name for source in job.sources)])
    if isinstance(executor, LocalWorkers):
        _check_busy(len(job.inputs), executor.workers)
    with nullcontext() if work is None else Work(work, job) as kept:
        if not quiet:
            _tell(estimate(job, window_of(executor, window)), kept)
        relied_on = nullcontext() if kept is None else kept.relied_on()
        with bar(quiet) if progress is None else nullcontext(progress) as watcher, relied_on:
            result = drive(job, executor, window=window, work=kept, watcher=watcher)
        _write(result, output)
        Onlookers(job.run, [file["name"] for file in job.run.files], page, None).finish(result)
        if kept is not None and output is not None:
            kept.remove()
    return result


def _check_busy(partitions: int, workers: int) -> None:
    """Whether there is something to do for all workers that are started."""
    if partitions < workers:
        few = f"{partitions} partition{'s' * (partitions > 1)} for {workers} workers"
        warnings.warn(
            ProtosieveWarning(
                f"{few}: not all of them have something to do; fewer {arg('partition_rows')}, or smaller row groups, "
                "make more"
            ),
            stacklevel=4,
        )


def _check_no_results(work: Path, job: distributed.Job, paths: Sequence[Path | None]) -> None:
    """What is read or written here must not be among the files that are removed in the end."""
    for path in paths:
        if path is not None and Work.owns(work, job, path):
            raise OutputError(
                f"{os.fspath(path)}: is where a result of a partition would be written; give another {arg('work')}"
            )


def _tell(foreseen: Estimate, kept: Work | None) -> None:
    """What is to come, and what is there already, on standard error."""
    there = f"\n{kept.story()}" if kept is not None and kept.there else ""
    tell(f"{foreseen}{there}")


def _write(result: Prototypes, output: Path | None) -> None:
    if output is not None:
        write_table(result.table, os.fspath(output), dict(result.provenance or {}))


def check_no_stream(checkpoint: Path | None, resume: bool, watch: bool | str) -> None:
    """What a run over partitions has no use for."""
    if checkpoint is not None or resume:
        raise ParameterError(
            f"{arg('checkpoint')} and {arg('resume')} are for one stream of rows; a run over partitions is kept in a "
            f"folder: give {arg('work', 'DIR')}, and the same run goes on"
        )
    if watch:
        raise ParameterError(
            f"{arg('watch')} shows one stream of rows as it is read, and a run over partitions has a result only at "
            f"its end: give {arg('report', 'FILE.html')}, which shows that"
        )


def _checkpoint(options: Options, path: Any, every: int, resume: bool) -> Checkpoint | None:
    if path is None:
        if resume:
            raise ParameterError(
                f"{arg('resume')} needs a checkpoint to go on from: give {arg('checkpoint', 'FILE')} too"
            )
        return None
    if options.from_stdin:
        raise ParameterError(
            f"{arg('checkpoint')} cannot bring back rows of standard input; store them in a file first, or use the "
            "partial_fit and save of a selector in Python"
        )
    return Checkpoint(path, every)
