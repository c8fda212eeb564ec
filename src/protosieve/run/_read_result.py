"""Results read back from their files, and rows to look at beside them."""

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from protosieve._prototypes import Certificate, DataSample, Prototypes, Trace
from protosieve.errors import InputError
from protosieve.io import Source, check_schemas, find_sources, read_result
from protosieve.kernels import from_plain
from protosieve.means import SamplingError
from protosieve.passes import (
    MOST,
    RowSample,
    fingerprint,
    names,
    partitions_of,
    read_blocks,
    sample_seed,
    typed,
    unchanged,
)
from protosieve.preprocess import Encoding
from protosieve.report import folders_of, own_names
from protosieve.run._bar import bar
from protosieve.run._progress import Tick
from protosieve.run._provenance import check_known

__all__ = ["draw_sample", "read_prototypes"]


def read_prototypes(path: str | os.PathLike[str]) -> Prototypes:
    """The result in a file that `select` wrote; see `Prototypes.read`. O(file), and O(m d) to encode its rows."""
    table, provenance = read_result(path)
    try:
        return _prototypes(table, provenance)
    except KeyError as error:
        raise InputError(
            f"{os.fspath(path)}: does not say {error}, which results of this version do; write it anew with this "
            "version's select"
        ) from error
    except (AttributeError, OverflowError, TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{os.fspath(path)}: is damaged or was changed ({str(error)[:300]}); write it anew with select"
        ) from error


def _prototypes(table: pa.Table, known: Mapping[str, Any]) -> Prototypes:
    if not len(table):
        raise ValueError("it holds no prototypes")
    check_known(known)
    encoding = Encoding.from_dict(known["encoding"])
    certificate, kernel = _certificate(known["certificate"]), from_plain(known["kernel_parameters"])
    seed = known["parameters"]["random_state"]
    rows = encoding.encode(_own(table, known["renamed"]))
    if kernel is not None:
        kernel.prepare(rows)  # a kernel for rows of another width fails here
    return Prototypes(
        indices=_numbers(table, "row", np.int64),
        rows=rows,
        weights=_numbers(table, "weight", np.float64),
        objective=_number(known["objective"]),
        residual=_number(known["residual"]),
        mmd=_number(known["mmd"]),
        certificate=certificate,
        trace=_trace(known["trace"]),
        kernel=kernel,
        selector=str(known["selector"]),
        parameters={"n_prototypes": int(known["n_prototypes"]), "kernel": kernel, "random_state": seed},
        n_seen=int(known["rows"]),
        random_state=seed,
        version=str(known["version"]),
        feature_names=tuple(encoding.names),
        shares=_numbers(table, "share", np.float64),
        table=table,
        encoding=encoding,
        provenance=known,
    )


def _own(table: pa.Table, renamed: Mapping[str, str]) -> pa.Table:
    """The users' columns under their own names."""
    found = own_names(table.column_names, renamed)
    return pa.table([table.column(i) for i in found], names=list(found.values()))


def _numbers(table: pa.Table, name: str, dtype: Any) -> Any:
    column = table.column(name)
    if column.null_count:
        raise ValueError(f"column {name!r} has nulls")
    return np.array(column.to_numpy(), dtype)


def _number(value: Any, none: float = math.nan) -> float:
    """JSON has no NaN and no infinity: they are null there."""
    return none if value is None else float(value)


def _certificate(known: Mapping[str, Any]) -> Certificate:
    return Certificate(_number(known["value"]), _number(known["upper_bound"]), _sampling(known["sampling"]))


def _sampling(known: Mapping[str, Any] | None) -> SamplingError | None:
    if known is None:
        return None
    errors = (_number(known[name], math.inf) for name in ("standard_error", "of_squared_mmd"))
    return SamplingError(int(known["rows"]), int(known["population"]), *errors)


def _trace(known: Mapping[str, Any]) -> Trace:
    counts = [known[name] for name in ("rows_seen", "accepted", "exchanged")]
    rows_seen, accepted, exchanged = (None if of is None else np.array(of, np.int64) for of in counts)
    objective = np.array([_number(value) for value in known["objective"]])
    told = known.get("bound")  # earlier versions did not say
    bound = None if told is None else np.array([_number(value) for value in told])
    if rows_seen is None or any(
        of.shape != rows_seen.shape for of in (objective, accepted, exchanged, bound) if of is not None
    ):
        raise ValueError("the points of its trace differ in number")
    return Trace(rows_seen, objective, accepted, exchanged, bound)


def draw_sample(
    result: Prototypes,
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    bad_rows: str | None = None,
    quiet: bool = True,
) -> DataSample:
    """A uniform sample of the rows of files, encoded as the result's rows are: one pass, O(n) time, fixed memory.

    Of the files a run made the result of (its target's, where it had one) it is the run's own sample. ``format`` and
    ``bad_rows`` are as for `select`, by default as they were there; ``quiet`` shows no progress bar.
    """
    encoding, known = result.encoding, result.provenance
    if encoding is None or known is None:
        raise InputError("only the result of a run over files knows how rows of files are encoded; pass rows in memory")
    asked = known["parameters"]
    sources = find_sources(names(files, "files"), format or asked["format"])
    check_schemas(sources)
    skip = (bad_rows or asked["bad_rows"]) == "skip"
    is_target = _is_target(sources, known)
    of_target = is_target and bool(known["parameters"]["target"])
    sample = RowSample.empty(sample_seed(known["seed"], of_target), MOST)
    before, sizes = [fingerprint(source) for source in sources], [source.size or 0 for source in sources]
    with unchanged(sources, before), bar(quiet) as watcher:
        for partition in partitions_of(sources, asked["partition_rows"]):  # by which rows are known, as in the run
            columns, start = encoding.layout, partition.start
            blocks = read_blocks(partition.stretches, columns, None, start, skip, lambda: False, encoding.transform)
            with closing(blocks):
                for block in blocks:
                    sample.take(block)
                    done = sum(sizes[: partition.first_file]) + block.bytes_read
                    watcher(Tick("look", 1, 1, sample.seen, done, sum(sizes), None, None))
    if sample.rows is None:
        raise InputError(f"{sources[0].name}: there are no rows that can be used; give files that have some")
    found = sample.light()
    numbers, rows = found.numbers, sample.rows.settled().rows_of(found.numbers)
    folders = folders_of(source.name for source in sources)
    return DataSample(numbers, rows, typed(found.table, encoding.layout), sample.seen, is_target, folders)


def _is_target(sources: Sequence[Source], known: Mapping[str, Any]) -> bool:
    """Whether these files are the target's; those of a later month are not, whatever the run had."""
    target = {Path(file["name"]).absolute() for file in known["target_files"]}
    return {Path(source.name).absolute() for source in sources} <= target
