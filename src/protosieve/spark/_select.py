"""`select`: from a DataFrame to prototypes."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from protosieve import _defaults as default
from protosieve.errors import ParameterError, arg
from protosieve.kernels import Kernel
from protosieve.passes import options_of
from protosieve.preprocess import check_shared
from protosieve.result import Prototypes
from protosieve.result.files import check_output, write_result
from protosieve.run import Onlookers, report_place
from protosieve.spark._engine import OnSpark
from protosieve.spark._frame import Frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def select(
    df: "DataFrame",
    n_prototypes: int | str,
    *,
    target: "DataFrame | None" = None,
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
    random_state: int | None = default.RANDOM_STATE,
    bad_rows: str = default.BAD_ROWS,
    image_shape: str | Sequence[int] | None = None,
    image: str | None = None,
    coordinates: Sequence[str] | None = None,
    per: str | None = None,
    split: str = default.SPLIT,
    report: str | os.PathLike[str] | None = None,
) -> Prototypes:
    """The rows of a Spark DataFrame that represent it best, each with a weight.

    Two passes over the DataFrame, where its partitions are: the first learns how columns become numbers and draws a
    sample, with all columns; in the second every row counts in the mean that prototypes are to match. Columns of
    ``text`` take one more before. The driver then chooses from the sample. The answer depends on the partitions, the
    options and the seed alone.

    Every pass computes the DataFrame again, which must give the same rows in the same partitions and order; other rows
    are an error. Rows of files do. After a join, a ``repartition`` or a random column, cache it or write it to Parquet.

    Parameters
    ----------
    df : DataFrame
        Of Spark or Spark Connect, 4.0 or later. protosieve must be installed where its partitions are worked on.
    n_prototypes : int or str
        Rows to keep at most; ``"1%"`` for a share of all.
    target : DataFrame, optional
        With the same columns: rows whose distribution is to be matched; by default those of ``df``.
    embedding : column, optional
        A column of ``array<float>`` or ``array<double>``, taken as it is; unless ``features`` says more it is the only
        feature. Vectors of ``pyspark.ml`` are made such by ``pyspark.ml.functions.vector_to_array``.
    output, report : path, optional
        Where to write the prototypes, and a page about them: files of the driver's.
    method, goal, features, exclude, id, label, categorical, text, embed, balance, scale, max_categories, day_first, \
 cycles, kernel, width, sample, random_state, bad_rows, image_shape, image, coordinates, per, split
        As for `protosieve.select`; ``method`` can only be ``"swap"``, because others judge rows one after the other.
        A kernel of your own must be a function that can be pickled.

    Returns
    -------
    Prototypes
        As of `protosieve.select`: ``table`` has all columns of the chosen rows. In place of a file there is a
        partition, such as ``"partition 3"``, and rows are numbered in the order of the partitions.

    Notes
    -----
    Each pass costs what it takes to compute and read the rows and, the second, O(rows points d) in all. A task holds a
    few batches and its part of the sample; the driver holds a few samples after the first pass and, after the second,
    ``n_prototypes`` encoded rows of each partition.
    """
    asked = {**locals(), "inputs": "DataFrame", "target": None if target is None else "DataFrame"}
    options = options_of(asked)
    if output is not None:
        check_output(os.fspath(output))
    page = report_place(report, False, output)
    _check_method(method)
    check_shared(options.embed, "df")
    _check_there()
    run = OnSpark(options, Frame(df, "df", "partition"), None if target is None else Frame(target, "target", _OTHER))
    result = run.result()
    assert result.source is not None
    source = replace(result.source, provenance={**result.source.provenance, "command": None})  # none has done it
    result = replace(result, source=source)
    if output is not None:
        write_result(result, os.fspath(output))
    Onlookers(options, page).finish(result)
    return result


_OTHER = "target partition"


def _check_method(method: str) -> None:
    if method != default.METHOD:
        raise ParameterError(
            f"{arg('method', method)} judges rows one after the other, and Spark has them in many places; use "
            f"{arg('method', default.METHOD)}, or write the rows to Parquet files and pass these to protosieve.select"
        )


def _check_there() -> None:
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ParameterError(
            "protosieve.spark needs pyspark, which this Python does not have: pip install 'protosieve[spark]'"
        ) from error
    if not hasattr(DataFrame, "toArrow"):
        raise ParameterError("protosieve.spark needs pyspark 4.0 or later, for DataFrame.toArrow; this is an older one")
