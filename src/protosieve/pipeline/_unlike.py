"""Standard input whose first rows are unlike the rest: what they settled is settled anew by all rows."""

import copy

import numpy as np
import pyarrow as pa

from protosieve.kernels import Kernel
from protosieve.means import Reservoir
from protosieve.pipeline._blocks import Block, LeftOut
from protosieve.pipeline._run import Run, UnlikeHead
from protosieve.pipeline._tables import Records
from protosieve.preprocess._differences import differences, ratio_differs
from protosieve.preprocess._encoding import Encoding

__all__ = ["by_all_rows"]

_ENOUGH = 4  # sampled rows per prototype, to choose from


def by_all_rows(run: Run) -> Run:
    """The run, or, where its first rows were unlike all there have been, one that begins anew.

    It encodes the uniform sample of all rows by what all rows say and chooses from that. Where the sample is too small
    for that, because rows are heavy, the run stays as it is. Either way the result can tell. O(sample m + m^2) per row.
    """
    if not run.follows_stream or run.gallery is None:
        return run
    encoding = run.survey.settle(run.options.scale, run.options.max_categories)
    numbers, raw, table = run.gallery.shown()
    order = run.rng(4).permutation(len(numbers))  # a stream may be sorted
    rows = encoding.transform(raw[order])
    kernel = run.options.kernel.resolve(rows, run.rng(3))
    found = _differences(run, encoding, kernel)
    if not found:
        return run
    twin = copy.copy(run)
    if len(rows) < min(_ENOUGH * run.selector.n_prototypes, run.n_rows):
        twin.unlike = UnlikeHead(run.head_rows, found, None)
        return twin
    twin.unlike = UnlikeHead(run.head_rows, found, len(rows))
    twin.encoding, twin.target, twin.records = encoding, rows, Records()
    twin.choose_selector(kernel, None)
    twin.selector.fit(rows)
    twin.random = Reservoir.empty(run.selector.n_prototypes, rows, run.rng(2))
    twin.random.observe(rows)
    files = np.zeros(len(rows), np.int64)
    block = Block(rows, [table.take(pa.array(order))], numbers[order], files, LeftOut(), run.position, 0)
    twin.keep_records(block, 0)
    return twin


def _differences(run: Run, encoding: Encoding, kernel: Kernel) -> list[str]:
    found = differences(run.encoded, encoding)
    before, after = (getattr(one, "width", None) for one in (run.selector.kernel, kernel))
    if isinstance(before, float) and isinstance(after, float) and ratio_differs(before, after):
        found.append(f"the kernel's width would be {after:.3g}, not {before:.3g}")
    return found
