"""The objective along the stream."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Float64


@dataclass(frozen=True, eq=False)
class Trace:
    """The objective along the stream: ``objective[i]`` after ``rows_seen[i]`` rows.

    By then ``accepted[i]`` rows had entered a set, and ``exchanged[i]`` members had been replaced. Either is None where
    a selector does not count it: only `ProtoSwap` exchanges, and ProtoBasic and the batch methods count nothing.
    Exchanges made when a result is asked for are not part of the stream, and not counted.

    ``bound[i]`` is what no selection exceeded by the mean at that time, so ``1 - objective / bound`` is the residual
    along the stream. It is constant for a target known from the start, else that of the rows seen so far; None where it
    is not known.

    There are at most 256 points or so, however long the stream. ProtoBasic, and `ProtoSwap` unless it judges all rows
    as they come, solve no weights on the way: their trace has the last point only.
    """

    rows_seen: NDArray[np.int64]
    objective: Float64
    accepted: NDArray[np.int64] | None = None
    exchanged: NDArray[np.int64] | None = None
    bound: Float64 | None = None

    def __len__(self) -> int:
        return len(self.rows_seen)
