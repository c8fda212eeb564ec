"""What the estimate of mu costs: residual against the size of the sample it is made of."""

from statistics import mean

from matplotlib.figure import Figure

from experiments._page import Page, Table, figure
from experiments._scale import Scale
from experiments._style import STYLES
from experiments._task import Results, Task
from experiments.measures.choose import RANDOM, chosen, drawn
from experiments.measures.follow import bounded, followed, sample_error, sampled
from protosieve.means import CalibratedMean, ReservoirMean

METHODS = ("ProtoSwap", "ProtoStream")
BEFORE = "ProtoSwap"  # also with a sample that was drawn beforehand
CLOSE = 1.1  # times the residual with the exact mean
CALIBRATED_SEEDS = 2

INTRODUCTION = """
The paper keeps "an empirical estimate of mu" along the stream and does not say what it costs; the code
of its first author computes mu from all rows before the stream starts. Here Letters is a true stream: rows come once,
in chunks of 1,000, and the target is what has come so far, kept as a uniform sample of R rows (`ReservoirMean(R)`), or
as `CalibratedMean()`, the default: the sums of all rows at 4 m points, at least 1,024, and a sample that they correct.
In the end rows and weights are judged by the exact mean of all rows.

A uniform sample has an error of its own: its squared MMD to all rows, as a share of |mu|^2, is
(1 / R - 1 / n) (1 - |mu|^2) / |mu|^2 in expectation. A selection that matched its sample perfectly would still
be so far from the truth.
"""


def tasks(scale: Scale) -> list[Task]:
    data, m, seeds = scale.letters, _size(scale), range(scale.sample_seeds)
    return [
        bounded(data),
        *(chosen(data, method, m) for method in METHODS),
        *(drawn(data, m, seed) for seed in range(scale.draws)),
        *(_sampled(scale, method, size, seed) for method in METHODS for size in scale.reservoirs for seed in seeds),
        *(_before(scale, size, seed) for size in scale.reservoirs for seed in seeds),
        *(_calibrated(scale, method, seed) for method in METHODS for seed in range(CALIBRATED_SEEDS)),
    ]


def page(results: Results, scale: Scale) -> Page:
    """The figure, its numbers, and what they say."""
    made = Page("mean", "The estimate of mu", "What a stream loses by knowing its target only from a sample.")
    shown = _Shown(results, scale)
    made.text(INTRODUCTION)
    made.figure("mean", _draw(shown), f"Residual against the size of the sample; Letters, m = {shown.m}, one pass.")
    made.text(
        f"Means over {scale.sample_seeds} seeds, in brackets the smallest and the largest. *Told* is the residual that "
        "the selector itself reports: it knows its sample only."
    )
    made.table("mean", shown.table())
    made.table("mean-runs", shown.runs(), shown=False)
    made.text("## What it shows")
    _judge_sample(made, shown)
    _judge_others(made, shown)
    return made


def _size(scale: Scale) -> int:
    sizes = scale.letters.sizes
    return sizes[len(sizes) // 2]


def _sampled(scale: Scale, method: str, size: int, seed: int) -> Task:
    return followed(scale.letters, method, _size(scale), ReservoirMean(size), seed)


def _before(scale: Scale, size: int, seed: int) -> Task:
    return sampled(scale.letters, BEFORE, _size(scale), ReservoirMean(size), seed)


def _calibrated(scale: Scale, method: str, seed: int) -> Task:
    return followed(scale.letters, method, _size(scale), CalibratedMean(), seed)


class _Shown:
    """The residuals of the page."""

    def __init__(self, results: Results, scale: Scale) -> None:
        self.m, self.sizes, self._results, self._scale = _size(scale), scale.reservoirs, results, scale
        known = results[bounded(scale.letters)]
        self.rows = known["rows"]
        self.own_error = {size: sample_error(known["norm"], known["rows"], size) for size in self.sizes}
        self.exact = {method: results[chosen(scale.letters, method, self.m)]["own_residual"] for method in METHODS}
        self.random = mean(results[drawn(scale.letters, self.m, seed)]["residual"] for seed in range(scale.draws))

    def runs_of(self, method: str, size: int, what: str = "residual") -> list[float]:
        seeds = range(self._scale.sample_seeds)
        return [self._results[_sampled(self._scale, method, size, seed)][what] for seed in seeds]

    def before(self, size: int) -> list[float]:
        seeds = range(self._scale.sample_seeds)
        return [self._results[_before(self._scale, size, seed)]["residual"] for seed in seeds]

    def calibrated(self, method: str, what: str = "residual") -> list[float]:
        return [self._results[_calibrated(self._scale, method, seed)][what] for seed in range(CALIBRATED_SEEDS)]

    def loss(self, method: str, size: int) -> float:
        """Times the residual with the exact mean."""
        return mean(self.runs_of(method, size)) / self.exact[method]

    def table(self) -> Table:
        columns = ["mean over", *METHODS, *(f"{method}, told" for method in METHODS)]
        columns += [f"{BEFORE}, sample drawn beforehand", "the sample's own error"]
        rows: list[list[object]] = [self._row(size) for size in self.sizes]
        told = [mean(self.calibrated(method, "told")) for method in METHODS]
        rows.append(["calibrated", *(_spread(self.calibrated(method)) for method in METHODS), *told, "", ""])
        rows.append(["all rows, exact", *(f"{self.exact[method]:.5f}" for method in METHODS), "", "", "", ""])
        return Table(columns, rows)

    def _row(self, size: int) -> list[object]:
        found = [_spread(self.runs_of(method, size)) for method in METHODS]
        told = [mean(self.runs_of(method, size, "told")) for method in METHODS]
        return [f"{size:,} rows", *found, *told, _spread(self.before(size)), self.own_error[size]]

    def runs(self) -> Table:
        """Every run."""
        columns = ["method", "mean", "seed", "residual", "told", "seconds"]
        names = ("residual", "told", "seconds")
        found = [
            [method, f"{size} rows", seed, *figures]
            for method in METHODS for size in self.sizes
            for seed, figures in enumerate(zip(*(self.runs_of(method, size, name) for name in names), strict=True))
        ]  # fmt: skip
        return Table(columns, found + [
            [method, "calibrated", seed, *figures] for method in METHODS
            for seed, figures in enumerate(zip(*(self.calibrated(method, name) for name in names), strict=True))
        ])  # fmt: skip


def _spread(values: list[float]) -> str:
    return f"{mean(values):.5f} ({min(values):.5f} to {max(values):.5f})"


def _draw(shown: _Shown) -> Figure:
    drawn_on, ((axes,),) = figure(width=6.6, height=4.2)
    for method in METHODS:
        runs, look = [shown.runs_of(method, size) for size in shown.sizes], STYLES[method]
        axes.fill_between(
            shown.sizes, list(map(min, runs)), list(map(max, runs)), color=look["color"], alpha=0.2, linewidth=0
        )
        axes.plot(shown.sizes, list(map(mean, runs)), label=f"{method}, sample of R", markersize=4, **look)
        axes.axhline(
            shown.exact[method], color=look["color"], linewidth=0.8, linestyle="--", label=f"{method}, exact mean"
        )
        calibrated = {"marker": "*", "markersize": 9, "linestyle": "none", "color": look["color"]}
        axes.plot([shown.rows], [mean(shown.calibrated(method))], label=f"{method}, calibrated", **calibrated)
    axes.axhline(
        shown.random, color=STYLES[RANDOM]["color"], linewidth=0.8, linestyle=":", label="random rows, exact mean"
    )
    axes.plot(
        *zip(*shown.own_error.items(), strict=True), color="#56B4E9", linewidth=1, label="error of the sample itself"
    )
    axes.set(xscale="log", yscale="log", xlabel="R, rows in the sample", ylabel="residual")
    ticks = [*shown.sizes, shown.rows]
    axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=7)
    return drawn_on


def _judge_sample(made: Page, shown: _Shown) -> None:
    enough = {method: _enough(shown, method) for method in METHODS}
    made.claim(
        "An estimate of mu along the stream is as good as mu itself",
        holds="with a large sample" if all(enough.values()) else False,
        seen="; ".join(_told(shown, method, enough[method]) for method in METHODS) + ".",
    )
    lost = {size: mean(shown.runs_of("ProtoSwap", size)) - shown.exact["ProtoSwap"] for size in shown.own_error}
    shares = [lost[size] / own for size, own in shown.own_error.items()]
    needier = all(shown.loss("ProtoSwap", size) > shown.loss("ProtoStream", size) for size in shown.sizes)
    made.text(
        f"What ProtoSwap loses is {min(shares):.1f} to {max(shares):.1f} times the error of the sample itself. "
        + (
            "It loses more than ProtoStream, which leaves more anyway: a better method needs a larger sample. "
            * needier
        )
        + _random_told(shown)
    )


def _judge_others(made: Page, shown: _Shown) -> None:
    ratios = {method: mean(shown.calibrated(method)) / shown.exact[method] for method in METHODS}
    made.claim(
        "The calibrated mean, our default for streams, costs next to nothing",
        holds=max(ratios.values()) <= CLOSE,
        seen=", ".join(f"{method} {ratio:.2f}" for method, ratio in ratios.items())
        + " times the residual with the exact mean.",
    )
    gains = {size: mean(shown.before(size)) / mean(shown.runs_of(BEFORE, size)) for size in shown.sizes}
    made.text(
        f"A sample drawn before the stream starts, where that is possible, leaves {min(gains.values()):.2f} to "
        f"{max(gains.values()):.2f} times as much as one that follows the stream ({BEFORE}, over all R)."
    )


def _enough(shown: _Shown, method: str) -> int | None:
    """The smallest sample that comes close."""
    return next((size for size in shown.sizes if shown.loss(method, size) <= CLOSE), None)


def _told(shown: _Shown, method: str, enough: int | None) -> str:
    worst = max(shown.loss(method, size) for size in shown.sizes)
    reach = f"within {CLOSE - 1:.0%} from {enough:,} on" if enough else f"never within {CLOSE - 1:.0%}"
    at = f"{shown.loss(method, shown.sizes[-1]):.2f} times with {shown.sizes[-1]:,}"
    return f"{method} leaves up to {worst:.1f} times what it leaves with the exact mean, {at} rows, {reach}"


def _random_told(shown: _Shown) -> str:
    worse = [size for size in shown.sizes if mean(shown.runs_of("ProtoSwap", size)) > shown.random]
    if not worse:
        return f"Random rows, weighed by the exact mean, leave {shown.random:.5f}: more than ProtoSwap at every R."
    return (
        f"With {max(worse):,} rows or fewer it leaves more than random rows that are weighed by the exact mean "
        f"({shown.random:.5f}): a poor target costs more than a poor choice."
    )
