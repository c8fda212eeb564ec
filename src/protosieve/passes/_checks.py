"""What must be so before rows are selected, and what a user should know: the errors and notes of a plan."""

import math
import os

import numpy as np

from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, arg, warn
from protosieve.passes._blocks import LeftOut
from protosieve.passes._job import Job
from protosieve.passes._pass import together
from protosieve.passes._survey import Summary
from protosieve.preprocess import Encoding, TextColumn, is_named_like_id

_LEAST = 10  # rows of a sample, where it does not hold all: two of them are held out
_MANY = 0.01  # of the rows
_ENOUGH = 1000  # sampled rows, to tell ids from counts
_MATRICES = 4  # of m x m numbers in float64 that a selector holds at a time, with its copy


def check_some(files: list[str], rows: int, skipped: LeftOut) -> None:
    """`InputError` where no row could be used."""
    if rows:
        return
    if skipped.count:
        raise InputError(f"{together(files)}: no row can be used; the first problem is {skipped.first[0]}")
    raise InputError(f"{together(files)}: there are no rows; give some")


def check_drawn(files: list[str], found: Summary) -> None:
    """`InputError` where next to none of the usable rows are among those that were drawn: see `SurveyPass.limit`."""
    assert found.sample.rows is not None
    drawn = found.sample.rows.settled()
    if drawn.is_whole or len(drawn.rows) >= _LEAST:
        return
    raise InputError(
        f"{together(files)}: {found.rows:,} rows can be used and {found.skipped.count:,} cannot, so the sample has "
        f"{len(drawn.rows):,}; store the rows that can be used in a file of their own, or give a larger {arg('sample')}"
    )


def check_image_shape(job: Job, encoding: Encoding) -> None:
    """`ParameterError` if rows cannot be shown as images of this shape, before they are selected."""
    shape = job.options.image_shape
    if shape is None:
        return
    size = math.prod(int(side) for side in shape.split("x"))
    widths = [column.width for column in encoding.layout.items]
    if size not in (len(encoding.names), sum(widths), *widths):
        raise ParameterError(
            f"{arg('image_shape', shape)} has {size:,} pixels, and a row has "
            f"{sum(widths):,} numbers; give the shape of the rows, or leave it out"
        )


def number_of_prototypes(job: Job, n_rows: int | None) -> int:
    """At most the number of rows, if that is known; `ParameterError` if memory has no room for them."""
    m = job.options.count(n_rows)
    if n_rows is not None and m > n_rows:
        warn(f"{m:,} prototypes were asked for, and there are {n_rows:,} rows: at most these are kept")
        m = n_rows
    needed, free = _MATRICES * 8 * m**2 / 1e9, _free_memory() / 1e9
    if needed > free:
        raise ParameterError(
            f"{arg('n_prototypes', m)} needs about {needed:,.0f} GB for the similarities between prototypes, "
            f"and {free:,.0f} GB are free; ask for fewer"
        )
    return m


def _free_memory() -> float:
    """In bytes; infinite if the system does not tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def note_columns(job: Job, encoding: Encoding, rows: Array) -> None:
    """A note on columns of whole numbers that differ in all rows, or are named like ids, and were not asked for; and on
    texts that are alike because none of their words is known.
    """
    asked = [*(job.options.features or []), *encoding.dropped]
    for column, place in encoding.layout.placed():
        if isinstance(column, TextColumn) and column.width:
            without = float(rows[:, place + column.width - 1].mean())  # which is 1 where no word is known
            if without >= _MANY:
                warn(
                    f"{100 * without:.0f} % of the texts in column {column.name!r} are empty, null or without a known "
                    "word: these are alike, and unlike all others"
                )
        if column.kind != "number" or column.name in asked:
            continue
        if is_named_like_id(column.name) and _are_whole(rows[:, place]):
            warn(
                f"rows are compared by column {column.name!r}, whole numbers that are named like an id; if they only "
                f"name things, give {arg('categorical', column.name)} or {arg('exclude', column.name)}"
            )
        elif len(rows) >= _ENOUGH and _are_ids(rows[:, place]):
            warn(
                f"rows are compared by column {column.name!r}, a different whole number in each of {len(rows):,} "
                f"sampled rows; if it only names rows, give {arg('id', column.name)}"
            )


def _are_ids(values: Array) -> bool:
    few = values[:_ENOUGH]  # most columns are told apart by these
    return all(len(np.unique(some)) == len(some) and _are_whole(some) for some in (few, values))


def _are_whole(values: Array) -> bool:
    known = values[~np.isnan(values)]
    return bool((known == np.rint(known)).all())


def check_sample(wanted: int, drawn: int) -> None:
    """A warning if most rows cannot be used, so that fewer were drawn than wanted: see `SurveyPass.limit`."""
    if drawn < wanted:
        warn(
            f"so many rows were skipped that the sample has {drawn:,} instead of {wanted:,}, which makes the mean less "
            f"certain; a larger {arg('sample')} makes up for it"
        )
