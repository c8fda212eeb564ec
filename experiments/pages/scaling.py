"""What we learnt: time and memory against the number of rows."""

from matplotlib.figure import Figure
from numpy import log, polyfit

from experiments._page import Page, Table, figure
from experiments._scale import Scale
from experiments._style import look
from experiments._task import Results, Task
from experiments.measures.scaling import COLUMNS, SCALED, M, scaled

STREAMS = tuple(method for method in SCALED if method != "ProtoDash")
LINEAR = 1.1  # the exponent of n that still counts as linear
FLAT = 1.25  # and the growth of memory that counts as none

INTRODUCTION = """
The paper's largest set has 16,000 rows, and an exact mean, over all pairs of rows, is quadratic. Here a mixture of 50
Gaussians in {columns} columns (float32) is read in chunks, once, by each method that streams, with a Gaussian
of the median rule's width and, by default, the calibrated mean. m = {m}. Batch ProtoDash gets all rows
at once. Seconds are of one thread, with the mean and the result, without making the data. Memory is the peak
of a process of its own, beyond what the imports take; for ProtoDash it includes the rows. The first rows cost more than
the others, since points are drawn anew as it grows.
"""


def tasks(scale: Scale) -> list[Task]:
    return [scaled(method, rows) for rows in scale.stream_rows for method in SCALED]


def page(results: Results, scale: Scale) -> Page:
    """The figure, the table, and what they say."""
    made = Page("scaling", "Time against n", f"Seconds and memory up to {scale.stream_rows[-1]:,} rows.")
    made.text(INTRODUCTION.format(columns=COLUMNS, m=M))
    made.figure("scaling", _draw(results, scale), "Seconds and peak memory against rows, logarithmic.")
    made.table("scaling", _table(results, scale))
    _judge(made, results, scale)
    return made


def _curve(results: Results, scale: Scale, method: str, what: str) -> list[float]:
    return [results[scaled(method, rows)][what] for rows in scale.stream_rows]


def _table(results: Results, scale: Scale) -> Table:
    most = scale.stream_rows[-1]
    columns = ["method", *(f"s, {rows:,} rows" for rows in scale.stream_rows), "rows/s from the last size but one on"]
    columns += [f"MB, {rows:,} rows" for rows in scale.stream_rows[:: len(scale.stream_rows) - 1]]
    columns += ["rows kept", "residual of its sample"]
    rows = []
    for method in SCALED:
        seconds, memory = (_curve(results, scale, method, what) for what in ("seconds", "peak_mb"))
        last = results[scaled(method, most)]
        rows.append([method, *seconds, _rate(scale, seconds), memory[0], memory[-1], last["kept"], last["residual"]])
    return Table(columns, rows)


def _rate(scale: Scale, seconds: list[float]) -> int:
    """Of the rows between the last two sizes: the first rows cost more, while the sample grows."""
    return round((scale.stream_rows[-1] - scale.stream_rows[-2]) / max(seconds[-1] - seconds[-2], 1e-9))


def _draw(results: Results, scale: Scale) -> Figure:
    drawn_on, axes = figure(2)
    for on, what, name in zip(axes[0], ("seconds", "peak_mb"), ("seconds", "peak memory, MB"), strict=True):
        for method in SCALED:
            on.plot(scale.stream_rows, _curve(results, scale, method, what), **look(method))
        on.set(xlabel="rows", ylabel=name, xscale="log", yscale="log")
    per_row = (
        min(results[scaled(method, scale.stream_rows[-1])]["seconds"] for method in SCALED) / scale.stream_rows[-1]
    )
    axes[0][0].plot(
        scale.stream_rows,
        [per_row * rows / 2 for rows in scale.stream_rows],
        color="#BBBBBB",
        label="linear",
        linestyle="--",
    )
    drawn_on.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return drawn_on


def _judge(made: Page, results: Results, scale: Scale) -> None:
    exponents = {method: _exponent(results, scale, method) for method in SCALED}
    made.claim(
        "Time grows no faster than the number of rows",
        holds=max(exponents.values()) <= LINEAR,
        seen=f"Over the {len(_tail(scale))} largest sizes seconds grow like n to the power "
        + ", ".join(f"{value:.2f} ({method})" for method, value in exponents.items())
        + f"; at {scale.stream_rows[-1]:,} rows that is "
        + ", ".join(
            f"{results[scaled(method, scale.stream_rows[-1])]['seconds']:.3g} s ({method})" for method in SCALED
        )
        + ".",
    )
    growth = {method: _growth(results, scale, method) for method in SCALED}
    made.claim(
        "One pass runs in memory that does not grow with the stream",
        holds=max(growth[method] for method in STREAMS) <= FLAT,
        seen=f"From {_tail(scale)[0]:,} to {scale.stream_rows[-1]:,} rows the peak grows by a factor of "
        + ", ".join(f"{growth[method]:.2f} ({method})" for method in STREAMS)
        + f"; batch ProtoDash's, which holds all rows, by {growth['ProtoDash']:.1f}, "
        f"to {results[scaled('ProtoDash', scale.stream_rows[-1])]['peak_mb']:,.0f} MB.",
    )


def _tail(scale: Scale) -> tuple[int, ...]:
    """The sizes at which the costs of the first rows no longer count."""
    return scale.stream_rows[-3:]


def _exponent(results: Results, scale: Scale, method: str) -> float:
    sizes = _tail(scale)
    return float(polyfit(log(sizes), log([results[scaled(method, rows)]["seconds"] for rows in sizes]), 1)[0])


def _growth(results: Results, scale: Scale, method: str) -> float:
    first, last = (results[scaled(method, rows)]["peak_mb"] for rows in (_tail(scale)[0], scale.stream_rows[-1]))
    return last / max(first, 1.0)
