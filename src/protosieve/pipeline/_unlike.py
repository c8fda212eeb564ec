"""Standard input whose first rows are unlike the rest: what they settled is settled anew by all rows."""

import copy

import numpy as np
import pyarrow as pa

from protosieve._typing import Array
from protosieve.pipeline._blocks import Block, LeftOut
from protosieve.pipeline._run import Run, UnlikeHead
from protosieve.pipeline._tables import Records
from protosieve.preprocess._differences import ratio_differs
from protosieve.sampling import Reservoir

__all__ = ["by_all_rows"]

_ENOUGH = 2  # sampled rows per prototype, to choose from
_FEW = "they are few"
_LARGE = "rows are too large to keep enough of them and choose again"


def by_all_rows(run: Run) -> Run:
    """The run, or, where its first rows were unlike all there have been, one that begins anew.

    It encodes the uniform sample of all rows by what all rows say and chooses from that. Where there are too few rows
    for that, the run stays as it is. Either way the result can tell. O(sample (m d + m^2)).
    """
    if run.gallery is None or run.head is None:
        return run
    whole = run.survey.settle(run.options.scale, run.options.max_categories)
    numbers, raw, table = run.gallery.shown()
    found = run.head.differences(run.encoded, run.survey, whole, raw)
    words, matters = [one.words for one in found], any(one.matters for one in found)
    if not matters and _width_differs(run, run.encoded.transform(raw)):
        words, matters = [*words, "distances between rows are others"], True
    if not words:
        return run
    twin = copy.copy(run)
    enough = len(raw) >= min(_ENOUGH * run.selector.n_prototypes, run.n_rows)
    if not (matters and enough):
        twin.unlike = UnlikeHead(run.head.n_rows, words, None, _LARGE if matters else _FEW)
        return twin
    twin.unlike = UnlikeHead(run.head.n_rows, words, len(raw), None)
    order = run.rng(4).permutation(len(numbers))  # a stream may be sorted
    rows = whole.transform(raw[order])
    twin.encoding, twin.target, twin.records = whole, rows, Records()
    twin.choose_selector(run.options.kernel.resolve(rows, run.rng(3)), None)
    twin.selector.fit(rows)
    twin.random = Reservoir.empty(run.selector.n_prototypes, rows, run.rng(2))
    twin.random.observe(rows)
    columns, files = [table.take(pa.array(order))], np.zeros_like(numbers)
    block = Block(rows, columns, numbers[order], files, LeftOut(), run.position, 0)
    twin.keep_records(block, 0)
    return twin


def _width_differs(run: Run, rows: Array) -> bool:
    """Of the kernel, were it learnt from all rows, encoded as they are."""
    kernels = run.selector.kernel, run.options.kernel.resolve(rows, run.rng(3))
    before, after = (getattr(kernel, "width", None) for kernel in kernels)
    return isinstance(before, float) and isinstance(after, float) and ratio_differs(before, after)
