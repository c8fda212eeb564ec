"""`select`: from files and tables to prototypes."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from protosieve import _defaults as default
from protosieve.errors import OutputError, ParameterError, arg, warn
from protosieve.io import CsvForm, Source, check_form, find_sources, index_of, is_table, tables_in
from protosieve.kernels import Kernel
from protosieve.passes import Aside, Job, NamedRows, Options, job_of, options_of
from protosieve.preprocess import check_shared
from protosieve.result import OURS, Prototypes, free_name
from protosieve.result.files import Destination, check_output, write_result
from protosieve.run._dask import LocalWorkers
from protosieve.run._drive import choose
from protosieve.run._engine import Engine, Here
from protosieve.run._executor import OnExecutor
from protosieve.run._progress import RunProgress, Watcher, tell, watching
from protosieve.run._signals import Stop, Stopped, stops
from protosieve.run._store import Store
from protosieve.run._watch import Onlookers, report_place, served

_ASIDE = ("keep", "exclude_rows")
_TABLES = ("inputs", "target", *_ASIDE)  # arguments that are files, or tables in memory

Path: TypeAlias = str | os.PathLike[str]


def select(
    inputs: Any,
    n_prototypes: int | str,
    *,
    target: Any = None,
    keep: Any = None,
    exclude_rows: Any = None,
    method: str = default.METHOD,
    goal: str = default.GOAL,
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    id: str | Sequence[str] | None = None,
    label: str | None = None,
    embedding: str | None = None,
    categorical: str | Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    embed: str | Callable[..., Any] | None = None,
    balance: str = default.BALANCE,
    scale: str = default.SCALE,
    max_categories: int = default.MAX_CATEGORIES,
    day_first: bool = False,
    cycles: str | Sequence[str] | None = None,
    kernel: str | Kernel | Callable[..., Any] = default.KERNEL,
    width: float | str | None = None,
    sample: int | None = None,
    output: str | os.PathLike[str] | None = None,
    output_format: str | None = None,
    label_column: str | None = None,
    random_state: int | None = default.RANDOM_STATE,
    bad_rows: str = default.BAD_ROWS,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    image_shape: str | Sequence[int] | None = None,
    image: str | None = None,
    coordinates: Sequence[str] | None = None,
    per: str | None = None,
    split: str = default.SPLIT,
    quota: Mapping[str, Any] | Sequence[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    watch: bool | str = False,
    quiet: bool = True,
    progress: Watcher | None = None,
    executor: Executor | None = None,
    half_life: int | None = None,
    partition_rows: int = default.PARTITION_ROWS,
    window: int | None = None,
    work: str | os.PathLike[str] | None = None,
) -> Prototypes:
    """The rows of files or tables that represent them best, each with a weight, in memory that does not grow with them.

    What ``protosieve select`` does, from Python, and for any table. Files are read twice. The first pass learns how
    columns become numbers, counts the rows and draws a uniform sample; in the second every row counts in the mean that
    prototypes are to match. They are then chosen from the sample. If the sample holds all rows, or prototypes are to
    cover the rows (``goal="cover"``), one pass is enough. If it holds all rows the result is that of the selector's
    ``fit`` on the encoded rows. Methods that judge rows one by one (``"stream"``, ``"basic"``, ``"streak"``,
    ``"sieve"``) read all rows once more.

    Standard input, ``"-"``, and an iterator of tables are read once: the first 10,000 rows, to the end of their block,
    settle the encoding and the kernel's width, and the target is what has been seen so far. If all rows then say
    otherwise, the choice is made again from a uniform sample of them, and ``provenance["unlike_head"]`` tells why.

    The result depends on the rows, the options and the seed. The place where the work is done, here or by any number
    of workers, does not change a bit of it.

    Parameters
    ----------
    inputs : path, URL or glob; table; or several
        Files or folders of Parquet, Arrow, CSV, TSV, JSON lines, .npy or .npz, all with one schema, or of images;
        ``"-"`` for standard input. docs/formats.md has the rules. Or a table: a DataFrame of pandas or polars, an Arrow
        table, a NumPy or SciPy matrix and many others, or an iterator of them: see docs/dataframes.md.
    n_prototypes : int or str
        Rows to keep at most; ``"1%"`` for a share of all.
    target : path, URL or glob; table; or several; optional
        Rows that are to be matched or covered; by default the inputs themselves.
    keep : path, URL or glob; table; or several; optional
        Rows that were chosen before, such as those with a label: ``n_prototypes`` more are chosen beside them. They
        need the columns that rows are compared by; others may be missing or more. They come last in the result, where
        ``is_new`` is False, and row i of them is number -1 - i. Rows equal to them, or with one of their ids (``id``),
        are not chosen again. A row that is given twice is in the result twice, and one of the two has the weight.
    exclude_rows : path, URL or glob; table; or several; optional
        Rows never to choose, and neither any equal to them or with one of their ids, such as a test set.
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
    text : column or columns, optional
        Columns of text, compared by their words, pairs of words and pieces of words, and the first shown on the page.
        Where ``features`` or ``embedding`` name the columns to compare by, it is only shown. See docs/text.md.
    embed : str or callable, optional
        A model that turns the columns of ``text`` into vectors, by whose direction they are then compared, and not by
        their words: ``"sentence-transformers:all-MiniLM-L6-v2"``, ``"model2vec:..."``, ``"open_clip:..."``, or your
        own function, itself or as ``"module:function"``, from a list of texts to a matrix. See docs/embed.md.
    balance : str, default "kinds"
        What texts and images weigh beside other columns: ``"kinds"``, those of a kind together as much as all others
        together; ``"columns"``, each as much as one column of numbers.
    scale : str, default "auto"
        What becomes of number columns: ``"standard"``, ``"minmax"`` or ``"none"``; ``"auto"`` standardises them, but
        takes the ranks of heavy-tailed ones.
    max_categories : int, default 32
        Values of a category column that get a column of their own; the rest share one.
    day_first : bool, default False
        Whether dates such as 01/02/2012 begin with the day, where the first rows do not tell.
    cycles : {"day", "week", "year"} or several, optional
        Compare dates by the time of day, the day of the week or the season, in UTC, too.
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
    output_format : "label-studio", optional
        Write tasks for Label Studio, to a .json file or ``"-"``; by default the ending of ``output`` names the format.
    label_column : str, optional
        In .csv or .tsv, an empty last column of this name, to be filled in by hand. See docs/labelling.md.
    random_state : int or None, default 0
        The seed; ``None`` for another choice on every run.
    bad_rows : str, default "error"
        ``"error"``: the first row that cannot be used is an error; ``"skip"``: such rows are skipped and counted.
    delimiter, encoding, decimal : str, optional
        Of CSV files: what separates cells and begins fractions, by default what the first rows show; and the encoding,
        by default UTF-8.
    format : str, optional
        Of the inputs, where their names do not tell.
    image_shape : str or tuple, optional
        Where rows, or their embedding, are images: height and width, perhaps 1, 3 or 4 channels: ``"28x28"``,
        ``(32, 32, 3)``. It says what to show of a row, and changes nothing about the choice.
    image : column, optional
        A column of images (paths, bytes or base64), compared by their looks and shown. Where ``features`` or
        ``embedding`` name the columns to compare by, or ``exclude`` has it, it is only shown. See docs/images.md.
    coordinates : two columns, optional
        Where each row is to stand on a map. Kept, not compared by.
    per : column, optional
        Choose prototypes for each value of this column, each against the rows of its own group: ``n_prototypes`` of
        each, say five examples of every class. It is not compared by. At most 1,000 values; null is one of them.
        With ``target``, the rows of a value are to match those of the same value. See docs/groups.md.
    split : str, default "each"
        With ``per``: ``"each"`` gives every group ``n_prototypes``; ``"even"`` and ``"proportional"`` split these
        between the groups, evenly or in proportion to their rows, one each at least.
    quota : dict, optional
        With ``per``, in place of a choice for each group one for all rows, with so many rows of a value at least and at
        most: ``{"de": (20, 40)}``, or ``["de=20:40", "en=:50"]``.
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
        Where partitions of the files are worked on: threads, processes, or ``client.get_executor(retries=2,
        pure=False)`` of a Dask cluster; by default in this process, on all of its cores. Tables in memory go to threads
        only. Methods that judge rows one by one do so in this process, with a warning. See docs/scale.md.
    half_life : int, optional
        Of a stream, such as standard input: a row weighs half as much after so many more, so that prototypes are those
        of the recent past. By default all rows weigh the same. See docs/streams.md.
    partition_rows : int, default 250,000
        Rows of a partition, about. Another number changes the last bits of sums, so the choice may be another one,
        about as good.
    window : int, optional
        Partitions that are at the executor at a time; by default two for each of its workers, and no fewer than 4.
    work : path, optional
        A folder that keeps what is done until ``output`` is written. The same call after an interrupted run, with or
        without an executor, goes on from there, with the same result. For files only.

    Returns
    -------
    Prototypes
        With ``table`` (the rows as they stand in their files), ``shares``, ``encoding``, ``provenance`` and ``sample``
        (at most 8,192 random rows of what they represent); ``indices`` are row numbers in the whole input, and row
        positions in a table. ``to_pandas()``, ``to_arrow()`` and ``to_polars()`` make tables of it. With ``per`` the
        table also has ``group_weight``, the weight within the group, and ``group_share``, the group's share of all
        rows; ``weight`` is the product of the two.

    Notes
    -----
    O(n points d) for the sums, with at most 3,072 points, and O(sample (m d + m^2)) for the choice. Memory is the
    sample, a few pieces of a file and the selector's own, whatever the number of rows.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_wine
    >>> import protosieve
    >>> wine = load_wine(as_frame=True).frame.rename(columns={"target": "kind"})
    >>> result = protosieve.select(wine, 12, label="kind")
    >>> len(result), result.residual < 0.1
    (12, True)
    >>> result.to_pandas().columns[:5].tolist()
    ['row', 'file', 'weight', 'share', 'kind']
    >>> bool((wine["kind"].iloc[result.indices].to_numpy() == result.to_pandas()["kind"]).all())
    True

    Files of the same rows give the same prototypes:

    >>> folder = tempfile.mkdtemp()
    >>> wine.to_parquet(os.path.join(folder, "wine.parquet"))
    >>> protosieve.select(os.path.join(folder, "*.parquet"), 12, label="kind").indices.tolist() == list(result.indices)
    True
    """
    return run(locals())


def run(given: Mapping[str, Any], command: str | None = None) -> Prototypes:
    """`select`, with its arguments by name, for the ``command`` line that asked for it, if one did."""
    csv = CsvForm(given["delimiter"], given["encoding"], given["decimal"])
    tables = {name: tables_in(given[name], name, given["format"], csv) or [] for name in _TABLES}
    given = {**given, **{name: [source.name for source in found] for name, found in tables.items() if found}}
    options = options_of(given)
    output = Destination.of(given["output"], given["output_format"], given["label_column"])
    if output is not None:
        check_output(output)
    page = report_place(given["report"], given["watch"], output)
    _check_executor(given["executor"], given["window"])
    if given["work"] is not None or not isinstance(given["executor"], ThreadPoolExecutor | None):
        check_shared(options.embed, "executor" if given["work"] is None else "work")
    if options.is_stream:
        _check_stream(given, options.stream)
    with served(given["watch"], options) as live:
        job, read = begin(options, command, tables)
        sources = [source for found in read.values() for source in found]
        if output is not None and output.label_column is not None:
            output.check_columns(sources[0].schema().names)
        _check_apart({"output": output, "report": page}, sources)
        _check_again(given["work"], [*read["inputs"], *read["target"]])
        _check_tables(given["executor"], given["format"], [*read["inputs"], *read["target"]])
        onlookers = Onlookers(options, page, live, output)
        with _opened(given["work"], job, [output, page, *(source.name for source in sources)]) as store:
            job = job if store is None else replace(job, seed=store.seed)
            if not given["quiet"] and store is not None and store.there:
                tell(store.told())
            with watching(given["quiet"], given["progress"]) as watcher:
                result = _result(job, store, onlookers, watcher, given["executor"], given["window"])
            result = _with_index(result, index_of(tables["inputs"], result.indices[result.is_new]))
            if output is not None:
                write_result(result, output)
            onlookers.finish(result)
            if store is not None and output is not None:
                store.remove()
    return result


def begin(
    options: Options, command: str | None = None, tables: Mapping[str, Sequence[Source]] | None = None
) -> tuple[Job, dict[str, Sequence[Source]]]:
    """Look at the heads of all files, but for ``tables`` that were given in memory, and read what stands beside them;
    returns what is to be done, and all that is read, by argument.
    """
    sources = {name: (tables or {}).get(name) or _found(options, name) for name in _TABLES}
    check_form(options.csv, [source for found in sources.values() for source in found])
    aside = Aside(*(NamedRows.read(name, sources[name]) for name in _ASIDE))
    job = job_of(options, sources["inputs"], sources["target"], command, aside)
    aside.note_twice(options.id)
    return job, sources


def _found(options: Options, name: str) -> list[Source]:
    """The files of an argument; there may be none but of the inputs."""
    paths = getattr(options, name)
    if not paths and name != "inputs":
        return []
    return find_sources(paths, None if name in _ASIDE else options.format, options.csv)


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
        warn(
            f"{arg('method', job.options.method)} judges rows one after the other: that pass is made in this "
            "process, whatever workers there are",
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
    sources = [stretch.source for one in [*job.inputs, *job.targets] for stretch in one.row_ranges]
    again = not any(source.comes_once or is_table(source) for source in sources)
    hint = f". With {arg('work', 'DIR')} a run can go on later" if again else ""
    return f"{progress.place}; {left or 'nothing was written'}{hint}"


def _check_executor(executor: Any, window: int | None) -> None:
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ParameterError(f"{arg('executor')} must be one of concurrent.futures, got {executor!r}")
    if window is not None and executor is None:
        raise ParameterError(f"{arg('window')} is for runs at an executor; give {arg('executor')} too")


def _check_stream(given: Mapping[str, Any], stream: str) -> None:
    """Refuse what a stream, which comes once, cannot be combined with."""
    if given["work"] is not None:
        raise ParameterError(
            f"{arg('work')} cannot bring back rows of {stream}; store them in a file first, or use the "
            "selectors' own save"
        )
    if given["executor"] is not None:
        raise ParameterError(
            f"{arg('executor')}: {stream} is one stream of rows, for one process; store the rows in a file first"
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
    """A run that can go on later must be able to read its rows again, and to tell that they are the same."""
    for source in () if work is None else sources:
        if is_table(source):
            raise ParameterError(
                f"{arg('work')} goes on later with the same rows, and of {source.name}, which is in memory, nothing "
                "tells that they are; write it to a Parquet file and pass its path"
            )
        if source.comes_once:
            raise ParameterError(
                f"{arg('work')} needs rows that can be read again, and {source.name} comes once; store its rows in a "
                "file first"
            )


def _check_tables(executor: Executor | None, format: str | None, sources: Sequence[Source]) -> None:
    """Tables in memory are not sent anywhere, and have no format."""
    table = next(filter(is_table, sources), None)
    if table is not None and not isinstance(executor, ThreadPoolExecutor | None):
        raise ParameterError(
            f"{arg('executor')}: {table.name} is in the memory of this process, and others cannot read it; write it "
            "to a Parquet file and pass its path, or use concurrent.futures.ThreadPoolExecutor"
        )
    if format is not None and all(map(is_table, sources)):
        raise ParameterError(f"{arg('format', format)} is for files, and there are only tables in memory; leave it out")


def _with_index(result: Prototypes, index: Mapping[str, Any]) -> Prototypes:
    """The result with the index of the frame that its rows come from: columns after ours, under free names."""
    if not index or result.source is None:
        return result
    table, names = result.table, list[str]()
    for name, cells in index.items():
        name = free_name(name, table.column_names, "index_")
        cells = pa.concat_arrays([cells, pa.nulls(len(table) - len(cells), cells.type)])
        table = table.add_column(len(OURS) + len(names), name, cells)
        names.append(name)
    source = replace(result.source, table=table, provenance={**result.source.provenance, "index": names})
    return replace(result, source=source)


def _check_busy(partitions: int, workers: int) -> None:
    """Warn if there are more workers than partitions."""
    if partitions < workers:
        few = f"{partitions} partition{'s' * (partitions > 1)} for {workers} workers"
        warn(
            f"{few}: not all of them have something to do; fewer {arg('partition_rows')}, or smaller row groups, "
            "make more",
            stacklevel=7,
        )
