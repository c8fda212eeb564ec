"""What partitions offer, made one choice."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protosieve.distributed._candidates import Candidates, Rows
from protosieve.distributed._plan import ALL_OFFERED, Plan
from protosieve.pipeline._gallery import Gallery, Shown
from protosieve.pipeline._run import Run, check_count
from protosieve.sampling import Reservoir, hashes
from protosieve.selectors._rules import whole_number

__all__ = ["conclude", "fan_in", "levels", "merge_candidates"]

_FEWEST, _ROWS = 8, 65536  # sets of candidates, and rows chosen in them, that are merged at once


def fan_in(n_prototypes: int) -> int:
    """Sets of candidates that are merged at once."""
    return max(_FEWEST, _ROWS // n_prototypes)


def levels(partitions: int, at_once: int) -> list[list[range]]:
    """The tree by which so many partitions are merged: per level, which results of the level below go together.

    The last merge, `conclude`, takes what is left; there are no levels where that is all partitions. It follows from
    the number of partitions alone.

    >>> levels(10, 4)
    [[range(0, 4), range(4, 8), range(8, 10)]]
    >>> levels(4, 4)
    []
    """
    whole_number(2).check("drive", "at_once", at_once)
    found, left = [], partitions
    while left > at_once:
        found.append([range(start, min(start + at_once, left)) for start in range(0, left, at_once)])
        left = len(found[-1])
    return found


def merge_candidates(candidates: Sequence[Candidates], plan: Plan) -> Candidates:
    """Those of some partitions, in their order, made as few as one of them has: a step of a tree.

    The selector goes over what was chosen; the sample of all rows passes by. O(chosen (points + m) d).
    """
    if not any(map(len, candidates)):
        return candidates[0]
    first, seen = min(one.partition for one in candidates), sum(one.seen for one in candidates)
    rows, chosen = _together(candidates)
    offered = rows.taken(np.flatnonzero(chosen))
    selector = plan.selector(5, first, candidates=ALL_OFFERED)
    selector.partial_fit(offered.rows)
    kept = offered.numbers[selector._chosen().indices]
    stays = np.isin(rows.numbers, kept) | (hashes(plan.seed, rows.numbers) <= np.uint64(plan.limit))
    return Candidates.of(first, seen, rows.taken(np.flatnonzero(stays)), kept)


def conclude(run: Run, candidates: Sequence[Candidates], plan: Plan) -> None:
    """The last merge: the run has then seen all rows, and `finish` makes a result of it.

    The selector goes over all that was chosen, in the order of the rows, and then over a uniform sample of all rows:
    partitions unlike each other choose what stands for the whole among their own rows, which need not be what stands
    for it among all. O((chosen + sample) (points + m) d).
    """
    check_count([file["name"] for file in run.files], sum(one.seen for one in candidates), run.n_rows)
    rows, chosen = _together(candidates)
    lowest = np.argsort(hashes(plan.seed, rows.numbers))[: plan.looked_at]
    stream = np.concatenate([np.flatnonzero(chosen), lowest[~chosen[lowest]]])
    offered = rows.taken(stream)
    _offer(run, offered)
    run.random = _random(run, rows.rows[lowest[: plan.n_prototypes]])
    if run.options.target is None:
        shown = rows.taken(np.sort(lowest))
        run.gallery = Gallery.of(run.seed, Shown(shown.numbers, shown.rows, shown.table), run.n_rows)


def _together(candidates: Sequence[Candidates]) -> tuple[Rows, NDArray[np.bool_]]:
    """All rows by rising number, and which of them were chosen."""
    some = [one for one in candidates if len(one)]
    rows = Rows.joined([one.unpacked() for one in some])
    return rows, np.isin(rows.numbers, np.concatenate([one.numbers[one.chosen] for one in some]))


def _offer(run: Run, offered: Rows) -> None:
    """Rows to the run's selector, and their columns to its records."""
    positions = np.arange(len(offered.numbers))
    run.selector.partial_fit(offered.rows)
    run.records.update(positions, np.column_stack([positions, offered.numbers, offered.files]), offered.table)


def _random(run: Run, rows: NDArray[np.float32]) -> Reservoir:
    return Reservoir(len(rows), rows, np.arange(len(rows)), run.rng(2), len(rows))
