"""The residual along the stream."""

from dataclasses import dataclass

import numpy as np

from protosieve._formatting import counted
from protosieve._typing import Float64
from protosieve.result import Prototypes, Trace


@dataclass(frozen=True)
class ResidualTrace:
    """What was left after so many ``rows``, and how many had been accepted and exchanged by then, where counted."""

    rows: list[int]
    residual: list[float]
    accepted: list[int] | None = None
    exchanged: list[int] | None = None
    sentence: str = ""


def stream_of(result: Prototypes) -> ResidualTrace | None:
    """The residual along the stream, each by the bound of its time.

    None where there is only one point, or no bound to hold the objective against.
    """
    trace = result.trace
    if len(trace) < 2 or trace.rows_seen[0] == trace.rows_seen[-1] or trace.bound is None or not trace.bound.min() > 0:
        return None
    residual = np.maximum(1 - trace.objective / trace.bound, 0.0)
    return ResidualTrace(
        rows=trace.rows_seen.tolist(),
        residual=residual.tolist(),
        accepted=None if trace.accepted is None else trace.accepted.tolist(),
        exchanged=None if trace.exchanged is None else trace.exchanged.tolist(),
        sentence=_sentence(trace, residual, bool(np.ptp(trace.bound) > 0)),
    )


def _sentence(trace: Trace, residual: Float64, follows: bool) -> str:
    """From where to where it went, and how much happened on the way."""
    (first, *_, last), (begin, *_, end) = trace.rows_seen.tolist(), residual.tolist()
    moved = "fell" if end <= begin else "rose"
    said = f"What is left {moved} from {100 * begin:.3g} % after {counted(first, 'row')} "
    said += f"to {100 * end:.3g} % after {last:,}."
    if follows:
        said += " Each is judged by the rows that had been seen."
    if trace.exchanged is not None:
        said += f" {counted(int(trace.exchanged[-1]), 'member')} gave way to others."
    if trace.accepted is not None:
        taken = int(trace.accepted[-1])
        said += f" {counted(taken, 'row')} {'was' if taken == 1 else 'were'} taken in."
    return said
